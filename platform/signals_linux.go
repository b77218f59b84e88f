package platform

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// MoreSignals are those that Linux has beside the common ones: SIGPWR, and of the
// real-time signals (signal(7)) those that Go can be notified of.
func MoreSignals() []os.Signal {
	signals := []os.Signal{unix.SIGPWR}
	for s := syscall.Signal(35); s <= 64; s++ { // 32 to 34 are the C libraries' own
		signals = append(signals, s)
	}
	return signals
}

// Ignored says whether this process ignores a signal. What it was started with is
// known only of signals that the Go runtime leaves alone until it is asked for them,
// SIGTSTP among them; for SIGHUP and SIGINT there is signal.Ignored.
func Ignored(sig syscall.Signal) bool {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(data, []byte("\nSigIgn:\t"))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	set, err := strconv.ParseUint(string(line), 16, 64)
	return err == nil && set>>(sig-1)&1 == 1
}

// raise sends the signal to this thread: it has been acted on when raise returns.
func raise(sig syscall.Signal) { unix.Tgkill(os.Getpid(), unix.Gettid(), sig) }

// pathOnly opens a file without reading it (open(2), O_PATH).
const pathOnly = unix.O_PATH

// Session is the session of a process, 0 where that is outside the pid namespace
// and -1 where there is no such process.
func Session(pid int) int {
	sid, err := unix.Getsid(pid)
	if err != nil {
		return -1
	}
	return sid
}

// OldestChild is the first in the list of a process's children, which newborn and
// adopted ones are put at the end of; 0 where there is none or it cannot be read
// (CONFIG_PROC_CHILDREN), and where several threads have children: each has a list
// of its own, and between those there is no order.
func OldestChild(pid int) int {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	oldest := 0
	for _, list := range lists {
		data, err := os.ReadFile(list)
		first, _, _ := bytes.Cut(data, []byte(" "))
		child, some := ParsePID(string(first))
		if err != nil || some && oldest != 0 {
			return 0
		}
		oldest = max(oldest, child)
	}
	return oldest
}
