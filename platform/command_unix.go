//go:build linux || darwin

package platform

import (
	"fmt"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Start starts a program with this process's standard streams, in this process's
// group or as the leader of one of its own. The child is to be waited for by Collect.
func Start(path string, argv, env []string, leads bool) (pid int, err error) {
	return syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: leads}})
}

// Change is what became of a child, the zero value where nothing has.
type Change struct {
	PID     int
	Stopped syscall.Signal // by which it was stopped; 0: it has exited and was waited for
	Status  int            // with which it exited, 128 and the signal's number where one ended it
	EndedBy syscall.Signal // 0: it exited by itself
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
			return Change{PID: pid, Status: 128 + int(w.Signal()), EndedBy: w.Signal()}, true
		default:
			return Change{PID: pid, Status: w.ExitStatus()}, true
		}
	}
}

// RaiseSelf sends this process a signal that it is not notified of, and returns
// once that has been acted on. By SIGTTIN it is stopped until it is continued, but
// not where nobody could continue it, in an orphaned process group.
func RaiseSelf(sig syscall.Signal) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	raise(sig)
}

// IsPipe says whether the descriptor is a pipe or a socket.
func IsPipe(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	kind := st.Mode & unix.S_IFMT
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK
}

// IsControlling says whether the descriptor is the controlling terminal (tcgetpgrp(3)).
func IsControlling(fd int) bool {
	_, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	return err == nil
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

// leastFiles is the lowest limit on open files that the Go runtime and a reading
// get along with: below it the runtime ends the program where it stands.
const leastFiles = 8

// FewDescriptors is an error where this process may open hardly any files.
func FewDescriptors() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Cur < leastFiles {
		return fmt.Errorf("this process may open no more than %d files at a time (ulimit -n): give it 64", limit.Cur)
	}
	return nil
}
