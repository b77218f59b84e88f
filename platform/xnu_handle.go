package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// exitNotes tells of exits: on macOS one kqueue with EVFILT_PROC and NOTE_EXIT,
// which takes no right on the process.
type exitNotes interface {
	attach(pid int) error // ESRCH where there is none, or a zombie
	detach(pid int)
	next(timeout time.Duration) (pids []int, err error)
}

// xnuHandles hands out handles. There is no pidfd: a handle is an identity that is
// looked up again before each signal, and the exit is noted from before that was
// first done.
type xnuHandles struct {
	kernel xnu
	notes  exitNotes
	group  int // own

	mu   sync.Mutex
	held map[int][]*xnuHandle // by pid; a recycled one has several
}

// xnuHandle holds on to one process by its identity.
type xnuHandle struct {
	of    *xnuHandles
	pid   int
	start uint64
	noted atomic.Bool // NOTE_EXIT came, or could not be attached: the table knows by now, or soon
}

// open attaches to the exit first and then reads whose pid it is, a zombie's
// included.
func (hs *xnuHandles) open(pid int) (*xnuHandle, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("pid %d: no process has such a number", pid)
	}
	if pid > xnuMaxPID {
		return nil, fmt.Errorf("pid %d: %w", pid, ErrGone)
	}
	h := &xnuHandle{of: hs, pid: pid}
	hs.mu.Lock()
	hs.held[pid] = append(hs.held[pid], h)
	err := hs.notes.attach(pid)
	hs.mu.Unlock()
	h.noted.Store(err == syscall.ESRCH)
	if err == nil || err == syscall.ESRCH {
		var k kinfo
		if k, err = kinfoOf(hs.kernel, pid); err == nil {
			h.start = k.start
			return h, nil
		}
	} else {
		err = fmt.Errorf("pid %d: kevent: %w", pid, err)
	}
	h.Close()
	return nil, err
}

// PID is the number that the process had when the handle was opened.
func (h *xnuHandle) PID() int { return h.pid }

// Close forgets the process.
func (h *xnuHandle) Close() error {
	hs := h.of
	hs.mu.Lock()
	defer hs.mu.Unlock()
	left := slices.DeleteFunc(hs.held[h.pid], func(o *xnuHandle) bool { return o == h })
	if hs.held[h.pid] = left; len(left) == 0 {
		delete(hs.held, h.pid)
		hs.notes.detach(h.pid)
	}
	return nil
}

// Exited says whether the process has exited, by the table alone: it is not
// there, a zombie, or another one has its pid. The note comes a moment before.
func (h *xnuHandle) Exited() (bool, error) {
	k, err := kinfoOf(h.of.kernel, h.pid)
	switch {
	case errors.Is(err, ErrGone):
		return true, nil
	case err != nil:
		return false, err
	}
	return k.start != h.start || k.exited(), nil
}

// Signal sends the signal if the process still holds its pid. Between the look and
// kill(2) lie microseconds, in which it would have to exit and be waited for, and
// the pids to go round once: they are given out in sequence. The call that binds a
// signal to the process (proc_signal_with_audittoken, since 14.2) is left out: it is
// private, untried, and answers ESRCH after an exec as well. A zombie, on which
// kill(2) succeeds, is gone here.
func (h *xnuHandle) Signal(sig syscall.Signal) error {
	if h.pid <= 1 {
		return fmt.Errorf("pid %d is never signalled", h.pid)
	}
	exited, err := h.Exited()
	if err == nil && exited {
		err = ErrGone
	}
	if err != nil {
		return fmt.Errorf("signal pid %d: %w", h.pid, err)
	}
	return killError("pid", h.pid, h.of.kernel.kill(h.pid, sig))
}

func killError(kind string, id int, err error) error {
	switch err {
	case nil:
		return nil
	case syscall.ESRCH:
		err = ErrGone
	case syscall.EPERM:
		err = ErrDenied
	}
	return fmt.Errorf("signal %s %d: %w", kind, id, err)
}

// signalGroup signals a process group by its number, which no other one can have
// while a member lives: the caller makes sure of one. EPERM says only that no
// member may be signalled, and a group of zombies answers that too (bsd/kern/kern_sig.c,
// killpg1 leaves them out), so the members are looked at. Groups 0, 1, -1 and this
// process's own are refused.
func (hs *xnuHandles) signalGroup(pgid int, sig syscall.Signal) error {
	const group = "process group"
	if pgid <= 1 || pgid > xnuMaxPID {
		return fmt.Errorf("%s %d is never signalled", group, pgid)
	}
	if pgid == hs.group {
		return fmt.Errorf("%s %d is this process's own", group, pgid)
	}
	err := hs.kernel.kill(-pgid, sig)
	if err == syscall.EPERM && hs.onlyZombies(pgid) {
		err = syscall.ESRCH
	}
	return killError(group, pgid, err)
}

func (hs *xnuHandles) onlyZombies(pgid int) bool {
	b, err := hs.kernel.table()
	if err != nil {
		return false
	}
	table, err := parseKinfos(b)
	return err == nil && !slices.ContainsFunc(table, func(k kinfo) bool {
		return k.start == 0 || k.pgid == pgid && !k.exited()
	})
}

const (
	// waitSlice bounds one wait, so that an end of the context is seen and a note that
	// came before the table knew is looked at again.
	waitSlice = 50 * time.Millisecond
	// tableLook is how often the table is asked without a note: the kernel keeps that
	// back from all but the tracer of a traced process.
	tableLook = 250 * time.Millisecond
)

// wait reports each handle whose process has exited, once, until all have, `until`
// has passed or the context ends, as Wait says.
func (hs *xnuHandles) wait(ctx context.Context, handles []*xnuHandle, until time.Time, exited func(i int, at time.Time)) error {
	pending := make([]int, len(handles))
	for i := range pending {
		pending[i] = i
	}
	var looked time.Time
	for {
		now := time.Now()
		every := now.Sub(looked) >= tableLook || !now.Before(until)
		if every {
			looked = now
		}
		var err error
		if pending, err = confirm(handles, pending, every, exited); err != nil || len(pending) == 0 {
			return err
		}
		left := time.Until(until)
		if left <= 0 || ctx.Err() != nil {
			return ctx.Err()
		}
		left = min(left, waitSlice, time.Until(looked.Add(tableLook)))
		if slices.ContainsFunc(pending, func(i int) bool { return handles[i].noted.Load() }) {
			left = min(left, time.Millisecond) // the table is a moment behind
		}
		if err := hs.listen(max(0, left)); err != nil {
			return fmt.Errorf("wait for %d processes: kevent: %w", len(pending), err)
		}
	}
}

// confirm looks the noted handles up, or every one, and returns those left.
func confirm(handles []*xnuHandle, pending []int, every bool, exited func(int, time.Time)) ([]int, error) {
	left := pending[:0]
	for n, i := range pending {
		gone := false
		if h := handles[i]; every || h.noted.Load() {
			var err error
			if gone, err = h.Exited(); err != nil {
				return append(left, pending[n:]...), err
			}
		}
		if gone {
			exited(i, time.Now())
			continue
		}
		left = append(left, i)
	}
	return left, nil
}

// listen takes the next notes.
func (hs *xnuHandles) listen(timeout time.Duration) error {
	pids, err := hs.notes.next(timeout)
	if err != nil {
		return err
	}
	hs.mu.Lock()
	defer hs.mu.Unlock()
	for _, pid := range pids {
		for _, h := range hs.held[pid] {
			h.noted.Store(true)
		}
	}
	return nil
}
