//go:build linux || darwin

package platform

import (
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// StartGroup starts a program with this process's standard streams, as the leader
// of a process group of its own. The child is to be waited for by Collect.
func StartGroup(path string, argv, env []string) (pid int, err error) {
	return syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true}})
}

// Change is what became of a child, the zero value where nothing has.
type Change struct {
	PID     int
	Stopped syscall.Signal // by which it was stopped; 0: it has exited and was waited for
	Status  int            // with which it exited, 128 and the signal's number where one ended it
}

// Collect takes one change of any child, inherited ones included, without
// waiting, and says whether there are children at all.
func Collect() (c Change, children bool) {
	for {
		var w unix.WaitStatus
		pid, err := unix.Wait4(-1, &w, unix.WNOHANG|unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return Change{}, false
		case pid == 0:
			return Change{}, true
		case w.Stopped():
			return Change{PID: pid, Stopped: w.StopSignal()}, true
		case w.Signaled():
			return Change{PID: pid, Status: 128 + int(w.Signal())}, true
		default:
			return Change{PID: pid, Status: w.ExitStatus()}, true
		}
	}
}

// StopSelf stops this process until it is continued, as SIGTSTP does: not where
// nobody could continue it, in an orphaned process group. It takes SIGTTIN, whose
// default the Go runtime leaves alone as long as nobody asks to be notified of it.
func StopSelf() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	raise(unix.SIGTTIN)
}

// Terminal is this process's controlling terminal.
type Terminal struct{ fd int }

// OpenTerminal opens it; the error is there where this process has none.
func OpenTerminal() (*Terminal, error) {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, fmt.Errorf("controlling terminal: %w", err)
	}
	return &Terminal{fd}, nil
}

// Foreground is the process group in its foreground.
func (t *Terminal) Foreground() (pgid int, err error) { return unix.IoctlGetInt(t.fd, unix.TIOCGPGRP) }

// Give puts a process group of this session into its foreground. From the
// background that takes that SIGTTOU is ignored.
func (t *Terminal) Give(pgid int) error { return unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, pgid) }

// Close gives the descriptor back.
func (t *Terminal) Close() error { return unix.Close(t.fd) }
