package sweep

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"reaper/match"
)

// Surroundings are what the environment says of where rules are.
type Surroundings struct {
	Rules      string // REAPER_RULES
	ConfigHome string // XDG_CONFIG_HOME
	Home       string // the user's home directory
	UID        int    // effective user id
	AllUsers   bool   // other users' processes are judged
}

// FindRules returns the rules in force: of the files given, else of REAPER_RULES,
// else of the user's own file, else the built-in default. Never of the current
// folder, so that no cloned repository decides what dies.
func FindRules(files []string, s Surroundings) (*match.Rules, error) {
	files = RulesFiles(files, s)
	if len(files) == 0 {
		return match.Default(), nil
	}
	if once := DistinctFiles(files); len(once) < len(files) {
		return nil, fmt.Errorf("cannot use the rules: %s is given twice: name it once", printable(twice(files, once)))
	}
	all := make([]*match.Rules, len(files))
	for i, file := range files {
		rules, err := LoadRules(file, s)
		if err != nil {
			return nil, err
		}
		all[i] = rules
	}
	return match.Merge(all)
}

// RulesFiles are those in force; none: the built-in default.
func RulesFiles(files []string, s Surroundings) []string {
	if len(files) == 0 && s.Rules != "" {
		return []string{s.Rules}
	}
	if len(files) == 0 {
		file := ConfigFile(s)
		if _, err := os.Stat(file); file == "" || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return []string{file}
	}
	return files
}

// ConfigFile is where the user's own rules are, "" where there is no home.
func ConfigFile(s Surroundings) string {
	dir := s.ConfigHome
	if !filepath.IsAbs(dir) {
		if !filepath.IsAbs(s.Home) {
			return ""
		}
		dir = filepath.Join(s.Home, ".config")
	}
	return filepath.Join(dir, "reaper", "rules.yaml")
}

// LoadRules reads and checks one file.
func LoadRules(file string, s Surroundings) (*match.Rules, error) {
	data, err := readRules(file, s)
	if err != nil {
		return nil, fmt.Errorf("cannot use the rules: %s", printable(err.Error()))
	}
	if file == stdin {
		file = "standard input"
	}
	return match.Load(file, data)
}

// stdin is the name by which standard input is given as a file.
const stdin = "-"

// DistinctFiles are the files without those that another name stands for already.
func DistinctFiles(files []string) []string {
	var once []string
	var seen []fs.FileInfo
	for _, file := range files {
		info, err := os.Stat(file)
		same := func(other fs.FileInfo) bool { return os.SameFile(info, other) }
		switch {
		case err != nil && slices.Contains(once, file):
		case err == nil && slices.ContainsFunc(seen, same):
		case err == nil:
			seen = append(seen, info)
			fallthrough
		default:
			once = append(once, file)
		}
	}
	return once
}

// twice is the first of the files that is not among the distinct ones.
func twice(files, once []string) string {
	for i, file := range files {
		if i == len(once) || once[i] != file {
			return file
		}
	}
	return ""
}

// readTimeout bounds how long a pipe's writer may keep a sweep waiting.
const readTimeout = 10 * time.Second

// readRules reads no more than a rules file may hold, since it may be a device,
// and never waits for a writer of a named pipe.
func readRules(file string, s Surroundings) ([]byte, error) {
	switch {
	case file == "":
		return nil, errors.New("the name of the file is empty: give a file")
	case file == stdin:
		file = "/dev/stdin"
	}
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: give a file", file)
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0:
		return nil, fmt.Errorf("%s is no regular file: give a file, or a pipe", file)
	case info.Mode().IsRegular() && info.Size() == 0:
		return nil, nil // or one of /proc, of which some wait for ever
	}
	if s.UID == 0 || s.AllUsers {
		if err := onlyOwn(file, info, s.UID); err != nil {
			return nil, err
		}
	}
	_ = f.SetReadDeadline(time.Now().Add(readTimeout)) // a regular file knows none and needs none
	data, err := io.ReadAll(io.LimitReader(f, match.MaxFile+1))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return nil, fmt.Errorf("%s: its writer did not end within %s", file, match.Duration(readTimeout))
	}
	return data, err
}

// onlyOwn refuses a file that somebody else can write: it would decide what this
// user, root above all, stops. A folder that others can write is no matter: what they
// put there is theirs, and it is the open file that is asked.
func onlyOwn(file string, info fs.FileInfo, uid int) error {
	owner, foreign := foreignOwner(info, uid)
	switch {
	case foreign:
		return fmt.Errorf("%s belongs to user %d, who could change what is stopped: chown it to yourself, or copy it", file, owner)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others (mode %04o), who could change what is stopped: chmod go-w %s", file, info.Mode().Perm(), file)
	}
	return nil
}

// foreignOwner is whose the file is, and whether that is neither root nor uid.
func foreignOwner(info fs.FileInfo, uid int) (int, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), stat.Uid != 0 && int(stat.Uid) != uid
}
