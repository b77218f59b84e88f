package platform

import (
	"bytes"
	"os"
	"os/user"
	"strconv"
)

// Usage reads what the report shows of a process: memory from
// /proc/PID/statm and VmSwap of /proc/PID/status.
func (r *Reader) Usage(pid int) Usage {
	s := &scratch{}
	var u Usage
	if statm, err := r.read(s, pid, "statm"); err == nil {
		u.RSS = numberAt(statm, 1) * uint64(os.Getpagesize())
	}
	if status, err := r.read(s, pid, "status"); err == nil {
		_, line, _ := bytes.Cut(status, []byte("\nVmSwap:"))
		u.Swap = numberAt(line, 0) << 10
	}
	if uid, err := r.owner(s, pid); err == nil {
		u.User = strconv.Itoa(uid)
		if named, err := user.LookupId(u.User); err == nil {
			u.User = named.Username
		}
	}
	return u
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
