package platform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Missing answers whether an absolute path does not exist as the process itself
// sees it, in its own mount namespace and root. One that is there for this process
// is Unknown then: nobody removed it, the other has left for another root. So is
// what cannot be told, a dead network mount for instance.
func (r *Reader) Missing(ctx context.Context, id Identity, path string) Answer {
	return r.lost.ask(ctx, path, func() Answer {
		seen := absent(fmt.Sprintf("/proc/%d/root", id.PID), path)
		if seen != Yes {
			return seen
		}
		if !r.holds(id) || absent("/", path) != Yes {
			return Unknown
		}
		return Yes
	})
}

// absent answers whether a path does not exist below a root (openat2(2) with
// RESOLVE_IN_ROOT, Linux 5.6: an absolute link leads to that root, not to ours).
func absent(root, path string) Answer {
	dir, err := unix.Open(root, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return Unknown
	}
	defer unix.Close(dir)
	fd, err := unix.Openat2(dir, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
	if err == nil {
		unix.Close(fd)
		return No
	}
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
		return alsoForOthers(dir, path)
	}
	return Unknown
}

// alsoForOthers is Yes for a path that does not exist, but Unknown where it leads
// through procfs: /proc/self, and with it /dev/fd, is another folder for each that
// asks. It resolves part by part, as path_resolution(7) has it.
func alsoForOthers(root int, path string) Answer {
	stack := []int{root}
	pop := func(keep int) {
		for _, fd := range stack[keep:] {
			unix.Close(fd)
		}
		stack = stack[:keep]
	}
	defer pop(1)
	rest := strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			pop(max(1, len(stack)-1))
			continue
		}
		fd, err := unix.Openat(stack[len(stack)-1], name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) {
			return Yes
		}
		if err != nil {
			return Unknown
		}
		stack = append(stack, fd)
		var fs unix.Statfs_t
		if unix.Fstatfs(fd, &fs) != nil || fs.Type == unix.PROC_SUPER_MAGIC {
			return Unknown
		}
		buf := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(fd, "", buf)
		if err != nil { // no link
			continue
		}
		if links++; links > 40 || n == len(buf) {
			return Unknown
		}
		target := string(buf[:n])
		pop(len(stack) - 1)
		if strings.HasPrefix(target, "/") {
			pop(1)
		}
		rest = append(strings.Split(target, "/"), rest...)
	}
	return Unknown // it is there by now
}

// Memory is the proportional memory of a process in bytes: Pss and SwapPss of
// /proc/PID/smaps_rollup (Linux 4.14), which stalls the process for about 10 µs a
// MiB. ok is false where it cannot be read.
func (r *Reader) Memory(ctx context.Context, id Identity) (bytes uint64, ok bool) {
	type memory struct {
		bytes uint64
		ok    bool
	}
	m := within(ctx, func() memory {
		data, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", id.PID))
		if err != nil || !r.holds(id) {
			return memory{}
		}
		sum, ok := parseRollup(data)
		return memory{sum, ok}
	})
	return m.bytes, m.ok
}

// RunsProgram answers whether the process's executable file has this name. Unknown
// where it may not be read (ptrace(2), access mode PTRACE_MODE_READ_FSCREDS).
func (r *Reader) RunsProgram(id Identity, name string) Answer {
	path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", id.PID))
	if err != nil || !r.holds(id) {
		return Unknown
	}
	return AnswerOf(filepath.Base(strings.TrimSuffix(path, " (deleted)")) == name)
}

// Hides says whether processes may be missing from the table: procfs may hide those
// that this process may not trace (hidepid=2 and more, proc(5)).
func (r *Reader) Hides() bool {
	var st unix.Stat_t
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || unix.Fstat(r.proc, &st) != nil {
		return true
	}
	return hidesIn(mounts, fmt.Sprintf("%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev)))
}

// Pipes tells of which pipes a process's standard input, output and error are, by
// their inodes, 0 for what is no pipe. ok is false where that may not be read.
func (r *Reader) Pipes(id Identity) (pipes [3]uint64, ok bool) {
	for fd := range pipes {
		name, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", id.PID, fd))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return [3]uint64{}, false
		}
		if inode, found := strings.CutPrefix(name, "pipe:["); found {
			pipes[fd], _ = strconv.ParseUint(strings.TrimSuffix(inode, "]"), 10, 64)
		}
	}
	return pipes, r.holds(id)
}

// SameClock answers whether the process reads start tokens as this one does: in
// another time namespace they are shifted (time_namespaces(7), Linux 5.6).
func (r *Reader) SameClock(id Identity) Answer {
	if r.clock == 0 {
		return Yes
	}
	clock, err := r.inode(&scratch{}, id.PID, "ns/time")
	if err != nil || !r.holds(id) {
		return Unknown
	}
	return AnswerOf(clock == r.clock)
}

// parseRollup sums the Pss and SwapPss lines, which are in kB.
func parseRollup(data []byte) (sum uint64, ok bool) {
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) != 3 || string(fields[2]) != "kB" {
			continue
		}
		switch string(fields[0]) {
		case "Pss:", "SwapPss:":
			kib, err := strconv.ParseUint(string(fields[1]), 10, 54)
			if err != nil {
				return 0, false
			}
			sum, ok = sum+kib<<10, ok || string(fields[0]) == "Pss:"
		}
	}
	return sum, ok
}

// Older cannot be told: no file of /proc has the time of the last exec.
func (r *Reader) Older(Identity, int) Answer { return Unknown }

// holds says whether the identity still holds its pid.
func (r *Reader) holds(id Identity) bool {
	st, err := r.stat(&scratch{}, id.PID)
	return err == nil && st.start == id.Start
}
