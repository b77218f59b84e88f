//go:build linux

package test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Freezer is a cgroup whose members can be frozen. In a V1 one not even SIGKILL
// takes effect before it is thawed.
type Freezer struct {
	l   *Lab
	dir string
	V1  bool
}

// Freezer makes one, or skips the test where there is none to be had.
func (l *Lab) Freezer() *Freezer {
	l.t.Helper()
	for _, place := range cgroupMounts() {
		f := &Freezer{l: l, dir: filepath.Join(place.dir, "lab-"+l.Tag), V1: place.v1}
		if os.Mkdir(f.dir, 0o755) != nil {
			continue
		}
		l.t.Cleanup(f.remove)
		if _, err := os.Stat(filepath.Join(f.dir, f.file())); err == nil {
			return f
		}
	}
	l.t.Skip("no cgroup freezer that can be written")
	return nil
}

type cgroupMount struct {
	dir string
	v1  bool
}

func cgroupMounts() []cgroupMount {
	raw, _ := os.ReadFile("/proc/self/mountinfo")
	var found []cgroupMount
	for line := range strings.Lines(string(raw)) {
		head, tail, _ := strings.Cut(line, " - ")
		where, how := strings.Fields(head), strings.Fields(tail)
		if len(where) < 5 || len(how) < 3 {
			continue
		}
		if how[0] == "cgroup" && slices.Contains(strings.Split(how[2], ","), "freezer") {
			found = append([]cgroupMount{{where[4], true}}, found...)
		} else if how[0] == "cgroup2" {
			found = append(found, cgroupMount{where[4], false})
		}
	}
	return found
}

func (f *Freezer) file() string {
	if f.V1 {
		return "freezer.state"
	}
	return "cgroup.freeze"
}

func (f *Freezer) Freeze(members ...Proc) {
	f.l.t.Helper()
	for _, p := range members {
		f.l.must(f.put("cgroup.procs", strconv.Itoa(p.PID)))
	}
	if f.V1 {
		f.l.must(f.put(f.file(), "FROZEN"))
		f.l.eventually("frozen", func() bool { return f.has(f.file(), "FROZEN") })
		return
	}
	f.l.must(f.put(f.file(), "1"))
	f.l.eventually("frozen", func() bool { return f.has("cgroup.events", "frozen 1") })
}

func (f *Freezer) Thaw() {
	f.l.t.Helper()
	f.l.must(f.thaw())
}

func (f *Freezer) thaw() error {
	if f.V1 {
		return f.put(f.file(), "THAWED")
	}
	return f.put(f.file(), "0")
}

func (f *Freezer) put(file, text string) error {
	return os.WriteFile(filepath.Join(f.dir, file), []byte(text), 0)
}

func (f *Freezer) has(file, text string) bool {
	raw, _ := os.ReadFile(filepath.Join(f.dir, file))
	return strings.Contains(string(raw), text)
}

// remove runs before the lab ends its processes, which a frozen one would outlast.
func (f *Freezer) remove() {
	f.thaw()
	f.l.endAll(patience)
	if !poll(patience, func() bool { return os.Remove(f.dir) == nil }) {
		f.l.t.Errorf("left: %s", f.dir)
	}
}
