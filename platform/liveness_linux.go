package platform

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Liveness says whether the process that holds the pid runs, which a zombie does
// not and a zombie leader with live threads does. A pid above the system's
// largest, and the number of a thread, are no process's. It needs no right on
// the process and sees those that hidepid hides.
func (r *Reader) Liveness(pid int) Liveness {
	if pid <= 0 { // to kill(2) these are groups
		return Liveness{}
	}
	h, err := OpenHandle(pid)
	switch {
	case errors.Is(err, ErrGone):
		return Liveness{Running: No}
	case err != nil:
		return r.probe(pid)
	}
	defer h.Close()
	if exited, err := h.Exited(); err != nil || exited {
		return Liveness{Running: no(err)}
	}
	live := Liveness{Running: Yes}
	s := &scratch{}
	if st, err := r.stat(s, pid); err == nil {
		live.Start, live.Kernel = st.start, st.flags&kernelThread != 0
	}
	// The token is this holder's only if it has held the pid all along.
	if exited, err := h.Exited(); err != nil || exited {
		return Liveness{Running: no(err)}
	}
	return live
}

// no is No unless the question itself failed.
func no(err error) Answer {
	if err != nil {
		return Unknown
	}
	return No
}

// probe asks kill(2) where there is no pidfd (no descriptor left, seccomp): that
// no such process or thread is there is certain, all else is not.
func (r *Reader) probe(pid int) Liveness {
	if pid > 0 && unix.Kill(pid, 0) == unix.ESRCH {
		return Liveness{Running: No}
	}
	return Liveness{}
}
