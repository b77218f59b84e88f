//go:build linux

package test

import (
	"fmt"
	"slices"
	"testing"
)

// What goes with an orphan, and what is taken out again.

func (l *Lab) allStopped(res Result, all []Proc, how ...How) {
	l.t.Helper()
	for _, p := range all {
		l.Stopped(res, p, how...)
	}
}

// oneTree demands that these are the members of one tree, the orphan first.
func (l *Lab) oneTree(res Result, orphan Proc, rest ...Proc) {
	l.t.Helper()
	for _, p := range rest {
		if o, _ := res.member(p); o == nil || o.PID != orphan.PID {
			l.t.Errorf("%s is not in the tree of %s: %s", p, orphan, res.fate(p))
		}
	}
	if o, _ := res.member(orphan); o == nil || len(o.Members) != 1+len(rest) || o.Members[0].PID != orphan.PID {
		l.t.Errorf("the tree of %s: %s", orphan, res.Stdout)
	}
}

// deadMark is the marker of a run that has ended.
func (l *Lab) deadMark() []string { return []string{l.Mark(l.Dead())} }

// orphanScript is an orphan that leads its group and carries a dead marker; it is a
// real parent, whatever its last command is.
func (l *Lab) orphanScript(text string) Proc {
	l.t.Helper()
	return l.OrphanLeader(l.deadMark(), "sh", "-c", text+"\n:")
}

func (l *Lab) sleepers(numbers ...int) []Proc {
	l.t.Helper()
	var all []Proc
	for _, n := range numbers {
		all = append(all, l.Sleeper(n))
	}
	return all
}

// Guards that an orphan and what it started are one tree, stopped in one sweep.
func TestLauncherAndPayload(t *testing.T) {
	lab := newLab(t)
	launcher := lab.orphanScript("sh -c 'sleep " + lab.SleepArg(900) + "; :'")
	payload := lab.Sleeper(900)
	middle := lab.list(payload.Stat().PPID, "the shell between")
	res := lab.Sweep()
	lab.allStopped(res, []Proc{launcher, middle, payload}, By("group"), With("TERM"))
	lab.oneTree(res, launcher, middle, payload)
}

// Guards that a group is signalled by its number, not the orphan's.
func TestOrphanIsNoLeader(t *testing.T) {
	lab := newLab(t)
	orphan := lab.Orphan(lab.deadMark(), "sh", "-c", fmt.Sprintf("sleep %s & sleep %s & wait", lab.SleepArg(900), lab.SleepArg(901)))
	all := append(lab.sleepers(900, 901), orphan)
	if s := orphan.Stat(); s.PGID == orphan.PID {
		t.Fatalf("%+v", s)
	}
	lab.allStopped(lab.Sweep(), all, By("group"), With("TERM"))
}

// Guards that a group whose leader is gone is looked at by its members.
func TestLeaderIsGone(t *testing.T) {
	lab := newLab(t)
	orphan := lab.Orphan(lab.deadMark(), "sh", "-c", "while :; do sleep 0.01; done")
	pgid := orphan.Stat().PGID
	if _, ok := readStat(pgid); ok {
		t.Fatalf("the leader %d is there", pgid)
	}
	lab.Stopped(lab.Sweep(), orphan)
	for _, pid := range pids() {
		if s, ok := readStat(pid); ok && s.PGID == pgid && !s.Exited() {
			t.Errorf("of group %d: %d (%s) runs", pgid, pid, s.Comm)
		}
	}
}

// Guards what left its parent's group.
func TestChildLeftBySetsid(t *testing.T) {
	lab := newLab(t)
	orphan := lab.orphanScript(fmt.Sprintf("setsid sleep %s & sleep %s", lab.SleepArg(900), lab.SleepArg(901)))
	own, same := lab.Sleeper(900), lab.Sleeper(901)
	lab.eventually("a group of its own", func() bool { return own.Stat().PGID == own.PID })
	res := lab.Sweep()
	lab.allStopped(res, []Proc{orphan, own, same}, By("group"), With("TERM"))
	lab.oneTree(res, orphan, own, same)
}

// Guards what carries no marker: below an orphan, in a group of its own too.
func TestScrubbedDescendants(t *testing.T) {
	lab := newLab(t)
	orphan := lab.orphanScript(fmt.Sprintf("env -i setsid sh -c 'sleep %s & sleep %s; :' & wait", lab.SleepArg(900), lab.SleepArg(901)))
	below := lab.sleepers(900, 901)
	shell := lab.list(below[0].Stat().PPID, "scrubbed shell")
	if env := readEnviron(below[0].PID); slices.ContainsFunc(env, func(e string) bool { return e == lab.Mark(0) }) || shell.Stat().PGID != shell.PID {
		t.Fatalf("%q, %+v", env, shell.Stat())
	}
	res := lab.Sweep()
	lab.allStopped(res, append(below, orphan, shell), With("TERM"))
	lab.oneTree(res, orphan, append(below, shell)...)
}

// Guards what carries no marker and was adopted: only the group that the orphan
// leads shows whose it is.
func TestScrubbedAndAdoptedInTheGroup(t *testing.T) {
	lab := newLab(t)
	orphan := lab.orphanScript(fmt.Sprintf("(env -i sleep %s &)\nsleep %s", lab.SleepArg(900), lab.SleepArg(901)))
	adopted, child := lab.Sleeper(900), lab.Sleeper(901)
	lab.eventually("adopted", func() bool { return adopted.Stat().PPID == 1 })
	res := lab.Sweep()
	lab.allStopped(res, []Proc{orphan, adopted, child}, By("group"), With("TERM"))
	lab.oneTree(res, orphan, adopted, child)
}

// Guards that a tree is stopped as a whole though it spans several groups and one
// of them ignores SIGTERM.
func TestBrowser(t *testing.T) {
	lab := newLab(t)
	text := fmt.Sprintf("setsid sh -c 'trap \"\" TERM; sleep %s & sleep %s; :' & setsid sleep %s & sleep %s",
		lab.SleepArg(900), lab.SleepArg(901), lab.SleepArg(902), lab.SleepArg(903))
	driver := lab.orphanScript(text)
	all := lab.sleepers(900, 901, 902, 903)
	deaf := []Proc{all[0], all[1], lab.list(all[0].Stat().PPID, "deaf shell")}
	lab.eventually("three groups", func() bool {
		return deaf[2].Stat().PGID == deaf[2].PID && all[2].Stat().PGID == all[2].PID && all[3].Stat().PGID == driver.PID
	})
	res := lab.Sweep("--grace", "1s")
	lab.allStopped(res, deaf, By("group"), With("TERM", "KILL"))
	lab.allStopped(res, []Proc{driver, all[2], all[3]}, By("group"), With("TERM"))
	lab.oneTree(res, driver, append(all, deaf[2])...)
	if res.Exit != 0 {
		t.Errorf("status %d", res.Exit)
	}
}

// Guards live work below an orphan: it, all below it and the path above it are
// spared, through sessions; the other members are judged on their own.
func TestHostsLiveWork(t *testing.T) {
	lab := newLab(t)
	live := lab.Start(Spec{Argv: lab.Sleep(800), Leader: true, Notes: true})
	work := fmt.Sprintf("env %s setsid sh -c 'env -i sleep %s & sleep %s; :'", lab.Mark(live), lab.SleepArg(900), lab.SleepArg(901))
	host := fmt.Sprintf("env -i setsid sh -c \"%s & sleep %s; :\"", work, lab.SleepArg(902))
	orphan := lab.orphanScript(fmt.Sprintf("%s & sleep %s & env -i sleep %s", host, lab.SleepArg(903), lab.SleepArg(904)))
	below := lab.sleepers(900, 901)
	worker := lab.list(below[0].Stat().PPID, "worker")
	middle := lab.list(worker.Stat().PPID, "between")
	innocent, marked, scrubbed := lab.Sleeper(902), lab.Sleeper(903), lab.Sleeper(904)
	lab.eventually("nested sessions", func() bool { return worker.Stat().SID == worker.PID && middle.Stat().SID == middle.PID })
	res := lab.Sweep()
	lab.Stopped(res, marked, By("pid"), With("TERM"))
	for _, p := range []Proc{orphan, middle} {
		lab.Spared(res, p, "hosts-live-work")
	}
	for _, p := range append(below, worker) {
		lab.Spared(res, p, "parent-running")
	}
	for _, p := range []Proc{innocent, scrubbed, live} { // nothing proves anything of these
		lab.Untouched(res, p)
	}
	lab.Unsignalled(live)
	lab.Kill(live)
	lab.allStopped(lab.Sweep(), append(below, orphan, worker, middle, innocent, scrubbed), With("TERM"))
}

// Guards protected members of a tree, with all below them.
func TestProtectedMembers(t *testing.T) {
	lab := newLab(t)
	lab.Rules(lab.DefaultRule() + "protect: [keep/me]\n")
	dead := lab.Dead()
	orphan, members := lab.Forker(Spec{Env: []string{lab.Mark(dead)}, Leader: true, Adopted: true}, "once",
		Spec{Argv: []string{"tmux", "-c", "sleep " + lab.SleepArg(900) + " & wait"}, Exe: "/bin/sh", Notes: true},
		Spec{Argv: []string{"x/keep/me", "-c", "sleep " + lab.SleepArg(901) + " & wait"}, Exe: "/bin/sh", Env: []string{lab.Mark(dead)}, Notes: true},
		Spec{Argv: lab.Sleep(902)})
	inTmux, inKept := lab.Sleeper(900), lab.Sleeper(901)
	lab.eventually("still", func() bool { return takesNotes(inTmux) && takesNotes(inKept) })
	res := lab.Sweep()
	lab.Stopped(res, orphan, By("pid"), With("TERM"))
	lab.Stopped(res, members[2], By("pid"), With("TERM"))
	lab.LeftBehind(res, members[0], "protected")
	lab.Spared(res, members[1], "protected")
	lab.Unsignalled(members[0], members[1], inTmux, inKept)
	if res.Exit != 0 {
		t.Errorf("status %d", res.Exit)
	}
}

// Guards another user's members, while what is below them goes with the tree: the
// payload of a program that gave up its rights.
func TestOtherUsersMember(t *testing.T) {
	lab := newLab(t)
	lab.needUser(nobody)
	text := fmt.Sprintf("sleep %s & exec setpriv --reuid=%d --regid=%d --clear-groups sleep %s", lab.SleepArg(900), nobody, nobody, lab.SleepArg(901))
	orphan, members := lab.Forker(Spec{Env: lab.deadMark(), Leader: true, Adopted: true}, "once",
		Spec{Argv: []string{"sh", "-c", text}, Notes: true}, Spec{Argv: lab.Sleep(902)})
	below, theirs := lab.Sleeper(900), lab.Sleeper(901)
	if theirs.PID != members[0].PID || below.Stat().PPID != theirs.PID {
		t.Fatalf("%s below %s", below, theirs)
	}
	res := lab.Run(Run{Status: 0})
	lab.allStopped(res, []Proc{orphan, members[1], below}, By("pid"), With("TERM"))
	lab.LeftBehind(res, theirs, "other-user")
	lab.Unsignalled(theirs)
}

// Guards another user's orphan, until it is asked for.
func TestOtherUsersOrphan(t *testing.T) {
	lab := newLab(t)
	theirs := lab.Start(Spec{Argv: lab.Sleep(900), Env: lab.deadMark(), UID: nobody, Leader: true, Adopted: true, Notes: true})
	lab.Spared(lab.Run(Run{Status: 0}), theirs, "other-user")
	lab.Unsignalled(theirs)
	lab.Stopped(lab.Run(Run{Args: []string{"--all-users"}, Status: 0}), theirs, With("TERM"))
}

// Guards that the sweep of one user stops what is its own, and leaves root's below it.
func TestRootsMemberOfAUsersTree(t *testing.T) {
	lab := newLab(t)
	orphan := lab.Start(Spec{Argv: []string{"sh", "-c", "sleep " + lab.SleepArg(900) + "; :"}, Env: lab.deadMark(), UID: nobody, Leader: true, Adopted: true})
	child := lab.Sleeper(900)
	roots := lab.OrphanLeader(lab.deadMark(), lab.Sleep(901)...)
	res := lab.Run(Run{UID: nobody})
	lab.allStopped(res, []Proc{orphan, child}, By("group"), With("TERM"))
	if !roots.Running() {
		t.Errorf("%s: %s", roots, res.fate(roots))
	}
	all := lab.Sweep("--all-users")
	lab.Stopped(all, roots, With("TERM"))
}
