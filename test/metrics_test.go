//go:build linux

package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Guards --metrics on a real sweep, and that one that cannot be written stops
// the sweep before it stops anything.
func TestMetricsOfASweep(t *testing.T) {
	lab := newLab(t)
	orphan := lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(900)...)
	lab.OrphanLeader([]string{lab.Mark(lab.Live())}, lab.Sleep(901)...)
	res := lab.Run(Run{Args: []string{"--metrics", filepath.Join(lab.Dir, "gone", "reaper.prom")}, Text: true, Status: 2})
	lab.saysErrors(res, "metrics: ")
	if !orphan.Running() {
		t.Error("stopped all the same")
	}
	file := filepath.Join(lab.Dir, "reaper.prom")
	lab.Stopped(lab.Run(Run{Args: []string{"--metrics", file}, Status: 0}), orphan)
	text, err := os.ReadFile(file)
	lab.must(err)
	for _, line := range []string{"reaper_orphans 1\n", "reaper_stopped 1\n", "reaper_unconfirmed 0\n", `reaper_spared{reason="parent-running"} 1` + "\n"} {
		if !strings.Contains(string(text), line) {
			t.Errorf("%q is not in %s", line, text)
		}
	}
}
