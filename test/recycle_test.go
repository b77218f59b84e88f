//go:build linux

package test

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const lastPID = "/proc/sys/kernel/ns_last_pid"

// Recycle starts a stranger that has exactly this pid, which must be free. The
// pids that follow are as new as ever afterwards.
func (l *Lab) Recycle(pid int, s Spec) Proc {
	l.t.Helper()
	if !l.serial {
		l.t.Fatal("Recycle needs a serial lab: it moves the next pid of all tests")
	}
	runtime.LockOSThread() // the first time it starts a thread, which would take the number
	defer runtime.UnlockOSThread()
	before, err := os.ReadFile(lastPID)
	l.must(err)
	last, err := os.OpenFile(lastPID, os.O_WRONLY, 0)
	l.must(err)
	defer last.Close()
	this, ready := l.launch(s)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err := nextPID(int(last.Fd()), pid); err != nil {
			l.t.Skip("the next pid cannot be chosen: " + err.Error())
		}
		child, err := this.start()
		l.must(err)
		if child.Pid == pid {
			l.must(os.WriteFile(lastPID, before, 0))
			l.children[pid] = child
			if ready != nil {
				l.line(ready, "stranger ready")
			}
			return l.list(pid, "stranger "+strings.Join(this.Argv, " "))
		}
		child.Kill()
		child.Wait()
		if ready != nil {
			this, ready = l.launch(s) // what the lost one said is not to be read
		}
	}
	l.t.Fatalf("pid %d never became free", pid)
	return Proc{}
}

// nextPID chooses the next pid by a call of which the runtime does not know: it
// might start a thread meanwhile, which would take the number for good.
func nextPID(file, pid int) error {
	text := []byte(strconv.Itoa(pid - 1))
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PWRITE64, uintptr(file), uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
