//go:build linux

package test

import (
	"os"
	"strconv"
	"strings"
	"time"
)

const lastPID = "/proc/sys/kernel/ns_last_pid"

// Recycle starts a stranger that has exactly this pid, which must be free. The
// pids that follow are as new as ever afterwards.
func (l *Lab) Recycle(pid int, s Spec) Proc {
	l.t.Helper()
	if !l.serial {
		l.t.Fatal("Recycle needs a serial lab: it moves the next pid of all tests")
	}
	before, err := os.ReadFile(lastPID)
	l.must(err)
	this, ready := l.launch(s)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err := os.WriteFile(lastPID, []byte(strconv.Itoa(pid-1)), 0); err != nil {
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
