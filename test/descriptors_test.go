//go:build linux

package test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A limit on open files below the number of orphans makes the sweep take them in
// batches, the deaf ones with a grace and a KILL of their own each; none is left.
func TestFewDescriptorsMeanBatches(t *testing.T) {
	for name, role := range map[string]string{"obedient": "idle", "deaf": "deaf"} {
		t.Run(name, func(t *testing.T) {
			lab := newLab(t)
			mark := lab.Mark(lab.Dead())
			var orphans []Proc
			for range 70 {
				orphans = append(orphans, lab.OrphanRole([]string{mark}, role))
			}
			res := lab.Run(Run{Via: []string{"sh", "-c", `ulimit -n 48; exec "$@"`, "sh"}, Args: []string{"--grace", "300ms"}, Status: 0})
			signals := []string{"TERM"}
			if role == "deaf" {
				signals = append(signals, "KILL")
			}
			for _, p := range orphans {
				lab.Stopped(res, p, With(signals...))
			}
			if n := res.Doc.Totals.Stopped; n != len(orphans) {
				t.Errorf("%d stopped of %d", n, len(orphans))
			}
		})
	}
}

// Guards the status where there are hardly any descriptors: a sweep that could not
// read a process does not say that nothing is left to do.
func TestWithHardlyAnyDescriptorsNothingIsMissedInSilence(t *testing.T) {
	lab := newLab(t)
	for range 2 {
		lab.OrphanRole([]string{lab.Mark(lab.Dead())}, "idle")
	}
	for range 10 {
		for _, limit := range []string{"9", "10", "12"} {
			res := lab.Run(Run{Via: []string{"sh", "-c", "ulimit -n " + limit + `; exec "$@"`, "sh"}, Args: []string{"--dry-run"}})
			if res.Exit == 0 && len(res.Doc.Orphans) < 2 {
				t.Errorf("limit %s: status 0 with %d orphans of 2: %s", limit, len(res.Doc.Orphans), res.Stderr)
			}
		}
	}
}

// Guards the last words of a program that cannot even begin: one line and its
// status, not the runtime's own crash with the status of a wrong command line.
func TestWithTooFewDescriptors(t *testing.T) {
	lab := newLab(t)
	for _, limit := range []string{"4", "7"} {
		res := lab.Run(Run{Via: []string{"sh", "-c", "ulimit -n " + limit + `; exec "$@"`, "sh"}, Args: []string{"--dry-run"}, Text: true, Status: 4})
		if want := "reaper: this process may open no more than " + limit + " files at a time (ulimit -n): give it 64\n"; res.Stderr != want || res.Stdout != "" {
			t.Errorf("limit %s: %q, %q", limit, res.Stdout, res.Stderr)
		}
	}
}

// Guards whoever started a sweep and has given up on it: a signal ends it although
// nobody reads what it prints.
func TestSignalEndsASweepThatNobodyReads(t *testing.T) {
	lab := newLab(t)
	never := lab.fifo()
	fd, err := syscall.Open(never.path, syscall.O_RDWR|syscall.O_NONBLOCK, 0)
	lab.must(err)
	defer syscall.Close(fd)
	for err == nil {
		_, err = syscall.Write(fd, make([]byte, 4096))
	}
	this, _ := lab.launch(Spec{Argv: lab.Argv(Run{Args: []string{"--dry-run"}})})
	this.Out, this.Err = never.path, os.DevNull
	sweep, err := this.start()
	lab.must(err)
	lab.eventually("the wait for a reader", func() bool {
		tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/syscall", sweep.Pid))
		return slices.ContainsFunc(tasks, func(task string) bool {
			call, _ := os.ReadFile(task)
			return strings.HasPrefix(string(call), fmt.Sprintf("%d 0x1 ", syscall.SYS_WRITE))
		})
	})
	p := lab.list(sweep.Pid, "the sweep")
	p.Signal(syscall.SIGTERM)
	lab.AwaitExit(p)
	state, err := sweep.Wait()
	lab.must(err)
	if s := state.Sys().(syscall.WaitStatus); s.Signal() != syscall.SIGTERM {
		t.Errorf("it ended with %v", state)
	}
}
