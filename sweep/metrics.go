package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"reaper/match"
)

// WriteMetrics puts the report's numbers into a file for node_exporter's textfile
// collector, aside and renamed, so that a reader finds the last sweep's or this
// one's, whole. A symbolic link is followed to the file that it names. Without a
// path there is none to write.
func WriteMetrics(path string, r *Report) error {
	if path == "" {
		return nil
	}
	path, err := metricsFile(path)
	if err == nil {
		err = replaceFile(path, r.metrics())
	}
	if err != nil {
		return fmt.Errorf("metrics: %s", printable(err.Error()))
	}
	return nil
}

// maxLinks are followed for one name, as many as Linux follows, path_resolution(7).
const maxLinks = 40

// metricsFile is the regular file that a name leads to, or that can be made
// there. What is named by way of /dev or /proc is somebody's open file or a
// device: to rename over that destroys the name, or hides the file from who has it
// open. A link that another user made is not followed, for it could lead to any
// file of this one's.
func metricsFile(name string) (string, error) {
	for range maxLinks {
		folder, base := filepath.Split(name)
		dir, err := filepath.EvalSymlinks(cmp.Or(folder, "."))
		if err == nil {
			dir, err = filepath.Abs(dir)
		}
		if err != nil {
			return "", cannotWrite(filepath.Clean(folder), err)
		}
		name = filepath.Join(dir, base)
		for _, system := range []string{"/dev", "/proc"} {
			if name == system || strings.HasPrefix(name, system+"/") {
				return "", fmt.Errorf("%s is no file of a folder: give a regular file", name)
			}
		}
		info, err := os.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return name, nil
		case err != nil:
			return "", err
		case info.Mode().IsRegular():
			return name, nil
		case info.Mode().Type() != fs.ModeSymlink:
			return "", fmt.Errorf("%s is no regular file", name)
		}
		if uid, foreign := foreignOwner(info, os.Geteuid()); foreign {
			return "", fmt.Errorf("the link %s belongs to user %d, who could lead it anywhere: name the file itself", name, uid)
		}
		to, err := os.Readlink(name)
		if err != nil {
			return "", err
		}
		if name = to; !filepath.IsAbs(to) {
			name = dir + "/" + to
		}
	}
	return "", fmt.Errorf("%s: too many links", name)
}

// staleAfter is how old a file must be that a sweep which was killed left aside.
const staleAfter = time.Hour

// replaceFile writes aside and renames. The collector reads *.prom alone.
func replaceFile(path, text string) error {
	dir, aside := filepath.Dir(path), "."+filepath.Base(path)+".reaper-"
	removeStale(dir, aside)
	f, err := os.CreateTemp(dir, aside)
	if err != nil {
		return cannotWrite(dir, err)
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// cannotWrite leaves out the name of a file that nobody gave.
func cannotWrite(dir string, err error) error {
	if why := (*fs.PathError)(nil); errors.As(err, &why) {
		err = why.Err
	}
	return fmt.Errorf("cannot write a file in %s: %w", dir, err)
}

// removeStale removes what killed sweeps left aside: of the name that none but a
// sweep gives, and far older than a sweep takes to write. What cannot be removed
// stays.
func removeStale(dir, aside string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), aside)
		if !ok || digits == "" || strings.Trim(digits, "0123456789") != "" {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > staleAfter {
			os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// metrics is Prometheus's text format: gauges of one sweep, no counters, since
// nothing outlives it.
func (r *Report) metrics() string {
	var b strings.Builder
	head := func(name, help string) {
		fmt.Fprintf(&b, "# HELP reaper_%s %s\n# TYPE reaper_%[1]s gauge\n", name, help)
	}
	gauge := func(name, help string, value any) {
		head(name, help)
		fmt.Fprintf(&b, "reaper_%s %v\n", name, value)
	}
	gauge("orphans", "Orphans that the last sweep found.", r.Totals.Orphans)
	gauge("stopped", "Processes that it stopped.", r.Totals.Stopped)
	gauge("unconfirmed", "Processes that still ran after it, or could not be signalled.", r.Totals.Unconfirmed+r.Totals.Denied)
	head("spared", "Matched processes that it spared, by reason.")
	spared := map[match.Reason]int{}
	for _, s := range r.Spared {
		spared[s.Reason]++
	}
	for _, reason := range slices.Sorted(maps.Keys(spared)) {
		fmt.Fprintf(&b, "reaper_spared{reason=%q} %d\n", reason, spared[reason])
	}
	gauge("unreadable", "Processes whose environment it could not read.", r.Census.Unreadable)
	gauge("dry_run", "1 if it was told to stop nothing.", bit(r.DryRun))
	gauge("exit_status", "Its exit status.", r.Exit)
	gauge("duration_seconds", "How long it took.", r.TookMS/1000)
	if started, err := time.Parse(time.RFC3339, r.Started); err == nil {
		gauge("last_run_timestamp_seconds", "When it began.", fmt.Sprintf("%.3f", float64(started.UnixMilli())/1000))
	}
	return b.String()
}

func bit(is bool) int {
	if is {
		return 1
	}
	return 0
}
