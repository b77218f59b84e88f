package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"reaper/match"
	"reaper/platform"
	"reaper/sweep"
)

const (
	blindRun = "BLIND_RUN"   // the test binary is a run on a machine that shows no environments
	blindErr = "BLIND_SIGHT" // why it does not; "" where it does
)

// sightless is this machine, but that it may not show environments.
type sightless struct{ sweep.OS }

func (sightless) Trust(context.Context) error {
	if why := os.Getenv(blindErr); why != "" {
		return errors.New(why)
	}
	return nil
}

func TestMain(m *testing.M) {
	if text := os.Getenv(blindRun); text != "" {
		os.Exit(playBlindRun(text))
	}
	os.Exit(m.Run())
}

// playBlindRun has a child before it runs the shell's text, so that the mark and not
// the parentage tells what the command left: as where there are no subreapers. That
// child is followed, and the text finds its pid in FOLLOWED.
func playBlindRun(text string) int {
	reader, err := platform.NewReader()
	if err != nil {
		panic(err)
	}
	before := exec.Command("cat")
	in, err := before.StdinPipe()
	if err == nil {
		err = before.Start()
	}
	if err != nil {
		panic(err)
	}
	defer in.Close()
	rules, err := match.Load("rules.yaml", []byte("version: 1\n"+followsMark))
	if err != nil {
		panic(err)
	}
	ended, err := sweep.Run(sightless{sweep.OS{Reader: reader}}, sweep.RunOptions{
		Options: sweep.Options{Rules: rules, Deadline: time.Minute}, Follow: platform.Identity{PID: before.Process.Pid},
		Argv: []string{"/bin/sh", "-c", text}, Env: append(os.Environ(), "FOLLOWED="+strconv.Itoa(before.Process.Pid))})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return ended.Status
}

// Guards a run where no mark can be believed: what hangs below the command is its
// own all the same and is stopped, what has left that is not, and both are told.
func TestRunWithoutSight(t *testing.T) {
	const why = "no environment is shown"
	const background = "setsid sleep 900 </dev/null >/dev/null 2>&1 & echo $!; "
	for _, c := range []struct {
		name, text, why string
		status          int
		says            string
		stays           bool
	}{
		{"the command ends, what it left is found by its mark", background + "exit 4", "", 4, "/bin/sh left something behind: stopped 1 process", false},
		{"it ends, and no mark can be seen", background + "exit 4", why, 4, "looked only for what hangs below /bin/sh: " + why, true},
		{"the followed process ends", background + "kill $FOLLOWED; wait", why, 143,
			"which was followed, has exited: stopped 2 processes, looked only for what hangs below /bin/sh: " + why, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			var said strings.Builder
			cmd := exec.Command(self)
			cmd.Env, cmd.Stderr, cmd.WaitDelay = append(os.Environ(), blindRun+"="+c.text, blindErr+"="+c.why), &said, 10*time.Second
			out, err := cmd.Output()
			if status := cmd.ProcessState.ExitCode(); status != c.status || !strings.Contains(said.String(), c.says) || strings.Count(said.String(), "\n") != 1 {
				t.Errorf("status %d (%v), says %q", status, err, said.String())
			}
			pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
			if err != nil {
				t.Fatal(err)
			}
			h, err := platform.OpenHandle(pid)
			if stays := err == nil; stays != c.stays {
				t.Errorf("it stays: %v, %v", stays, err)
			}
			if err == nil {
				defer h.Close()
				if err := h.Signal(platform.Kill); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// late is this machine where something happens between two questions.
type late struct {
	sweep.OS
	opens   int   // the process that a handle turns out to be of; 0: the one asked for
	parents []int // one for each question, the last for ever
}

func (m *late) Open(pid int) (sweep.Handle, error) {
	if m.opens != 0 {
		pid = m.opens
	}
	return m.OS.Open(pid)
}

func (m *late) System() (platform.System, error) {
	system, err := m.OS.System()
	if len(m.parents) > 0 {
		system.PPID = m.parents[0]
		m.parents = m.parents[min(1, len(m.parents)-1):]
	}
	return system, err
}

// Guards the follower's start: the followed process has exited and its pid is used
// again, or the parent has and another process adopted the run, while it is looked at.
func TestRunStartsTooLate(t *testing.T) {
	reader, err := platform.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	machine := sweep.OS{Reader: reader}
	zombie := exec.Command("true")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	defer zombie.Wait()
	h, err := platform.OpenHandle(zombie.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	for gone := false; !gone; {
		if gone, err = h.Exited(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name   string
		m      *late
		follow int
		says   string
	}{
		{"the pid is used again", &late{OS: machine, opens: zombie.Process.Pid}, os.Getppid(), fmt.Sprintf("%d, which is to be followed, is not running", os.Getppid())},
		{"adopted", &late{OS: machine, parents: []int{os.Getppid(), 1}}, 0, fmt.Sprintf("the parent %d is not running", os.Getppid())},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := t.TempDir() + "/started"
			ended, err := sweep.Run(c.m, sweep.RunOptions{Options: sweep.Options{Rules: match.Default(), Deadline: time.Minute},
				Follow: platform.Identity{PID: c.follow}, Argv: []string{"touch", file}, Env: os.Environ()})
			if ended.Status != sweep.ExitNotStarted || err == nil || !strings.Contains(err.Error(), c.says+": touch was not started") {
				t.Errorf("status %d, %v", ended.Status, err)
			}
			if _, err := os.Stat(file); err == nil {
				t.Error("it was started")
			}
		})
	}
}
