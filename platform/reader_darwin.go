package platform

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// The signals that stopping takes.
const (
	Terminate = syscall.SIGTERM
	Kill      = syscall.SIGKILL
	Continue  = syscall.SIGCONT
)

// stallLimit is far above what a sysctl takes that is not stuck on its target's memory.
const stallLimit = 500 * time.Millisecond

// Reader reads the process table by sysctl. Its methods may be called at the same
// time, once the first Scan is over.
type Reader struct {
	xnuReader
	lost lostPaths
}

// NewReader reads as the effective user. Whether the table may be read at all
// shows with Scan, which falls back to ps.
func NewReader() (*Reader, error) {
	return &Reader{xnuReader: xnuReader{kernel: darwin{}, pid: os.Getpid(), uid: os.Geteuid(), release: release(),
		stall: stallLimit, text: NewTextReader()}}, nil
}

// release is the major number of kern.osrelease: 22 is macOS 13.
func release() int {
	text, err := unix.Sysctl("kern.osrelease")
	if err != nil {
		return 0
	}
	major, _, _ := strings.Cut(text, ".")
	n, _ := strconv.Atoi(major)
	return n
}

// Close gives back nothing.
func (r *Reader) Close() error { return nil }

// System says what does not change while this process runs.
func (r *Reader) System() (System, error) {
	sid, err := unix.Getsid(0)
	if err != nil {
		return System{}, fmt.Errorf("own session: %w", err)
	}
	boot, _ := unix.Sysctl("kern.bootsessionuuid") // for the report alone
	return System{PID: r.pid, PPID: os.Getppid(), PGID: unix.Getpgrp(), SID: sid, UID: r.uid, BootID: boot,
		MaxPID: xnuMaxPID, TicksPerSecond: 1e6}, nil
}

// Usage reads what the report shows of the processes. What is swapped is not told.
func (r *Reader) Usage(pids []int) []Usage {
	all := make([]Usage, len(pids))
	for i, pid := range pids {
		uid := -1
		if k, err := kinfoOf(r.kernel, pid); err == nil {
			uid = k.uid
		}
		all[i] = usage(pid, uid)
	}
	return all
}

// Missing answers whether an absolute path does not exist. All processes see the
// same files, but for a root of its own (chroot(2)), which only root makes.
func (r *Reader) Missing(ctx context.Context, id Identity, path string) Answer {
	return r.lost.ask(ctx, path, func() Answer {
		if strings.HasPrefix(filepath.Clean(path)+"/", "/dev/fd/") {
			return Unknown // each process has its own there
		}
		_, err := os.Stat(path)
		switch {
		case err == nil:
			return No
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR), !r.holds(id):
			return Unknown
		}
		return Yes
	})
}

// Memory has no proportional figure here.
func (r *Reader) Memory(context.Context, Identity) (uint64, bool) { return 0, false }

// RunsProgram is not asked: no systemd runs here.
func (r *Reader) RunsProgram(Identity, string) Answer { return Unknown }

// Hides nothing: the table has all processes.
func (r *Reader) Hides() bool { return false }

// Pipes are not looked at: none is known.
func (r *Reader) Pipes(Identity) ([3]uint64, bool) { return [3]uint64{}, true }

// SameClock is always so: there are no time namespaces.
func (r *Reader) SameClock(Identity) Answer { return Yes }

// MainPID cannot be told: launchd's own processes show by Process.Reparented.
func (r *Reader) MainPID(context.Context, Identity) Answer { return Unknown }

// Handle holds on to one process by its identity.
type Handle = xnuHandle

// handles are all of this process's, on one kqueue.
var handles = sync.OnceValues(func() (*xnuHandles, error) {
	notes, err := newKqueue()
	if err != nil {
		return nil, fmt.Errorf("kqueue: %w", err)
	}
	return &xnuHandles{kernel: darwin{}, notes: notes, group: unix.Getpgrp(), held: map[int][]*xnuHandle{}}, nil
})

// OpenHandle takes hold of the process that has the pid now, a zombie included. The
// error is ErrGone when there is none.
func OpenHandle(pid int) (*Handle, error) {
	hs, err := handles()
	if err != nil {
		return nil, err
	}
	return hs.open(pid)
}

// SignalGroup sends the signal to every member of the process group that may be
// signalled; there is no other way to it than the number.
func SignalGroup(pgid int, _ *Handle, sig syscall.Signal) error {
	hs, err := handles()
	if err != nil {
		return err
	}
	return hs.signalGroup(pgid, sig)
}

// Wait reports each handle whose process has exited, once, as it is observed, until
// all have, `until` has passed or the context ends. It returns nil in the first two
// cases, the context's error in the third; a look that fails is an error and says
// nothing of any process. exited is called by this goroutine, with the index of the handle.
func Wait(ctx context.Context, list []*Handle, until time.Time, exited func(i int, at time.Time)) error {
	hs, err := handles()
	if err != nil {
		return err
	}
	return hs.wait(ctx, list, until, exited)
}
