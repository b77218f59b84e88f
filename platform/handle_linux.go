package platform

import (
	"fmt"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// The signals that stopping takes.
const (
	Terminate = syscall.SIGTERM
	Kill      = syscall.SIGKILL
	Continue  = syscall.SIGCONT
)

// Handle holds on to one process by a pidfd (pidfd_open(2), 5.3): whatever becomes
// of the pid, it never means another process.
type Handle struct {
	pid, fd int
}

// OpenHandle opens a handle on the process that holds the pid now, a zombie
// included. The error is ErrGone when there is none.
func OpenHandle(pid int) (*Handle, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("pid %d: no process has such a number", pid)
	}
	if pid > maxPID { // pid_t has 32 bits: 1<<32 + 1 would be pid 1
		return nil, fmt.Errorf("pid %d: %w", pid, ErrGone)
	}
	fd, err := unix.PidfdOpen(pid, 0)
	switch err {
	case nil:
		return &Handle{pid, fd}, nil
	case unix.ESRCH:
		return nil, fmt.Errorf("pid %d: %w", pid, ErrGone)
	case unix.EINVAL, unix.ENOENT:
		// The number of a thread, or of a group or session whose leader is gone:
		// EINVAL, since 6.15 ENOENT.
		return nil, fmt.Errorf("pid %d is no process: %w", pid, ErrGone)
	case unix.ENOSYS:
		return nil, fmt.Errorf("pid %d: pidfd_open: %w (Linux 5.3 or newer is needed)", pid, err)
	}
	return nil, fmt.Errorf("pid %d: pidfd_open: %w", pid, err)
}

// PID is the number that the process had when the handle was opened, and has
// until it is waited for.
func (h *Handle) PID() int { return h.pid }

// Close gives the descriptor back.
func (h *Handle) Close() error { return unix.Close(h.fd) }

// Exited says whether the whole thread group has exited, waited for or not.
func (h *Handle) Exited() (bool, error) {
	fds := []unix.PollFd{{Fd: int32(h.fd), Events: unix.POLLIN}}
	for {
		_, err := unix.Poll(fds, 0)
		switch err {
		case nil:
			return h.polled(fds[0].Revents)
		case unix.EINTR:
		default:
			return false, fmt.Errorf("poll pid %d: %w", h.pid, err)
		}
	}
}

// polled reads a poll result: a pidfd is readable once the group has exited (5.3),
// and hangs up as well once it was waited for (6.9).
func (h *Handle) polled(revents int16) (bool, error) {
	if revents&(unix.POLLNVAL|unix.POLLERR) != 0 {
		return false, fmt.Errorf("poll pid %d: %w", h.pid, unix.EBADF)
	}
	return revents&(unix.POLLIN|unix.POLLHUP) != 0, nil
}

// Signal sends the signal to this process and no other. The error is ErrGone
// when it has been waited for; signalling a zombie succeeds and does nothing.
func (h *Handle) Signal(sig syscall.Signal) error {
	if h.pid <= 1 {
		return fmt.Errorf("pid %d is never signalled", h.pid)
	}
	return signalError("pid", h.pid, unix.PidfdSendSignal(h.fd, sig, nil, 0))
}

func signalError(kind string, id int, err error) error {
	switch err {
	case nil:
		return nil
	case unix.ESRCH:
		err = ErrGone
	case unix.EPERM:
		err = ErrDenied
	}
	return fmt.Errorf("signal %s %d: %w", kind, id, err)
}

// noGroupFlag is set once the kernel refused PIDFD_SIGNAL_PROCESS_GROUP.
var noGroupFlag atomic.Bool

// SignalGroup sends the signal to every member of the process group. With its
// leader's handle it goes through that (6.9), which cannot mean another group;
// else by number, which no other group can have while a member lives: the caller
// makes sure of one. Groups 0, 1, -1 and this process's own are refused.
func SignalGroup(pgid int, leader *Handle, sig syscall.Signal) error {
	const group = "process group"
	if pgid <= 1 || pgid > maxPID {
		return fmt.Errorf("%s %d is never signalled", group, pgid)
	}
	if pgid == unix.Getpgrp() {
		return fmt.Errorf("%s %d is this process's own", group, pgid)
	}
	if leader != nil && leader.pid == pgid && !noGroupFlag.Load() {
		err := unix.PidfdSendSignal(leader.fd, sig, nil, unix.PIDFD_SIGNAL_PROCESS_GROUP)
		if err != unix.EINVAL {
			return signalError(group, pgid, err)
		}
		noGroupFlag.Store(true)
	}
	return signalError(group, pgid, unix.Kill(-pgid, sig))
}
