package platform

import (
	"errors"
	"runtime"
)

var (
	// ErrUnsupported says that this operating system's process table is not known.
	ErrUnsupported = errors.New("reaper does not support " + runtime.GOOS + " yet")
	// ErrGone says that no process holds the pid, or that it has exited and was waited for.
	ErrGone = errors.New("no such process")
	// ErrDenied says that the process may not be signalled by this user.
	ErrDenied = errors.New("not permitted")
)
