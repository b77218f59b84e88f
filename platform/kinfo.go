package platform

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// The layout of struct kinfo_proc (bsd/sys/sysctl.h of xnu), the same on amd64 and
// arm64. Only the cross-build can compare it with the system's: see kinfo_darwin.go.
const (
	kinfoSize       = 648
	kinfoStartSec   = 0   // p_starttime.tv_sec, 8 bytes
	kinfoStartUsec  = 8   // p_starttime.tv_usec, 4 bytes
	kinfoFlag       = 32  // p_flag
	kinfoStat       = 36  // p_stat, 1 byte
	kinfoPID        = 40  // p_pid
	kinfoComm       = 243 // p_comm, 17 bytes
	kinfoCommSize   = 17
	kinfoRUID       = 392 // e_pcred.p_ruid
	kinfoUID        = 420 // e_ucred.cr_uid, the effective one
	kinfoPPID       = 560 // e_ppid
	kinfoPGID       = 564 // e_pgid, 0 where the group is gone
	kinfoTTY        = 572 // e_tdev, NODEV (-1) for none
	kinfoForeground = 576 // e_tpgid
)

// Values of p_stat and bits of p_flag, bsd/sys/proc.h of xnu.
const (
	xnuStarting = 1 // SIDL: being made by fork
	xnuRuns     = 2 // SRUN
	xnuSleeps   = 3 // SSLEEP
	xnuStopped  = 4 // SSTOP
	xnuZombie   = 5 // SZOMB

	xnuSystem  = 0x00000200 // P_SYSTEM: takes no signals
	xnuExiting = 0x00002000 // P_WEXIT
)

// kinfo is what is used of one record of kern.proc.
type kinfo struct {
	pid, ppid, pgid int
	uid, ruid       int // effective and real
	state           byte
	flags           uint32
	start           uint64 // p_starttime in µs; since 13 exec copies it, before it kept the proc
	tty, foreground int
	comm            string // 16 bytes
}

// parseKinfo reads one record. One without a start is refused: it names nothing.
func parseKinfo(b []byte) (kinfo, error) {
	if len(b) != kinfoSize {
		return kinfo{}, fmt.Errorf("kinfo_proc of %d bytes, not %d", len(b), kinfoSize)
	}
	k := decodeKinfo(b)
	if k.start == 0 {
		return kinfo{}, fmt.Errorf("kinfo_proc of pid %d has no start time", k.pid)
	}
	return k, nil
}

// parseKinfos reads the whole of kern.proc.all, without pid 0, the kernel. A
// record without a start keeps its pid and nothing else, as one that could not be read.
func parseKinfos(b []byte) ([]kinfo, error) {
	if len(b)%kinfoSize != 0 {
		return nil, fmt.Errorf("process table of %d bytes, no multiple of %d", len(b), kinfoSize)
	}
	table := make([]kinfo, 0, len(b)/kinfoSize)
	for ; len(b) > 0; b = b[kinfoSize:] {
		k := decodeKinfo(b[:kinfoSize])
		switch {
		case k.pid <= 0:
		case k.start == 0:
			table = append(table, kinfo{pid: k.pid, uid: -1, ruid: -1})
		default:
			table = append(table, k)
		}
	}
	return table, nil
}

// decodeKinfo takes the fields out of exactly one record. Both processors are
// little endian.
func decodeKinfo(b []byte) kinfo {
	word := func(at int) uint32 { return binary.LittleEndian.Uint32(b[at:]) }
	number := func(at int) int { return int(int32(word(at))) }
	k := kinfo{
		pid: number(kinfoPID), ppid: number(kinfoPPID), pgid: number(kinfoPGID),
		uid: int(word(kinfoUID)), ruid: int(word(kinfoRUID)),
		state: b[kinfoStat], flags: word(kinfoFlag),
		foreground: number(kinfoForeground),
	}
	if tty := number(kinfoTTY); tty != -1 {
		k.tty = tty
	}
	sec, usec := int64(binary.LittleEndian.Uint64(b[kinfoStartSec:])), number(kinfoStartUsec)
	if sec > 0 && sec < 1<<40 && usec >= 0 && usec < 1e6 {
		k.start = uint64(sec)*1e6 + uint64(usec)
	}
	comm := b[kinfoComm : kinfoComm+kinfoCommSize]
	if end := bytes.IndexByte(comm, 0); end >= 0 {
		comm = comm[:end]
	}
	k.comm = string(comm)
	return k
}

// letter is the state in the letters of proc_pid_stat(5).
func (k *kinfo) letter() byte {
	switch k.state {
	case xnuRuns:
		return 'R'
	case xnuSleeps:
		return 'S'
	case xnuStopped:
		return 'T'
	case xnuZombie:
		return 'Z'
	case xnuStarting:
		return 'I'
	}
	return 0
}

func (k *kinfo) exited() bool { return k.state == xnuZombie }

// row is the record as a row of a census. There are no pid namespaces, and a
// zombie has no threads left that could go on.
func (k *kinfo) row() Process {
	if k.start == 0 {
		return Process{PID: k.pid, UID: -1, Foreground: -1, Env: EnvUnreadable}
	}
	return Process{
		PID: k.pid, PPID: k.ppid, PGID: k.pgid, UID: k.uid, State: k.letter(), Threads: 1, Start: k.start,
		TTY: k.tty, Foreground: k.foreground, Kernel: k.flags&xnuSystem != 0, Ending: k.flags&xnuExiting != 0 && !k.exited(),
		Comm: k.comm, Namespace: Yes,
	}
}
