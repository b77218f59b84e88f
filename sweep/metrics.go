package sweep

import (
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

// Metrics is a file for node_exporter's textfile collector. It is written aside
// and renamed, so that a reader finds the last sweep's or this one's, whole.
type Metrics struct {
	path string
	file *os.File // nil: there is none to write
}

// OpenMetrics finds out whether the file can be written before anything is
// stopped. Without a path there is none to write.
func OpenMetrics(path string) (*Metrics, error) {
	if path == "" {
		return &Metrics{}, nil
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("metrics: %s is no regular file", printable(path))
	}
	// The collector reads *.prom alone.
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		if why := (*fs.PathError)(nil); errors.As(err, &why) {
			err = why.Err // of a file whose name nobody gave
		}
		return nil, fmt.Errorf("metrics: cannot write a file in %s: %w", printable(filepath.Dir(path)), err)
	}
	return &Metrics{path, f}, nil
}

// Discard removes what was not written.
func (m *Metrics) Discard() {
	if m.file != nil {
		m.file.Close()
		os.Remove(m.file.Name())
		m.file = nil
	}
}

// Write puts the report's numbers in place.
func (m *Metrics) Write(r *Report) error {
	if m.file == nil {
		return nil
	}
	_, err := m.file.WriteString(r.metrics())
	err = errors.Join(err, m.file.Chmod(0o644), m.file.Close())
	if err == nil {
		err = os.Rename(m.file.Name(), m.path)
	}
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	m.file = nil
	return nil
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
