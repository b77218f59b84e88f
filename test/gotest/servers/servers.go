// Package servers is what the tests of this module start.
package servers

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// Run starts a child and a daemon, says their pids and its own, and waits until
// it is told to end; then it ends them. Without LAB_SERVERS there is nothing to
// start.
func Run(t *testing.T) {
	says, orders := os.Getenv("LAB_SERVERS"), os.Getenv("LAB_TOLD")
	if says == "" {
		t.Skip("no LAB_SERVERS")
	}
	child := exec.Command("sleep", "98765")
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", "setsid sleep 98766 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	var daemon int
	fmt.Sscan(string(out), &daemon)
	fifo, err := os.OpenFile(says, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(fifo, "[%d,%d,%d]\n", os.Getpid(), child.Process.Pid, daemon)
	told, err := os.Open(orders)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(told, make([]byte, len("end\n"))); err != nil {
		t.Fatal(err)
	}
	for _, pid := range []int{child.Process.Pid, daemon} {
		if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
			t.Errorf("end %d: %v", pid, err)
		}
	}
}
