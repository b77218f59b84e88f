//go:build linux

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// The test binary plays the roles too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && isRole(os.Args[1]) {
		if err := playRole(os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(withPrograms(m.Run))
}

// withPrograms runs the tests with a folder for what they build.
func withPrograms(run func() int) int {
	var err error
	if programs, err = os.MkdirTemp("", "reaper-bench-test-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(programs)
	return run()
}

// small is a run of everything that is over soon, where namespaces can be had.
func small(t *testing.T) settings {
	t.Helper()
	l, err := newLab(t.Context(), tools{self: self(t)}, t.TempDir())
	if errors.Is(err, io.EOF) { // pid 1 started, and failed to be one
		t.Fatal(err)
	}
	if err != nil {
		t.Skip(err)
	}
	l.close()
	t.Setenv("TMPDIR", t.TempDir())
	return settings{reaper: reaperOnce(), sizes: []int{20, 70}, rounds: 1, parts: allParts, grace: 400 * time.Millisecond, orphans: 12}
}

// reaperOnce builds reaper for all tests; TestMain removes it.
var (
	programs   string
	reaperOnce = sync.OnceValue(func() string {
		path := filepath.Join(programs, "reaper")
		if out, err := exec.Command("go", "build", "-o", path, "../..").CombinedOutput(); err != nil {
			panic(fmt.Sprintf("go build: %v\n%s", err, out))
		}
		return path
	})
)

func self(t *testing.T) string {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// TestEverythingIsMeasured guards the whole benchmark: all that it starts, runs
// and prints, that reaper and the floor find what there is, and that nothing stays.
func TestEverythingIsMeasured(t *testing.T) {
	s := small(t)
	f, err := measure(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.wrong(); err != nil {
		t.Error(err)
	}
	out := f.tables(s)
	t.Log("\n" + out)
	for _, row := range []string{"(reaper itself)", "gopsutil loop", "12 orphans stopped", "deaf to SIGTERM", "`reaper --version`"} {
		if !strings.Contains(out, row) {
			t.Errorf("the tables lack %q", row)
		}
	}
	checkTables(t, out)
	if left := executing(t, os.Getenv("TMPDIR"), self(t)); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
	if left, _ := os.ReadDir(os.Getenv("TMPDIR")); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// checkTables wants as many cells in each row as its table has columns, and no
// ratio of nothing.
func checkTables(t *testing.T, out string) {
	t.Helper()
	columns := 0
	for _, line := range strings.Split(out, "\n") {
		cells := strings.Count(line, "|")
		if line == "" {
			columns = 0
			continue
		}
		if columns == 0 {
			columns = cells
		}
		if cells != columns {
			t.Errorf("%d columns instead of %d: %s", cells-1, columns-1, line)
		}
		if strings.Contains(line, "NaN") || strings.Contains(line, "Inf") || strings.Contains(line, " 0.00 (") {
			t.Errorf("nothing was measured: %s", line)
		}
	}
}

// executing are the processes, this one aside, whose program is below one of the paths.
func executing(t *testing.T, paths ...string) []string {
	t.Helper()
	links, _ := filepath.Glob("/proc/[0-9]*/exe")
	return slices.DeleteFunc(links, func(link string) bool {
		program, err := os.Readlink(link)
		mine := link == fmt.Sprintf("/proc/%d/exe", os.Getpid())
		return err != nil || mine || !slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(program, p) })
	})
}

// TestAWrongAnswerIsToldOf guards the figures: what finds nothing and stops
// nothing may be as fast as it likes.
func TestAWrongAnswerIsToldOf(t *testing.T) {
	s := small(t)
	s.sizes, s.parts = []int{20}, []string{"scan", "stop"}
	s.reaper = filepath.Join(t.TempDir(), "idler")
	says := `{"census":{"processes":22},"orphans":null,"totals":{"processes":0}}`
	if err := os.WriteFile(s.reaper, []byte("#!/bin/sh\necho '"+says+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := measure(t.Context(), s)
	if err == nil || !strings.Contains(err.Error(), "left 12 of 12 processes running") {
		t.Errorf("a stop that stops nothing: %v", err)
	}
	if err := f.wrong(); err == nil || !strings.Contains(err.Error(), "reaper found 0 orphans with 0 processes instead of 2") {
		t.Errorf("mistakes: %v", err)
	}
}

// TestWithNothingInstalled guards that the benchmark does without what may not be there:
// shells are idle then, and the C programs are left out.
func TestWithNothingInstalled(t *testing.T) {
	s := small(t)
	s.sizes = []int{20}
	bin := t.TempDir()
	for _, name := range []string{"go", "sh"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	f, err := measure(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.wrong(); err != nil {
		t.Error(err)
	}
	out := f.tables(s)
	t.Log("\n" + out)
	if strings.Contains(out, floorName) || !strings.Contains(out, "12 orphans stopped") {
		t.Error("the tables hold the C programs, or lack the stops")
	}
	checkTables(t, out)
}
