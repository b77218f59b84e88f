package platform

import (
	"os/user"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// darwin makes the calls of xnu, without cgo.
type darwin struct{}

// tableTries bounds how often the table may grow between the call that sizes the
// buffer and the one that fills it (ENOMEM).
const tableTries = 10

func (darwin) table() (b []byte, err error) {
	for range tableTries {
		if b, err = unix.SysctlRaw("kern.proc.all"); err != unix.ENOMEM {
			break
		}
	}
	return b, err
}

func (darwin) record(pid int) (b []byte, err error) { return unix.SysctlRaw("kern.proc.pid", pid) }

func (darwin) procargs(pid int) ([]byte, error) { return unix.SysctlRaw("kern.procargs2", pid) }

func (darwin) session(pid int) (int, error) { return unix.Getsid(pid) }

func (darwin) kill(pid int, sig syscall.Signal) error { return unix.Kill(pid, sig) }

// The call of bsd/kern/syscalls.master and its flavors, bsd/sys/proc_info.h and
// proc_info_private.h.
const (
	procInfoCall = 336
	pidInfoCall  = 2
	taskInfo     = 4
	taskInfoSize = 96
	residentAt   = 8 // pti_resident_size
	uniqueInfo   = 17
)

func (darwin) unique(pid int) ([]byte, error) { return pidInfo(pid, uniqueInfo, uniqueSize) }

// pidInfo is proc_pidinfo(3), which libSystem makes of this system call.
func pidInfo(pid, flavor, size int) ([]byte, error) {
	b := make([]byte, size)
	n, _, errno := unix.Syscall6(procInfoCall, pidInfoCall, uintptr(pid), uintptr(flavor), 0, uintptr(unsafe.Pointer(&b[0])), uintptr(size))
	if errno != 0 {
		return nil, errno
	}
	return b[:min(int(n), size)], nil
}

// usage reads what a report shows; the kernel tells it of the caller's own processes.
func usage(pid, uid int) Usage {
	var u Usage
	if b, err := pidInfo(pid, taskInfo, taskInfoSize); err == nil && len(b) == taskInfoSize {
		u.RSS = *(*uint64)(unsafe.Pointer(&b[residentAt]))
	}
	if uid >= 0 {
		u.User = strconv.Itoa(uid)
		if named, err := user.LookupId(u.User); err == nil {
			u.User = named.Username
		}
	}
	return u
}

// kqueue is exitNotes.
type kqueue struct{ fd int }

func newKqueue() (*kqueue, error) {
	fd, err := unix.Kqueue()
	if err != nil {
		return nil, err
	}
	unix.CloseOnExec(fd)
	return &kqueue{fd}, nil
}

// change registers or removes a note; EV_RECEIPT answers at once and takes no event.
func (q *kqueue) change(pid, flags int) error {
	var change unix.Kevent_t
	unix.SetKevent(&change, pid, unix.EVFILT_PROC, flags|unix.EV_RECEIPT)
	change.Fflags = unix.NOTE_EXIT
	receipt := make([]unix.Kevent_t, 1)
	for {
		n, err := unix.Kevent(q.fd, []unix.Kevent_t{change}, receipt, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return err
		case n == 1 && receipt[0].Flags&unix.EV_ERROR != 0 && receipt[0].Data != 0:
			return syscall.Errno(receipt[0].Data)
		}
		return nil
	}
}

func (q *kqueue) attach(pid int) error { return q.change(pid, unix.EV_ADD|unix.EV_ONESHOT) }

func (q *kqueue) detach(pid int) { q.change(pid, unix.EV_DELETE) } // gone already where it fired

func (q *kqueue) next(timeout time.Duration) ([]int, error) {
	events := make([]unix.Kevent_t, 64)
	limit := unix.NsecToTimespec(int64(timeout))
	n, err := unix.Kevent(q.fd, nil, events, &limit)
	if err == unix.EINTR {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	pids := make([]int, 0, n)
	for _, e := range events[:n] {
		pids = append(pids, int(e.Ident))
	}
	return pids, nil
}
