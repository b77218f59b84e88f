//go:build linux

package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// saysMetrics demands lines of the file.
func (l *Lab) saysMetrics(file string, lines ...string) {
	l.t.Helper()
	text := string(readAll(l.t, file))
	for _, line := range lines {
		if !strings.Contains(text, "\n"+line+"\n") {
			l.t.Errorf("%q is not in %s", line, text)
		}
	}
}

// Guards --metrics on a real sweep, and that a sweep whose numbers cannot be
// written does its work, says so and has status 3.
func TestMetricsOfASweep(t *testing.T) {
	lab := newLab(t)
	orphan := func() Proc { return lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(900)...) }
	lab.OrphanLeader([]string{lab.Mark(lab.Live())}, lab.Sleep(901)...)
	file, link := filepath.Join(lab.Dir, "reaper.prom"), filepath.Join(lab.Dir, "out")
	lab.must(os.Symlink("/proc/self/fd/1", link))
	for _, path := range []string{filepath.Join(lab.Dir, "gone", "reaper.prom"), link} {
		p := orphan()
		res := lab.Run(Run{Args: []string{"--metrics", path}, Text: true, Status: 3})
		lab.saysErrors(res, "metrics: ")
		if p.Running() || !strings.Contains(res.Stdout, " stopped") {
			t.Errorf("%s: %s is %s: %s", path, p, p.State(), res.Stdout)
		}
	}
	if to, err := os.Readlink(link); err != nil || to != "/proc/self/fd/1" {
		t.Errorf("the link is gone: %v, %s", err, to)
	}
	p := orphan()
	lab.Stopped(lab.Run(Run{Args: []string{"--metrics", file}, Status: 0}), p)
	lab.saysMetrics(file, "reaper_orphans 1", "reaper_stopped 1", "reaper_unconfirmed 0", `reaper_spared{reason="parent-running"} 1`, "reaper_exit_status 0")
}

// Guards that the status in the file is the program's own, also where that comes
// of what happens after the sweep.
func TestMetricsHaveTheStatus(t *testing.T) {
	lab := newLab(t)
	file := filepath.Join(lab.Dir, "reaper.prom")
	lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(900)...)
	lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(901)...)
	lab.Run(Run{Args: []string{"--check", "--metrics", file}, Status: 1})
	lab.saysMetrics(file, "reaper_exit_status 1", "reaper_dry_run 1")
	lab.Run(Run{Args: []string{"--max", "1", "--metrics", file}, Status: 3})
	lab.saysMetrics(file, "reaper_exit_status 3", "reaper_stopped 0")
	this, _ := lab.launch(Spec{Argv: []string{reaperBinary(t), "sweep", "--rules", lab.rules, "--metrics", file}, Env: []string{quickExit}, Leader: true})
	this.Out, this.Err = "/dev/full", lab.path("stderr")
	if status := lab.finish(this); status != 3 {
		t.Errorf("status %d where the report cannot be printed: %s", status, readAll(t, this.Err))
	}
	lab.saysMetrics(file, "reaper_exit_status 3", "reaper_stopped 2")
}
