package sweep

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	return match.Load(file, data)
}

// readTimeout bounds how long a pipe's writer may keep a sweep waiting.
const readTimeout = 10 * time.Second

// readRules reads no more than a rules file may hold, since it may be a device,
// and never waits for a writer of a named pipe.
func readRules(file string, s Surroundings) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: give a file", file)
	}
	if s.UID == 0 || s.AllUsers {
		if err := onlyOwn(file, info, s.UID); err != nil {
			return nil, err
		}
	}
	_ = f.SetReadDeadline(time.Now().Add(readTimeout)) // a regular file knows none and needs none
	return io.ReadAll(io.LimitReader(f, match.MaxFile+1))
}

// onlyOwn refuses a file that somebody else can write: it would decide what this
// user, root above all, stops.
func onlyOwn(file string, info fs.FileInfo, uid int) error {
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0:
		return fmt.Errorf("%s is no regular file", file)
	case ok && owner.Uid != 0 && int(owner.Uid) != uid:
		return fmt.Errorf("%s belongs to user %d, who could change what is stopped: chown it to yourself, or copy it", file, owner.Uid)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others (mode %04o), who could change what is stopped: chmod go-w %s", file, info.Mode().Perm(), file)
	}
	return nil
}
