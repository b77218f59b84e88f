package platform

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// What kinfo.go says of struct kinfo_proc is what x/sys generated from Apple's
// headers: an array of another length does not compile.
var (
	externProc unix.ExternProc
	eproc      unix.Eproc
	kinfoProc  unix.KinfoProc
)

const eprocAt = unsafe.Offsetof(kinfoProc.Eproc)

var (
	_ [kinfoSize]byte       = [unsafe.Sizeof(kinfoProc)]byte{}
	_ [kinfoStartSec]byte   = [unsafe.Offsetof(externProc.P_starttime) + unsafe.Offsetof(externProc.P_starttime.Sec)]byte{}
	_ [kinfoStartUsec]byte  = [unsafe.Offsetof(externProc.P_starttime) + unsafe.Offsetof(externProc.P_starttime.Usec)]byte{}
	_ [kinfoFlag]byte       = [unsafe.Offsetof(externProc.P_flag)]byte{}
	_ [kinfoStat]byte       = [unsafe.Offsetof(externProc.P_stat)]byte{}
	_ [kinfoPID]byte        = [unsafe.Offsetof(externProc.P_pid)]byte{}
	_ [kinfoComm]byte       = [unsafe.Offsetof(externProc.P_comm)]byte{}
	_ [kinfoCommSize]byte   = [unsafe.Sizeof(externProc.P_comm)]byte{}
	_ [kinfoRUID]byte       = [eprocAt + unsafe.Offsetof(eproc.Pcred) + unsafe.Offsetof(eproc.Pcred.P_ruid)]byte{}
	_ [kinfoUID]byte        = [eprocAt + unsafe.Offsetof(eproc.Ucred) + unsafe.Offsetof(eproc.Ucred.Uid)]byte{}
	_ [kinfoPPID]byte       = [eprocAt + unsafe.Offsetof(eproc.Ppid)]byte{}
	_ [kinfoPGID]byte       = [eprocAt + unsafe.Offsetof(eproc.Pgid)]byte{}
	_ [kinfoTTY]byte        = [eprocAt + unsafe.Offsetof(eproc.Tdev)]byte{}
	_ [kinfoForeground]byte = [eprocAt + unsafe.Offsetof(eproc.Tpgid)]byte{}
)
