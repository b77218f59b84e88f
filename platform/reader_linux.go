package platform

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxPID is PID_MAX_LIMIT of 64-bit kernels (linux/threads.h), the most that
	// /proc/sys/kernel/pid_max can be set to.
	maxPID = 1 << 22
	// ticksPerSecond is USER_HZ, 100 on every architecture that Go runs on.
	ticksPerSecond = 100
	// initialPIDNamespace is PROC_PID_INIT_INO of linux/proc_ns.h, the inode of
	// the first pid namespace since 3.8.
	initialPIDNamespace = 0xEFFFFFFC
	// stallLimit is far above what a read takes when it is not stuck: 10 µs, and
	// some ms on a machine that pages.
	stallLimit = 500 * time.Millisecond
	// crew is the number of workers: four gain 5 %, eight lose.
	crew = 2
)

// Reader reads the process table through one descriptor on /proc. Its methods
// may be called at the same time.
type Reader struct {
	proc      int // descriptor
	listing   sync.Mutex
	namespace uint64 // inode of the own pid namespace
	clock     uint64 // inode of the own time namespace, 0 where the kernel has none
	uid       int
	stall     time.Duration

	users      sync.Map // names by user id, of Usage
	namespaces sync.Map // answers of namespaceOf by Identity
	stuck      sync.Map // pids of which a read has not come back
	hung       atomic.Int64
	lost       lostPaths
	silent     sync.Map    // pids of service managers that gave no answer in time
	short      atomic.Bool // since it was last asked, a file could not be opened for want of descriptors or memory

	// file reads a whole file below proc into buf, which it may replace by a
	// larger one. A test makes it hang.
	file func(proc int, path, buf []byte) ([]byte, error)
}

// NewReader opens /proc and makes sure that its numbers are this process's own:
// a procfs of another pid namespace numbers every process differently.
func NewReader() (*Reader, error) {
	r, err := openReader("/proc")
	if err != nil {
		return nil, fmt.Errorf("cannot read the process table: %w", err)
	}
	return r, nil
}

func openReader(path string) (*Reader, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be opened (%w); mount it with: mount -t proc proc %s", path, err, path)
	}
	r := &Reader{proc: fd, uid: os.Geteuid(), stall: stallLimit, file: readFile}
	if err := r.check(path); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return r, nil
}

// check says what is wrong with the procfs and what to do.
func (r *Reader) check(path string) error {
	var fs unix.Statfs_t
	if err := unix.Fstatfs(r.proc, &fs); err != nil {
		return fmt.Errorf("statfs %s: %w", path, err)
	}
	if fs.Type != unix.PROC_SUPER_MAGIC {
		return fmt.Errorf("%s is not mounted; mount it with: mount -t proc proc %s", path, path)
	}
	self := make([]byte, 16)
	n, err := unix.Readlinkat(r.proc, "self", self)
	if err != nil || string(self[:n]) != strconv.Itoa(os.Getpid()) || !r.ownNumbers() {
		return fmt.Errorf("%s belongs to another pid namespace; mount this one's with: mount -t proc proc %s", path, path)
	}
	var st unix.Stat_t
	if err := unix.Fstatat(r.proc, "self/ns/pid", &st, 0); err != nil {
		return fmt.Errorf("pid namespace of this process: %w", err)
	}
	r.namespace = st.Ino
	if r.clock, err = r.inode(&scratch{}, os.Getpid(), "ns/time"); err != nil && !errors.Is(err, syscall.ENOENT) {
		return fmt.Errorf("time namespace of this process: %w", err)
	}
	return nil
}

// ownNumbers reads NSpid of proc_pid_status(5) (4.1): one number for every
// namespace from the procfs's own down to this process's. By chance /proc/self
// may fit where there are two.
func (r *Reader) ownNumbers() bool {
	status, err := r.file(r.proc, []byte("self/status"), nil)
	if err != nil {
		return false
	}
	_, line, found := bytes.Cut(status, []byte("\nNSpid:"))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	return !found || len(bytes.Fields(line)) == 1
}

// Close gives the descriptor back.
func (r *Reader) Close() error {
	return unix.Close(r.proc)
}

// System says what does not change while this process runs. BootID is empty
// where /proc/sys is hidden (mount option subset=pid).
func (r *Reader) System() (System, error) {
	boot, err := r.file(r.proc, []byte("sys/kernel/random/boot_id"), nil)
	if err != nil && !errors.Is(err, syscall.ENOENT) {
		return System{}, fmt.Errorf("boot id: %w", err)
	}
	sid, err := unix.Getsid(0)
	if err != nil {
		return System{}, fmt.Errorf("own session: %w", err)
	}
	return System{
		PID: os.Getpid(), PPID: os.Getppid(), PGID: unix.Getpgrp(), SID: sid, UID: r.uid,
		BootID:         strings.TrimSpace(string(boot)),
		Nested:         r.namespace != initialPIDNamespace,
		MaxPID:         maxPID,
		TicksPerSecond: ticksPerSecond,
	}, nil
}

// Ticks is the time since boot in the unit of Process.Start. Both count suspended
// time, and both are shifted alike inside a time namespace (5.5).
func (r *Reader) Ticks() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &t); err != nil {
		return 0
	}
	return uint64(t.Sec)*ticksPerSecond + uint64(t.Nsec)/(1e9/ticksPerSecond)
}
