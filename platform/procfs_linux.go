package platform

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxFile bounds a read. Arguments and environment together stay below 6 MiB
// (execve(2)); more is a process that moved its bounds by PR_SET_MM.
const maxFile = 16 << 20

var errHangs = errors.New("an earlier read has not come back")

var errTooLarge = errors.New("larger than an exec allows")

// readFile reads one file below the descriptor to its end, whatever its size.
// os.ReadFile takes 35 syscalls for what is mostly three here. A read that does
// not fill the buffer has met the end: the kernel fills it page by page, and
// environ gives nothing at all where a page cannot be had (environ_read in
// fs/proc/base.c). To ask once more whether that was all costs 13 %.
func readFile(proc int, path, buf []byte) ([]byte, error) {
	fd, err := openFile(proc, path)
	if err != nil {
		return buf[:0], err
	}
	defer syscall.Close(fd)
	buf = buf[:0]
	for {
		if cap(buf)-len(buf) < 512 {
			if buf = slices.Grow(buf, cap(buf)+4096); len(buf) > maxFile {
				return buf[:0], errTooLarge
			}
		}
		room := cap(buf) - len(buf)
		n, err := syscall.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return buf[:0], err
		}
		if buf = buf[:len(buf)+n]; n < room {
			return buf, nil
		}
	}
}

func openFile(dir int, path []byte) (int, error) {
	for {
		fd, err := syscall.Openat(dir, string(path), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// pids lists the table in ascending order.
func (r *Reader) pids() ([]int, error) {
	r.listing.Lock()
	defer r.listing.Unlock()
	if _, err := unix.Seek(r.proc, 0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("list /proc: %w", err)
	}
	pids, err := numbers(r.proc, make([]int, 0, 512))
	if err != nil {
		return nil, fmt.Errorf("list /proc: %w", err)
	}
	slices.Sort(pids)
	return slices.Compact(pids), nil
}

// numbers appends the numeric names of an open directory.
func numbers(dir int, list []int) ([]int, error) {
	buf := make([]byte, 32<<10)
	for {
		n, err := unix.Getdents(dir, buf)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return list, err
		}
		list = direntNumbers(buf[:n], list)
	}
}

// direntNumbers reads struct linux_dirent64 of getdents(2): inode and offset of
// 8 bytes, record length of 2, type of 1, the name and its NUL.
func direntNumbers(b []byte, list []int) []int {
	const head = 19
	for len(b) > head {
		size := int(binary.NativeEndian.Uint16(b[16:]))
		if size <= head || size > len(b) {
			break
		}
		pid := 0
		for _, c := range b[head:size] {
			if c < '0' || c > '9' {
				if c != 0 {
					pid = 0
				}
				break
			}
			pid = pid*10 + int(c-'0')
		}
		if pid > 0 {
			list = append(list, pid)
		}
		b = b[size:]
	}
	return list
}

// at sets the scratch's path to PID/name.
func (s *scratch) at(pid int, name string) []byte {
	s.path = strconv.AppendInt(s.path[:0], int64(pid), 10)
	s.path = append(append(s.path, '/'), name...)
	return s.path
}

// read reads /proc/PID/name; the bytes are good until the next read. As long as a
// read that waits for the process's memory lock has not come back no other one is
// begun: each keeps a thread for good.
func (r *Reader) read(s *scratch, pid int, name string) (data []byte, err error) {
	if (name == "environ" || name == "cmdline") && r.isStuck(pid) {
		return nil, errHangs
	}
	s.buf, err = r.file(r.proc, s.at(pid, name), s.buf)
	if err == syscall.EMFILE || err == syscall.ENFILE || err == syscall.ENOMEM {
		r.short.Store(true)
	}
	return s.buf, err
}

func (r *Reader) isStuck(pid int) bool {
	if r.hung.Load() == 0 {
		return false
	}
	_, is := r.stuck.Load(pid)
	return is
}

// hangs notes that the memory of a process cannot be read, or can be again.
func (r *Reader) hangs(pid int, is bool) {
	if is {
		if _, known := r.stuck.LoadOrStore(pid, nil); !known {
			r.hung.Add(1)
		}
	} else if _, known := r.stuck.LoadAndDelete(pid); known {
		r.hung.Add(-1)
	}
}

func (r *Reader) stat(s *scratch, pid int) (stat, error) {
	data, err := r.read(s, pid, "stat")
	if err != nil {
		return stat{}, err
	}
	st, err := parseStat(data)
	if err != nil {
		return st, fmt.Errorf("stat of pid %d: %w", pid, err)
	}
	return st, nil
}

// owner is the process's effective user, -1 where it cannot be told. It is the
// directory's: the files of a process that is not dumpable belong to root.
func (r *Reader) owner(s *scratch, pid int) (int, error) {
	var st unix.Stat_t
	s.at(pid, "")
	if err := unix.Fstatat(r.proc, string(s.path), &st, 0); err != nil {
		return -1, err
	}
	return int(st.Uid), nil
}

// sameNamespace compares pid namespaces by inode. To see another process's takes
// the right to trace it.
func (r *Reader) sameNamespace(s *scratch, pid int) Answer {
	namespace, err := r.inode(s, pid, "ns/pid")
	if err != nil {
		return Unknown
	}
	return AnswerOf(namespace == r.namespace)
}

// inode is the inode of /proc/PID/name.
func (r *Reader) inode(s *scratch, pid int, name string) (uint64, error) {
	var st unix.Stat_t
	err := unix.Fstatat(r.proc, string(s.at(pid, name)), &st, 0)
	return st.Ino, err
}

// threads lists the process's threads.
func (r *Reader) threads(s *scratch, pid int) []int {
	dir, err := openFile(r.proc, s.at(pid, "task"))
	if err != nil {
		return nil
	}
	defer syscall.Close(dir)
	tids, _ := numbers(dir, nil)
	return tids
}

func threadFile(tid int, name string) string {
	return "task/" + strconv.Itoa(tid) + "/" + name
}

// gone says whether the error means that the process is no longer there. Of
// environ it is no proof, see there.
func gone(err error) bool {
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ESRCH)
}
