package platform

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
)

// xnu is what macOS's reader and handles ask of the kernel: bytes, or its errno.
// They are built and tested everywhere; xnu_darwin.go alone makes the calls.
type xnu interface {
	table() ([]byte, error)           // sysctl kern.proc.all
	record(pid int) ([]byte, error)   // sysctl kern.proc.pid; nothing, or EIO, where there is no such process
	procargs(pid int) ([]byte, error) // sysctl kern.procargs2
	session(pid int) (int, error)     // getsid(2), which asks for no right
	unique(pid int) ([]byte, error)   // proc_pidinfo, flavor PROC_PIDUNIQIDENTIFIERINFO
	kill(pid int, sig syscall.Signal) error
}

const (
	// xnuMaxPID is PID_MAX of bsd/sys/proc_internal.h. Numbers restart at 100, and
	// one is not used again while a group or session of it lasts (bsd/kern/kern_fork.c).
	xnuMaxPID = 99999
	// execKeepsParent is the last Darwin release where exec kept the proc, and its
	// p_puniqueid with it; macOS 13 (22) makes a new one, see born.
	execKeepsParent = 21
)

// kinfoOf reads the record of a pid. The error is ErrGone where there is none.
func kinfoOf(k xnu, pid int) (kinfo, error) {
	b, err := k.record(pid)
	switch {
	case errors.Is(err, syscall.EIO), errors.Is(err, syscall.ESRCH), err == nil && len(b) == 0:
		return kinfo{}, fmt.Errorf("pid %d: %w", pid, ErrGone)
	case err != nil:
		return kinfo{}, fmt.Errorf("record of pid %d: %w", pid, err)
	}
	got, err := parseKinfo(b)
	if err == nil && got.pid != pid {
		err = fmt.Errorf("record of pid %d, not %d", got.pid, pid)
	}
	return got, err
}

// uniqueSize is the size of struct proc_uniqidentifierinfo (bsd/sys/proc_info_private.h),
// which the kernel asserts not to change.
const uniqueSize = 56

// unique is that struct, without the program's UUID. Its flavor takes no right on
// the process, and is private: where the call is refused there is less proof.
type unique struct {
	id            uint64 // counts forks, kept by exec, never used again until the next boot
	parent        uint64 // id of who forked it; see born
	version       uint32 // changes with exec
	parentVersion uint32 // version of who forked it, kept by exec; 0 before 15.4
}

func parseUnique(b []byte) (unique, error) {
	if len(b) != uniqueSize {
		return unique{}, fmt.Errorf("unique id of %d bytes, not %d", len(b), uniqueSize)
	}
	u := unique{binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:]),
		binary.LittleEndian.Uint32(b[32:]), binary.LittleEndian.Uint32(b[36:])}
	if u.id == 0 {
		return unique{}, errors.New("unique id of 0")
	}
	return u, nil
}

// born tells of a child of launchd whether another process started it: Yes, it was
// adopted; No, launchd did.
//
// Re-parenting (proc_reparentlocked, bsd/kern/kern_exit.c) leaves the parent's
// unique id alone, so another one than launchd's is proof. Launchd's own is none
// since macOS 13: exec takes it anew from the parent of that moment, so that a
// process that was adopted and then executed shows launchd's too. The version of
// the first parent survives that: launchd's is among the first that were given out.
func born(u, launchd unique, release int) Answer {
	switch {
	case u.parentVersion > 0 && u.parentVersion == launchd.version:
		return No
	case u.parent != launchd.id, u.parentVersion > launchd.version:
		return Yes
	case u.parentVersion > 0:
		return Unknown // from before launchd last executed itself: its own, or another's
	case release > 0 && release <= execKeepsParent:
		return No
	}
	return Unknown
}

// mostForks is far below what makes a version come again, which counts forks and
// execs in 32 bits.
const mostForks = 1 << 30

// counts says whether the versions are what they are taken for: this process, which
// has executed its program, has a later one than its parent had at the fork.
func (u unique) counts() bool { return u.parentVersion > 0 && u.parentVersion < u.version }

// shows says whether this process witnesses that u executed its program before h
// was forked.
//
// Ids and versions count up. A fork takes one of each, and the version that the
// parent has then, under one lock (forkproc, bsd/kern/kern_fork.c); an exec takes a
// version once it has copied in the environment (exec_handle_sugid and
// exec_mach_imgact, bsd/kern/kern_exec.c). So a parent whose version is u's or a
// later one had a child after u's exec, and h is that child or was forked after it.
func (w unique) shows(u, h unique) bool {
	counted := func(version uint32) bool { return version > 0 && version < 1<<31 }
	return w.id <= h.id && h.id < mostForks && u.id < h.id &&
		counted(w.parentVersion) && counted(u.version) && w.parentVersion >= u.version
}

// bornInSession is proof without any of that: a session is left only to lead one
// (setsid(2)), so who is in one that another process made was forked there.
func bornInSession(p *Process) bool { return p.SID > 1 && p.SID != p.PID }
