//go:build linux

package test

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestDeaf(t *testing.T) {
	lab := newLab(t)
	p := lab.Role(nil, "deaf")
	lab.must(p.Signal(syscall.SIGTERM))
	raw, err := os.ReadFile("/proc/" + itoa(p.PID) + "/status")
	lab.must(err)
	_, mask, _ := strings.Cut(string(raw), "SigIgn:\t")
	if ignored, err := strconv.ParseUint(mask[:16], 16, 64); err != nil || ignored&(1<<(syscall.SIGTERM-1)) == 0 || !p.Running() {
		t.Errorf("ignores %x, %s", ignored, p.State())
	}
}

func TestSlowAndHeld(t *testing.T) {
	lab := newLab(t)
	slow := lab.Role(nil, "slow", "1")
	lab.must(slow.Signal(syscall.SIGTERM))
	lab.AwaitExit(slow)
	held, termed, release := lab.Held(Spec{Leader: true, Adopted: true})
	lab.must(held.Signal(syscall.SIGTERM))
	termed()
	if !held.Running() {
		t.Errorf("held: %s", held.State())
	}
	release()
	lab.AwaitExit(held)
}

func TestSubreaperAdopts(t *testing.T) {
	lab := newLab(t)
	for _, reap := range []bool{true, false} {
		reaper, adopted := lab.Subreaper(reap,
			Spec{Argv: lab.Sleep(900), Env: []string{lab.Mark(launcherPID)}, Leader: true}, Spec{Argv: lab.Sleep(901)})
		for _, p := range adopted {
			if s := p.Stat(); s.PPID != reaper.PID {
				t.Errorf("%s: %+v", p, s)
			}
		}
		dead := adopted[1].Stat().PGID
		if !slices.Contains(readEnviron(adopted[0].PID), lab.Mark(dead)) {
			t.Errorf("does not follow %d: %q", dead, readEnviron(adopted[0].PID))
		}
		lab.must(adopted[0].Signal(syscall.SIGKILL))
		lab.AwaitExit(adopted[0])
		want := map[bool]string{true: "gone", false: "zombie"}[reap]
		lab.eventually(want, func() bool { return adopted[0].State() == want })
	}
}

func TestForkers(t *testing.T) {
	lab := newLab(t)
	forker, below := lab.Forker(Spec{Adopted: true, Leader: true}, "respawn", Spec{Argv: lab.Sleep(900)})
	if s := below[0].Stat(); s.PPID != forker.PID || s.PGID != forker.PID {
		t.Errorf("%+v", s)
	}
	lab.must(below[0].Signal(syscall.SIGKILL))
	lab.AwaitExit(below[0])
	lab.eventually("another", func() bool { found := lab.search(lab.Sleep(900)); return len(found) > 0 && found[0] != below[0].PID })
	onTerm := lab.Role(nil, "forker", "onterm", lab.launches(Spec{Argv: lab.Sleep(901), Leader: true}))
	lab.must(onTerm.Signal(syscall.SIGTERM))
	lab.AwaitExit(onTerm)
	lab.eventually("adopted", func() bool { return lab.Sleeper(901).Stat().PPID == 1 })
}

func TestZombieAndThreads(t *testing.T) {
	lab := newLab(t)
	keeper, zombie := lab.Zombie()
	if zombie.State() != "zombie" || zombie.Stat().PPID != keeper.PID {
		t.Errorf("%s: %s", zombie, zombie.State())
	}
	owner, tid := lab.Thread()
	if _, err := os.Stat("/proc/" + itoa(owner.PID) + "/task/" + itoa(tid)); err != nil || slices.Contains(pids(), tid) {
		t.Errorf("thread %d of %s: %v", tid, owner, err)
	}
	leader := lab.Role(nil, "threadleader")
	if s := leader.Stat(); s.State != 'Z' || s.Threads < 2 || !leader.Running() {
		t.Errorf("%+v, %s", s, leader.State())
	}
}

func TestReexecKeepsTheIdentity(t *testing.T) {
	lab := newLab(t)
	p, change := lab.Reexec(Spec{Env: []string{"A=1"}, Adopted: true, Leader: true}, Spec{Argv: lab.Sleep(900), Env: []string{"A=2"}})
	if !slices.Contains(readEnviron(p.PID), "A=1") {
		t.Errorf("before: %q", readEnviron(p.PID))
	}
	change()
	if env := readEnviron(p.PID); !p.Running() || !slices.Contains(env, "A=2") || slices.Contains(env, "A=1") {
		t.Errorf("after: %q, %s", env, p.State())
	}
}

func TestRetitle(t *testing.T) {
	lab := newLab(t)
	argv := []string{"node", "/x/daemon/main.ts", "--port", "0"}
	short := lab.Start(Spec{Argv: argv, Role: "retitle", Args: []string{"node (test 2)"}, Env: []string{"A=1"}, Leader: true})
	if args := readArgs(short.PID); strings.TrimRight(strings.Join(args, "|"), "|") != "node (test 2)" {
		t.Errorf("arguments %q", args)
	}
	if !slices.Contains(readEnviron(short.PID), "A=1") {
		t.Errorf("environment %q", readEnviron(short.PID))
	}
	long := lab.Start(Spec{Argv: argv, Role: "retitle", Args: []string{strings.Repeat("title ", 300)}, Env: []string{"A=1"}, Leader: true})
	if env := readEnviron(long.PID); slices.Contains(env, "A=1") {
		t.Errorf("environment %q", env)
	}
}

func TestForgedArguments(t *testing.T) {
	lab := newLab(t)
	argv := []string{"node", "--import", "tsx", "/x/daemon/main.ts"}
	p := lab.Start(Spec{Argv: argv, Role: "idle", Env: []string{"A=1", "A=2", "no entry"}, Adopted: true})
	if env := readEnviron(p.PID); !slices.Equal(readArgs(p.PID), argv) || !slices.Equal(env[len(env)-3:], []string{"A=1", "A=2", "no entry"}) {
		t.Errorf("%q, %q", readArgs(p.PID), env)
	}
}

func TestNamespace(t *testing.T) {
	lab := newLab(t)
	ns := lab.Namespace(Spec{Argv: []string{"sh"}})
	if s := ns.Init.Stat(); s.Comm != "sh" || ns.Init.Inner != 1 {
		t.Errorf("%+v, %d inside", s, ns.Init.Inner)
	}
	child, orphan, entered := ns.Start(Spec{Argv: lab.Sleep(900)}), ns.Start(Spec{Argv: lab.Sleep(901), Adopted: true}), ns.Enter(Spec{Argv: lab.Sleep(902), Leader: true})
	for _, p := range []Proc{child, orphan} {
		if p.Stat().PPID != ns.Init.PID || p.Inner == p.PID {
			t.Errorf("%s, %d inside: %+v", p, p.Inner, p.Stat())
		}
	}
	if entered.Stat().PPID != os.Getpid() || namespaceOf(entered.PID) != namespaceOf(ns.Init.PID) {
		t.Errorf("%s: %+v", entered, entered.Stat())
	}
	if status := ns.ask(request{launch{Exe: "/bin/sh", Argv: []string{"sh", "-c", "exit 7"}}, true}); status != 7 {
		t.Errorf("status %d", status)
	}
}
