package platform

import (
	"bytes"
	"errors"
)

// Bits of stat's flags, PF_EXITING and PF_KTHREAD of linux/sched.h.
const (
	ending       = 0x00000004
	kernelThread = 0x00200000
)

// stat is what is used of /proc/PID/stat, proc_pid_stat(5). The addresses are 0
// where the reader may not trace the process.
type stat struct {
	pid                  int
	comm                 []byte // part of what was parsed
	state                byte
	ppid, pgrp, session  int
	tty, tpgid           int
	flags                uint64
	threads              int
	start                uint64
	argStart, argEnd     uint64
	envStart, envEnd     uint64
	startData, startCode uint64
}

var errStat = errors.New("malformed stat")

// parseStat reads one /proc/PID/stat. The command is whatever the process calls
// itself, parentheses and newlines included, so what follows it is taken from
// the last ')' on: no later field can hold one.
func parseStat(b []byte) (stat, error) {
	var s stat
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 2 || end < open || len(b) < end+4 || b[end+1] != ' ' || b[end+3] != ' ' {
		return s, errStat
	}
	pid, ok := ParsePID(string(b[:open-1]))
	if !ok || b[open-1] != ' ' {
		return s, errStat
	}
	s.pid, s.comm, s.state = pid, b[open+1:end], b[end+2]
	rest := b[end+4:]
	for field := 4; field <= 51; field++ {
		var v uint64
		if v, rest, ok = statNumber(rest); !ok {
			if field > 22 { // older kernels and lesser implementations end earlier
				break
			}
			return stat{}, errStat
		}
		s.set(field, v)
	}
	return s, nil
}

// set stores a field by its number in proc_pid_stat(5).
func (s *stat) set(field int, v uint64) {
	switch field {
	case 4:
		s.ppid = int(v)
	case 5:
		s.pgrp = int(v)
	case 6:
		s.session = int(v)
	case 7:
		s.tty = int(v)
	case 8:
		s.tpgid = int(v)
	case 9:
		s.flags = v
	case 20:
		s.threads = int(v)
	case 22:
		s.start = v
	case 26:
		s.startCode = v
	case 45:
		s.startData = v
	case 48:
		s.argStart = v
	case 49:
		s.argEnd = v
	case 50:
		s.envStart = v
	case 51:
		s.envEnd = v
	}
}

// statNumber takes one decimal number, negative ones in two's complement, and
// the blank or newline behind it.
func statNumber(b []byte) (v uint64, rest []byte, ok bool) {
	i := 0
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		i++
	}
	from := i
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9'; i++ {
		v = v*10 + uint64(b[i]-'0')
	}
	if i == from || i-from > 20 {
		return 0, b, false
	}
	if negative {
		v = -v
	}
	if i < len(b) {
		if b[i] != ' ' && b[i] != '\n' {
			return 0, b, false
		}
		i++
	}
	return v, b[i:], true
}

// sameImage says whether no exec lies between two readings of one process: an
// exec keeps pid and start token but lays out its memory anew.
func (s *stat) sameImage(o *stat) bool {
	return s.start == o.start && s.argStart == o.argStart && s.argEnd == o.argEnd &&
		s.envStart == o.envStart && s.envEnd == o.envEnd &&
		s.startCode == o.startCode && s.startData == o.startData
}

// fill copies what a row holds of stat.
func (s *stat) fill(p *Process) {
	p.PPID, p.PGID, p.SID = s.ppid, s.pgrp, s.session
	p.State, p.Threads, p.Start = s.state, s.threads, s.start
	p.TTY, p.Foreground = s.tty, s.tpgid
	p.Kernel = s.flags&kernelThread != 0
	p.Ending = s.flags&ending != 0 && !p.halfway()
	p.Comm = string(s.comm)
}
