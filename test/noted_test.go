//go:build linux

package test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A process that blocks a signal keeps it pending for as long as it runs, and
// the kernel shows it. So any program notes what reaches it, at no cost: a
// thousand of them are as light as a thousand sleeps. What is started by it
// blocks the same; a Go program lets SIGTERM through. SIGTERM ends what does not
// block it, so what runs has had none.

func signalBit(s syscall.Signal) uint64 { return 1 << (s - 1) }

// blocked is the set of signals that wait: those that a sweep sends and that
// would not end the process.
func (s Spec) blocked() uint64 {
	switch {
	case s.Deaf:
		return signalBit(syscall.SIGCONT) | signalBit(syscall.SIGTERM)
	case s.Notes:
		return signalBit(syscall.SIGCONT)
	}
	return 0
}

// blockSignals blocks them in what this goroutine starts, until the returned
// function is called.
func blockSignals(set uint64) func() {
	runtime.LockOSThread()
	var before unix.Sigset_t
	wanted := unix.Sigset_t{Val: [16]uint64{set}}
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &wanted, &before); err != nil {
		panic(err)
	}
	return func() {
		unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil)
		runtime.UnlockOSThread()
	}
}

// signalSet is a line of /proc/PID/status.
func signalSet(pid int, name string) uint64 {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(raw)) {
		if text, ok := strings.CutPrefix(line, name+":"); ok {
			set, _ := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
			return set
		}
	}
	return 0
}

// noted lists the signals that wait in a process.
func noted(p Proc) []string {
	pending := signalSet(p.PID, "ShdPnd") | signalSet(p.PID, "SigPnd")
	names := []string{}
	for s := syscall.Signal(1); s <= 64; s++ {
		if pending&signalBit(s) != 0 {
			names = append(names, unix.SignalName(s))
		}
	}
	return names
}

// takesNotes says whether the process would note a signal, or end by it. What
// is blocked waits even where it is ignored.
func takesNotes(p Proc) bool {
	set := Spec{Notes: true}.blocked()
	return p.Running() && signalSet(p.PID, "SigBlk")&set == set
}

// Unsignalled demands that nothing has reached any of these.
func (l *Lab) Unsignalled(all ...Proc) {
	l.t.Helper()
	wrong := 0
	for _, p := range all {
		if got := noted(p); !takesNotes(p) || len(got) > 0 {
			if wrong++; wrong <= 10 {
				l.t.Errorf("%s: %s, noted %v", p, p.State(), got)
			}
		}
	}
	if wrong > 10 {
		l.t.Errorf("and %d more", wrong-10)
	}
}

func TestNotes(t *testing.T) {
	lab := newLab(t)
	notes := lab.Start(Spec{Argv: lab.Sleep(900), Notes: true, Leader: true})
	deaf := lab.Start(Spec{Argv: lab.Sleep(901), Deaf: true, Adopted: true})
	lab.Unsignalled(notes, deaf)
	lab.must(notes.Signal(syscall.SIGCONT))
	lab.must(deaf.Signal(syscall.SIGTERM))
	if got := fmt.Sprint(noted(notes), noted(deaf)); got != "[SIGCONT] [SIGTERM]" || !notes.Running() || !deaf.Running() {
		t.Errorf("noted %s", got)
	}
	lab.must(notes.Signal(syscall.SIGTERM))
	lab.AwaitExit(notes)
	if plain := lab.Live(); takesNotes(plain) {
		t.Error("a process that blocks nothing takes notes")
	}
}
