//go:build linux

package test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds every wait for something that will come; only a broken test
// ever uses it up.
const patience = 60 * time.Second

// Stat is one /proc/PID/stat.
type Stat struct {
	PID              int
	Comm             string
	State            byte
	PPID, PGID, SID  int
	Threads          int
	Start            uint64
	TTY, ForegroundG int
}

// Exited is true of a zombie, unless other threads of it run on.
func (s Stat) Exited() bool { return (s.State == 'Z' || s.State == 'X') && s.Threads <= 1 }

func readStat(pid int) (Stat, bool) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	open, end := bytes.IndexByte(raw, '('), bytes.LastIndexByte(raw, ')')
	if err != nil || open < 0 || end < open {
		return Stat{}, false
	}
	fields := strings.Fields(string(raw[end+1:]))
	if len(fields) < 20 {
		return Stat{}, false
	}
	number := func(i int) int { n, _ := strconv.Atoi(fields[i]); return n }
	start, _ := strconv.ParseUint(fields[19], 10, 64)
	return Stat{
		PID: pid, Comm: string(raw[open+1 : end]), State: fields[0][0],
		PPID: number(1), PGID: number(2), SID: number(3), TTY: number(4), ForegroundG: number(5),
		Threads: number(17), Start: start,
	}, true
}

func pids() []int {
	names, _ := filepath.Glob("/proc/[0-9]*")
	var all []int
	for _, name := range names {
		if pid, err := strconv.Atoi(filepath.Base(name)); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

func readArgs(pid int) []string { return readList(pid, "cmdline") }

func readEnviron(pid int) []string { return readList(pid, "environ") }

func readList(pid int, file string) []string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
	if len(raw) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")
}

// innerPID is the process's number in its own pid namespace.
func innerPID(pid int) int {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(raw)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			fields := strings.Fields(numbers)
			inner, _ := strconv.Atoi(fields[len(fields)-1])
			return inner
		}
	}
	return pid
}

// Proc is an identity.
type Proc struct {
	PID   int
	Start uint64
	Inner int    // its number in its own pid namespace
	What  string // for messages
	Said  string // by a role when it was ready
}

func (p Proc) String() string { return fmt.Sprintf("%s (%d@%d)", p.What, p.PID, p.Start) }

// State is "running", "zombie" or "gone".
func (p Proc) State() string {
	s, ok := readStat(p.PID)
	switch {
	case !ok || s.Start != p.Start:
		return "gone"
	case s.Exited():
		return "zombie"
	}
	return "running"
}

func (p Proc) Running() bool { return p.State() == "running" }

// Stat is the present stat of a process that must be there.
func (p Proc) Stat() Stat {
	s, _ := readStat(p.PID)
	return s
}

// handle opens a pidfd that certainly belongs to this identity.
func (p Proc) handle() (int, error) {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return -1, err
	}
	if s, ok := readStat(p.PID); !ok || s.Start != p.Start {
		unix.Close(fd)
		return -1, unix.ESRCH
	}
	return fd, nil
}

// Signal reaches this identity or nobody.
func (p Proc) Signal(sig syscall.Signal) error {
	fd, err := p.handle()
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}

// awaitExit says whether the process exited before the time was over.
func (p Proc) awaitExit(limit time.Duration) bool {
	fd, err := p.handle()
	if err != nil {
		return !p.Running()
	}
	defer unix.Close(fd)
	deadline := time.Now().Add(limit)
	for {
		left := max(0, time.Until(deadline))
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds()))
		if err != unix.EINTR {
			return n > 0
		}
	}
}

// poll is for what the kernel offers no event for.
func poll(limit time.Duration, done func() bool) bool {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); ; <-tick.C {
		if done() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
	}
}
