package again

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestRunsItself starts a daemon by a helper that exits, and looks for it by a
// second one: LAB_HELPER says how they are started. Between the two it says the
// daemon's pid and waits for its orders.
func TestRunsItself(t *testing.T) {
	how := os.Getenv("LAB_HELPER")
	if how == "" {
		t.Skip("no LAB_HELPER")
	}
	helper(t, how, "LAB_STEP=start")
	pid, err := os.ReadFile(os.Getenv("LAB_PID"))
	if err != nil {
		t.Fatal(err)
	}
	fifo, err := os.OpenFile(os.Getenv("LAB_SERVERS"), os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fifo.Write(append(pid, '\n'))
	told, err := os.Open(os.Getenv("LAB_TOLD"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(told, make([]byte, len("end\n"))); err != nil {
		t.Fatal(err)
	}
	helper(t, how, "LAB_STEP=look")
}

// helper is this program once more.
func helper(t *testing.T, how, step string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelper$")
	if how == "go test" {
		cmd = exec.Command("go", "test", "-count=1", "-run=^TestHelper$", ".")
	}
	cmd.Env = os.Environ()
	if how == "bare" {
		cmd.Env = nil
		for _, entry := range os.Environ() {
			if !strings.HasPrefix(entry, "REAPER_") {
				cmd.Env = append(cmd.Env, entry)
			}
		}
	}
	cmd.Env = append(cmd.Env, step)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s, %s: %v: %s", how, step, err, out)
	}
}

func TestHelper(t *testing.T) {
	switch os.Getenv("LAB_STEP") {
	case "":
		t.Skip("no helper")
	case "start":
		daemon := exec.Command("sleep", "98767")
		daemon.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := daemon.Start(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(os.Getenv("LAB_PID"), []byte(strconv.Itoa(daemon.Process.Pid)), 0o644); err != nil {
			t.Fatal(err)
		}
	case "look":
		pid, err := os.ReadFile(os.Getenv("LAB_PID"))
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(string(pid))
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Kill(n, syscall.SIGTERM); err != nil {
			t.Errorf("the daemon %d that the first helper started: %v", n, err)
		}
	}
}
