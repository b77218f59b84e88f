//go:build linux

package test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The commands about one process that a person or a script names.

// ask runs a command about a process and demands its status.
func (l *Lab) ask(status int, command string, args ...string) Result {
	l.t.Helper()
	return l.Run(Run{Command: command, Args: args, Status: status})
}

// stop runs reaper stop with a document.
func (l *Lab) stop(status int, r Run) Result {
	l.t.Helper()
	r.Command, r.Status = "stop", status
	r.Args = append([]string{"--json", "--grace", "10s", "--confirm", "10s"}, r.Args...)
	res := l.Run(r)
	l.decode(&res)
	return res
}

func (p Proc) identity() string { return fmt.Sprintf("%d@%d", p.PID, p.Start) }

// holder is the process that holds the pid, which is none of the lab's.
func holder(pid int) Proc {
	s, _ := readStat(pid)
	return Proc{PID: pid, Start: s.Start, What: s.Comm}
}

// One predicate for programs, fixtures and the sweep: a zombie has exited, a
// leader with live threads has not, a thread is no process.
func TestAliveAndID(t *testing.T) {
	lab := newLab(t)
	live, dead := lab.Live(), lab.Dead()
	_, zombie := lab.Zombie()
	_, tid := lab.Thread()
	leader := lab.Role(nil, "threadleader")
	other := live
	other.Start++
	for what, c := range map[string]struct {
		process string
		alive   int
	}{
		"a live process":                    {itoa(live.PID), 0},
		"by its identity":                   {live.identity(), 0},
		"another start":                     {other.identity(), 1},
		"a pid that nothing holds":          {itoa(dead), 1},
		"a number that no process can have": {"4194305", 1},
		"a zombie":                          {itoa(zombie.PID), 1},
		"a zombie by its identity":          {zombie.identity(), 1},
		"a thread":                          {itoa(tid), 1},
		"a leader that has exited, with live threads": {leader.identity(), 0},
		"pid 1":          {"1", 0},
		"no pid":         {"self", 2},
		"a group":        {"-- -1", 2},
		"an empty start": {itoa(live.PID) + "@", 2},
	} {
		res := lab.ask(c.alive, "alive", strings.Fields(c.process)...)
		if res.Stdout != "" || (res.Stderr == "") != (c.alive != 2) {
			t.Errorf("%s: %q, %q", what, res.Stdout, res.Stderr)
		}
		if strings.Contains(c.process, "@") || c.alive == 2 {
			continue
		}
		if res := lab.ask(c.alive, "id", c.process); (c.alive == 0) != strings.HasPrefix(res.Stdout, c.process+"@") {
			t.Errorf("%s: %q, %q", what, res.Stdout, res.Stderr)
		}
	}
	if res := lab.ask(0, "id", itoa(live.PID)); res.Stdout != live.identity()+"\n" || res.Stderr != "" {
		t.Errorf("%q instead of %s", res.Stdout, live.identity())
	}
	lab.saysErrors(lab.ask(1, "id", itoa(dead)), "is not running")
	lab.ask(2, "id", live.identity())
}

// Where hidepid keeps the start, whether PID@START runs cannot be told, nor what it is.
func TestAliveCannotTell(t *testing.T) {
	lab := newLab(t)
	lab.needUser(nobody)
	live := lab.Live()
	via := lab.hiding("invisible")
	for status, args := range map[int][]string{0: {"alive", itoa(live.PID)}, 4: {"alive", live.identity()}} {
		if res := lab.through(via, Run{Command: args[0], Args: args[1:], UID: 0}); res.Exit != status {
			t.Errorf("%v: status %d, %s", args, res.Exit, res.Stderr)
		}
	}
}

// A process that a live run owns, with what it started: asked for, it goes.
func TestStopOneTree(t *testing.T) {
	lab := newLab(t)
	mark := []string{lab.Mark(lab.Live()), "REAPER_PARENT_PID=" + itoa(os.Getpid())}
	p := lab.Child(mark, "sh", "-c", lab.shell(`setsid SLEEP901 & SLEEP902; :`))
	below := lab.sleepers(901, 902)
	beside := lab.Child(mark, lab.Sleep(903)...)
	orphan := lab.OrphanLeader([]string{"REAPER_PARENT_PID=" + itoa(lab.Dead())}, lab.Sleep(904)...)
	res := lab.stop(0, Run{Args: []string{p.identity()}})
	lab.oneTree(res, p, below...)
	lab.Stopped(res, p, Through("named"), With("TERM"))
	lab.allStopped(res, below)
	for _, other := range []Proc{beside, orphan} {
		lab.Untouched(res, other)
	}
	if res := lab.stop(0, Run{Args: []string{p.identity()}}); len(res.Doc.Orphans) > 0 {
		t.Errorf("again: %s", res.Stdout)
	}
}

// Guards live work: what somebody else's run has below the process stays, and the
// path to it.
func TestStopSparesLiveWork(t *testing.T) {
	lab := newLab(t)
	lab.Rules(lab.DefaultRule())
	host, below := lab.Forker(Spec{Leader: true}, "once", Spec{Argv: lab.Sleep(901), Env: []string{lab.Mark(lab.Live())}, Notes: true})
	res := lab.stop(3, Run{Args: []string{"--rules", lab.rules, itoa(host.PID)}})
	lab.Spared(res, host, "hosts-live-work")
	lab.Spared(res, below[0], "parent-running")
	lab.Unsignalled(below...)
	lab.mentions(res.Doc.Refused, host.identity(), "hosts-live-work")
}

// Guards a look before the leap: stop --dry-run names the same processes as the
// stop after it, and signals none.
func TestStopDryRun(t *testing.T) {
	lab := newLab(t)
	host, below := lab.Forker(Spec{Leader: true}, "once", Spec{Argv: lab.Sleep(901), Notes: true})
	plan := lab.stop(0, Run{Args: []string{"--dry-run", itoa(host.PID)}})
	lab.WouldStop(plan, host)
	lab.WouldStop(plan, below[0])
	lab.Unsignalled(below...)
	if !plan.Doc.DryRun || !host.Running() || plan.Doc.Totals.Processes != 2 {
		t.Errorf("dry run %t, %s, %+v", plan.Doc.DryRun, host.State(), plan.Doc.Totals)
	}
	res := lab.stop(0, Run{Args: []string{itoa(host.PID)}})
	lab.Stopped(res, host)
	lab.Stopped(res, below[0])
	lab.stop(0, Run{Args: []string{"--dry-run", host.identity()}})
}

// Guards those that are never touched, however plainly they are asked for.
func TestStopRefuses(t *testing.T) {
	lab := newLab(t)
	lab.Rules(lab.DefaultRule() + "protect: [my-server]\n")
	server := lab.Start(Spec{Argv: []string{"my-server"}, Role: "idle", Leader: true})
	tmux := lab.Start(Spec{Argv: []string{"tmux"}, Role: "idle", Leader: true})
	for _, c := range []struct {
		p      Proc
		reason string
		args   []string
	}{
		{server, "protected", []string{"--rules", lab.rules}},
		{tmux, "protected", nil},
		{holder(1), "protected", nil},
		{holder(os.Getpid()), "sweeper", nil},
	} {
		res := lab.stop(3, Run{Args: append(c.args, itoa(c.p.PID))})
		lab.Spared(res, c.p, c.reason)
		res = lab.stop(3, Run{Args: append(c.args, "--dry-run", itoa(c.p.PID))})
		lab.Spared(res, c.p, c.reason)
		lab.mentions(res.Doc.Refused, "would not be stopped: "+c.reason)
	}
	text := lab.through([]string{"sh", "-c", `"$@"; exit $?`, "sh"}, Run{Command: "stop", Args: []string{itoa(tmux.PID)}, Status: 3})
	lab.mentions(text.Stdout, tmux.identity()+" was not stopped: protected", "nothing was stopped")
}

// Guards users from each other: root may stop anybody's process that is named.
func TestStopOtherUsers(t *testing.T) {
	lab := newLab(t)
	lab.needUser(nobody)
	roots := lab.Start(Spec{Argv: lab.Sleep(901), Leader: true, Notes: true})
	lab.Spared(lab.stop(3, Run{UID: nobody, Args: []string{itoa(roots.PID)}}), roots, "other-user")
	lab.Unsignalled(roots)
	theirs := lab.Start(Spec{Argv: lab.Sleep(902), UID: nobody, Leader: true})
	lab.Stopped(lab.stop(0, Run{Args: []string{itoa(theirs.PID)}}), theirs)
}

// Guards the word stopped.
func TestStopUnconfirmed(t *testing.T) {
	lab := newLab(t)
	p := lab.OrphanLeader(nil, lab.Sleep(901)...)
	release := lab.Unkillable(p)
	res := lab.stop(3, Run{Args: []string{"--grace", "100ms", "--confirm", "100ms", itoa(p.PID)}})
	lab.Ended(res, p, "stop-unconfirmed")
	release()
	lab.AwaitExit(p)
}

// An identity that is not there any more is done; its pid's new holder is not meant.
func TestStopWhatHasExited(t *testing.T) {
	lab := newLab(t)
	p := lab.Start(Spec{Argv: lab.Sleep(901), Leader: true, Notes: true})
	other := p
	other.Start++
	_, zombie := lab.Zombie()
	for _, process := range []string{other.identity(), itoa(lab.Dead()), zombie.identity()} {
		res := lab.ask(0, "stop", process)
		lab.mentions(res.Stdout, "is not running")
	}
	lab.Unsignalled(p)
	lab.saysErrors(lab.ask(2, "stop", "everything"), "no process")
	lab.saysErrors(lab.ask(2, "stop", "--grace=-1s", itoa(p.PID)), "is negative")
}
