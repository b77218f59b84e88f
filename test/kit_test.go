//go:build linux

package test

import (
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestPID1IsInit(t *testing.T) {
	newLab(t)
	s, _ := readStat(1)
	if s.Comm != initName || readArgs(1)[0] != initName {
		t.Errorf("pid 1 is %q, %q", s.Comm, readArgs(1))
	}
	for _, entry := range readEnviron(1) {
		if strings.HasPrefix(entry, tagVar) || strings.HasPrefix(entry, "REAPER_") && !strings.HasPrefix(entry, binVar) {
			t.Errorf("pid 1 carries %s", entry)
		}
	}
	if os.Getppid() != 1 {
		t.Errorf("the tests are a child of %d", os.Getppid())
	}
}

func TestOrphanIsAdopted(t *testing.T) {
	lab := newLab(t)
	p := lab.Orphan([]string{"X=1"}, lab.Sleep(900)...)
	s := p.Stat()
	if s.PPID != 1 || s.PGID == p.PID || s.SID != s.PGID {
		t.Errorf("%+v", s)
	}
	if _, ok := readStat(s.PGID); ok {
		t.Errorf("the leader %d is there", s.PGID)
	}
	if env := readEnviron(p.PID); !slices.Contains(env, "X=1") || !slices.Contains(env, tagVar+"="+lab.Tag) {
		t.Errorf("environment %q", env)
	}
}

func TestOrphanLeaderLeads(t *testing.T) {
	lab := newLab(t)
	p := lab.OrphanLeader(nil, lab.Sleep(900)...)
	if s := p.Stat(); s.PPID != 1 || s.PGID != p.PID || s.SID != p.PID {
		t.Errorf("%+v", s)
	}
}

func TestChildAndDead(t *testing.T) {
	lab := newLab(t)
	child, dead := lab.Live(), lab.Dead()
	if s := child.Stat(); s.PPID != os.Getpid() || s.SID != child.PID {
		t.Errorf("%+v", s)
	}
	if err := syscall.Kill(dead, 0); err != syscall.ESRCH {
		t.Errorf("dead: %v", err)
	}
	lab.Kill(child)
	if child.State() != "gone" {
		t.Errorf("killed: %s", child.State())
	}
}

// What is below one of the lab's goes with it, also without a tag.
func TestCleanUpLeavesNothing(t *testing.T) {
	needNamespace(t)
	var all []Proc
	t.Run("lab", func(t *testing.T) {
		lab := newSerialLab(t)
		script := "trap '' TERM HUP; env -i setsid sleep " + lab.SleepArg(901) + " & env -i sleep 54321 & sleep " + lab.SleepArg(902) + "; :"
		all = append(all, lab.Orphan(nil, "sh", "-c", script), lab.Sleeper(901), lab.Find("sleep", "54321"), lab.Sleeper(902))
		all = append(all, lab.Start(Spec{Argv: []string{"sleep", "54322"}, Bare: true, Adopted: true}), lab.Live())
		for _, p := range all {
			if !p.Running() {
				t.Errorf("%s does not run", p)
			}
		}
	})
	for _, p := range all {
		if p.Running() {
			t.Errorf("%s is left", p)
		}
	}
}

func TestRecycle(t *testing.T) {
	lab := newSerialLab(t)
	first := lab.Live()
	lab.Kill(first)
	again := lab.Recycle(first.PID, Spec{Argv: lab.Sleep(901), Leader: true})
	if again.PID != first.PID || !again.Running() {
		t.Errorf("%s instead of %d", again, first.PID)
	}
	if dead := lab.Dead(); dead <= first.PID {
		t.Errorf("the next pid is %d", dead)
	}
}

func TestCanaryNotesSignals(t *testing.T) {
	lab := newLab(t)
	canary, notes := lab.Canary(Spec{Leader: true})
	if got := notes(); len(got) > 0 {
		t.Errorf("noted %v before any", got)
	}
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGCONT, syscall.SIGHUP, syscall.SIGURG} {
		lab.must(canary.Signal(s))
		if got := notes(); !slices.Contains(got, unix.SignalName(s)) {
			t.Errorf("noted %v after %v", got, s)
		}
	}
	if !canary.Running() || len(notes()) != 4 {
		t.Errorf("%s, noted %v", canary.State(), notes())
	}
}

func TestSignalReachesOnlyTheIdentity(t *testing.T) {
	lab := newLab(t)
	p := lab.Live()
	other := p
	other.Start++
	if err := other.Signal(syscall.SIGKILL); err != unix.ESRCH || !p.Running() {
		t.Errorf("%v, %s", err, p.State())
	}
}

func TestAsNobody(t *testing.T) {
	lab := newLab(t)
	p := lab.Start(Spec{Argv: lab.Sleep(900), UID: nobody, Adopted: true})
	if st, err := os.Stat("/proc/" + itoa(p.PID)); err != nil || st.Sys().(*syscall.Stat_t).Uid != nobody {
		t.Errorf("%v %v", st, err)
	}
	role := lab.Start(Spec{Role: "undumpable", UID: nobody, Leader: true})
	if st, err := os.Stat("/proc/" + itoa(role.PID) + "/environ"); err != nil || st.Sys().(*syscall.Stat_t).Uid != 0 {
		t.Errorf("undumpable: %v %v", st, err)
	}
}

func TestTerminal(t *testing.T) {
	lab := newLab(t)
	p := lab.Start(Spec{Argv: lab.Sleep(900), TTY: lab.Terminal(), Leader: true, Adopted: true})
	if s := p.Stat(); s.TTY == 0 || s.ForegroundG != p.PID || s.PPID != 1 {
		t.Errorf("%+v", s)
	}
}

func TestFreezerFreezes(t *testing.T) {
	lab := newLab(t)
	freezer := lab.Freezer()
	p := lab.OrphanLeader(nil, lab.Sleep(900)...)
	freezer.Freeze(p)
	if freezer.V1 {
		lab.must(p.Signal(syscall.SIGKILL))
		if !p.Running() {
			t.Errorf("killed although frozen: %s", p.State())
		}
	}
	freezer.Thaw()
	p.Signal(syscall.SIGKILL)
	lab.AwaitExit(p)
}

func TestUnkillable(t *testing.T) {
	lab := newLab(t)
	p := lab.OrphanLeader(nil, lab.Sleep(900)...)
	release := lab.Unkillable(p)
	lab.must(p.Signal(syscall.SIGKILL))
	lab.eventually("the end of its exit", func() bool { return p.Stat().State == 't' })
	if !p.Running() {
		t.Errorf("%s", p.State())
	}
	release()
	lab.AwaitExit(p)
}
