package platform

import (
	"bytes"
	"context"
	"os"
	"os/user"
	"strconv"
)

// Usage reads what the report shows of the processes: memory from /proc/PID/statm
// and VmSwap of /proc/PID/status. What cannot be read is zero.
func (r *Reader) Usage(pids []int) []Usage {
	p := newPool(len(pids), r.stall, func(s *scratch, i int) Usage { return r.usage(s, pids[i]) })
	p.run(context.Background(), crew)
	return p.results
}

func (r *Reader) usage(s *scratch, pid int) Usage {
	var u Usage
	if statm, err := r.read(s, pid, "statm"); err == nil {
		u.RSS = numberAt(statm, 1) * uint64(os.Getpagesize())
	}
	if status, err := r.read(s, pid, "status"); err == nil {
		_, line, _ := bytes.Cut(status, []byte("\nVmSwap:"))
		u.Swap = numberAt(line, 0) << 10
	}
	if uid, err := r.owner(s, pid); err == nil {
		u.User = r.userName(uid)
	}
	return u
}

// userName is the number where the user has no name. To look a name up reads the
// whole of /etc/passwd.
func (r *Reader) userName(uid int) string {
	if name, ok := r.users.Load(uid); ok {
		return name.(string)
	}
	name := strconv.Itoa(uid)
	if named, err := user.LookupId(name); err == nil {
		name = named.Username
	}
	r.users.Store(uid, name)
	return name
}

// numberAt is the n-th blank-separated field as a number, 0 where it is none.
func numberAt(line []byte, n int) uint64 {
	fields := bytes.Fields(line)
	if n >= len(fields) {
		return 0
	}
	v, _ := strconv.ParseUint(string(fields[n]), 10, 64)
	return v
}
