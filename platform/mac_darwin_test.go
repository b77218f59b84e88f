package platform

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if PlayCanary() {
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// started is a program that says a line once it runs, or nothing where quiet, and
// ends with the test.
func started(t *testing.T, quiet bool, change func(*exec.Cmd), argv ...string) (*exec.Cmd, string) {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Skip(err)
	}
	cmd := exec.Command(path, argv[1:]...)
	cmd.Env = append(os.Environ(), "REAPER_MAC=4242")
	if change != nil {
		change(cmd)
	}
	in, _ := cmd.StdinPipe()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	if quiet {
		time.Sleep(200 * time.Millisecond) // it has nothing to tell by
		return cmd, ""
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil && err != io.EOF {
		t.Fatal(err)
	}
	return cmd, strings.TrimSpace(line)
}

func macReader(t *testing.T) *Reader {
	t.Helper()
	r, err := NewReader()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// inspectedHere reads one process by all three passes.
func inspectedHere(t *testing.T, pid int) Process {
	t.Helper()
	r, q := macReader(t), Query{Names: []string{"REAPER_MAC"}}
	c, err := r.Scan(context.Background(), q)
	if err == nil {
		err = r.Survey(context.Background(), c, q)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Inspect(context.Background(), c, []int{pid, 1}, q)
	return c.get(pid)
}

// TestOnAMac asks a real macOS what could be read only in its source. What it logs
// goes into the report of test/macos.sh.
func TestOnAMac(t *testing.T) {
	t.Run("table", func(t *testing.T) {
		r := macReader(t)
		rows, err := r.list()
		system, failed := r.System()
		if err != nil || failed != nil || r.refused {
			t.Fatal(err, failed)
		}
		self := inspectedHere(t, os.Getpid())
		age := time.Duration(r.Ticks()-self.Start) * time.Microsecond
		if self.PPID != os.Getppid() || self.SID != system.SID || age < 0 || age > time.Hour || self.Env != EnvPresent && self.Env != EnvOverwritten {
			t.Errorf("this process: %+v", self)
		}
		t.Logf("%d processes, Darwin %d, first %+v", len(rows), r.release, inspectedHere(t, 1))
	})
	t.Run("canary", func(t *testing.T) {
		if err := macReader(t).Trust(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Run("sleep", func(t *testing.T) {
		cmd, _ := started(t, true, nil, "/bin/sleep", "60")
		logRow(t, cmd, EnvWithheld)
	})
	t.Run("bash", func(t *testing.T) {
		cmd, _ := started(t, false, nil, "/bin/bash", "-c", "echo ready; read x")
		logRow(t, cmd, EnvWithheld)
	})
	t.Run("node", func(t *testing.T) {
		cmd, _ := started(t, false, nil, "node", "-e", "console.log('ready'); setInterval(() => {}, 1e6)")
		logRow(t, cmd, EnvPresent)
	})
	t.Run("node with a title", func(t *testing.T) {
		cmd, _ := started(t, false, nil, "node", "-e", "process.title = 'a title'; console.log('ready'); setInterval(() => {}, 1e6)")
		logRow(t, cmd, EnvPresent)
	})
	t.Run("unique ids", macUnique)
	t.Run("adopted", macAdopted)
	t.Run("older", macOlder)
	t.Run("handle", macHandle)
	t.Run("group of zombies", macZombies)
	t.Run("ps", func(t *testing.T) {
		cmd, _ := started(t, true, nil, "/bin/sleep", "60")
		c, err := NewTextReader().Scan(context.Background(), Query{Names: []string{"REAPER_MAC"}})
		if err != nil {
			t.Fatal(err)
		}
		if p := c.get(cmd.Process.Pid); p.PPID != os.Getpid() || len(p.Argv) != 2 || p.Doubtful == "" {
			t.Errorf("%+v", p)
		}
	})
}

// logRow tells what is read of a marked process. With SIP off nothing is withheld.
func logRow(t *testing.T, cmd *exec.Cmd, usual EnvState) {
	t.Helper()
	p := inspectedHere(t, cmd.Process.Pid)
	t.Logf("environment state %d (usual %d), marker %v, arguments %q, titled %v, doubtful %q", p.Env, usual, p.Vars, p.Argv, p.Titled, p.Doubtful)
	if p.Env == EnvPresent && len(p.Vars) != 1 {
		t.Errorf("the environment is shown without the marker: %+v", p)
	}
	if p.Env != EnvPresent && (usual == EnvPresent || p.Env != EnvWithheld) {
		t.Errorf("%+v", p)
	}
}

func macUnique(t *testing.T) {
	r := macReader(t)
	self, ok := r.uniqueOf(os.Getpid())
	parent, known := r.uniqueOf(os.Getppid())
	launchd, first := r.uniqueOf(1)
	t.Logf("self %+v, parent %+v, launchd %+v", self, parent, launchd)
	if !ok || !known || !first || launchd.id == 0 || self.id <= parent.id || self.parent != parent.id {
		t.Errorf("unique ids: %v %v %v", ok, known, first)
	}
}

// macAdopted lets a shell in a session of its own end before what it started.
func macAdopted(t *testing.T) {
	lead := func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }
	cmd, line := started(t, false, lead, "/bin/sh", "-c", "sleep 60 >/dev/null & echo $!")
	orphan, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(orphan, syscall.SIGKILL)
	cmd.Wait()
	p := inspectedHere(t, orphan)
	u, ok := macReader(t).uniqueOf(orphan)
	t.Logf("%+v, unique %+v, %v", p, u, ok)
	if p.PPID != 1 || p.Reparented != Yes || p.SID != cmd.Process.Pid {
		t.Errorf("an orphan: %+v", p)
	}
}

// macOlder lets a shell that was started after the first process have a child, which
// is thereby later than that one's program; not so the other way round. Before 15.4
// neither can be told.
func macOlder(t *testing.T) {
	first, _ := started(t, false, nil, "/bin/sh", "-c", "echo ready; read x")
	_, line := started(t, false, nil, "/bin/sh", "-c", "sleep 60 >/dev/null & echo $!; read x")
	later, err := strconv.Atoi(line)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(later, syscall.SIGKILL)
	r := macReader(t)
	self, _ := r.uniqueOf(os.Getpid())
	before, after := inspectedHere(t, first.Process.Pid), inspectedHere(t, later)
	got, back := r.Older(before.ID(), after.PID), r.Older(after.ID(), before.PID)
	t.Logf("versions count %v, older %v, the other way round %v", self.counts(), got, back)
	if back != Unknown || got == No || (got == Yes) != self.counts() {
		t.Errorf("older %v, the other way round %v", got, back)
	}
}

func macHandle(t *testing.T) {
	cmd, _ := started(t, true, nil, "/bin/sleep", "60")
	h, err := OpenHandle(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	began, seen := time.Now(), false
	if err := h.Signal(Terminate); err != nil {
		t.Fatal(err)
	}
	err = Wait(context.Background(), []*Handle{h}, began.Add(5*time.Second), func(int, time.Time) { seen = true })
	if err != nil || !seen || !h.noted.Load() {
		t.Errorf("%v, exit seen %v, noted %v", err, seen, h.noted.Load())
	}
	t.Logf("exit of a zombie-to-be seen after %v", time.Since(began))
	if err := h.Signal(Terminate); !errors.Is(err, ErrGone) {
		t.Errorf("a signal to the zombie: %v", err)
	}
}

func macZombies(t *testing.T) {
	lead := func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
	cmd, _ := started(t, true, lead, "/bin/sleep", "60")
	pid := cmd.Process.Pid
	h, err := OpenHandle(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if err := SignalGroup(pid, h, Kill); err != nil {
		t.Fatal(err)
	}
	if err := Wait(context.Background(), []*Handle{h}, time.Now().Add(5*time.Second), func(int, time.Time) {}); err != nil {
		t.Fatal(err)
	}
	t.Logf("kill of a group of zombies: %v; of the zombie with signal 0: %v", syscall.Kill(-pid, 0), syscall.Kill(pid, 0))
	if err := SignalGroup(pid, h, Terminate); !errors.Is(err, ErrGone) {
		t.Errorf("SignalGroup: %v", err)
	}
}
