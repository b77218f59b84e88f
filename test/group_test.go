//go:build linux

package test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// What shares a group with an orphan and does not go with it, and where the
// sweep itself may stand.

// Guards innocent members of an orphan's group: it is signalled by its pid.
func TestInnocentsInTheGroup(t *testing.T) {
	lab := newLab(t)
	parent, members := lab.Forker(Spec{Leader: true, Notes: true}, "once",
		Spec{Argv: lab.Sleep(900)}, Spec{Argv: lab.Sleep(901), Env: lab.deadMark()})
	if s := members[1].Stat(); s.PGID != parent.PID {
		t.Fatalf("%+v", s)
	}
	res := lab.Sweep()
	lab.Stopped(res, members[1], By("pid"), With("TERM"))
	lab.Untouched(res, parent)
	lab.Untouched(res, members[0])
	lab.Unsignalled(parent, members[0])
}

// Guards the b of `a | b` in a job-control shell: it is in the group that the
// orphan a leads, and its parent is the live shell.
func TestPipelineOfAJobControlShell(t *testing.T) {
	lab := newLab(t)
	text := fmt.Sprintf("set -m; env %s sleep %s | sleep %s & wait", lab.deadMark()[0], lab.SleepArg(900), lab.SleepArg(901))
	shell := lab.Start(Spec{Argv: []string{"bash", "-c", text}, Leader: true, Notes: true})
	a, b := lab.Sleeper(900), lab.Sleeper(901)
	if s := b.Stat(); s.PGID != a.PID || s.PPID != shell.PID {
		t.Fatalf("%+v", s)
	}
	res := lab.Sweep()
	lab.Stopped(res, a, By("pid"), With("TERM"))
	lab.Untouched(res, b)
	lab.Untouched(res, shell)
	lab.Unsignalled(b)
}

// Guards the script around a runner that died of SIGPIPE and left its worker in
// the script's group.
func TestPipelineReaderWentAway(t *testing.T) {
	lab := newLab(t)
	runner := fmt.Sprintf("%s=$$ sleep %s & while :; do echo x; done", lab.Parent, lab.SleepArg(900))
	script := lab.Live("sh", "-c", fmt.Sprintf("sh -c '%s' | head -1 >/dev/null; sleep %s; :", runner, lab.SleepArg(901)))
	worker, next := lab.Sleeper(900), lab.Sleeper(901)
	if s := worker.Stat(); s.PGID != script.PID || s.PPID != 1 {
		t.Fatalf("%+v", s)
	}
	res := lab.Sweep()
	lab.Stopped(res, worker, By("pid"), With("TERM"), Through("follows"))
	lab.Untouched(res, script)
	lab.Untouched(res, next)
}

// sweptBy runs a sweep from a shell command line, SWEEP in which stands for it,
// and waits for its document.
func (l *Lab) sweptBy(s Spec, text string) (Proc, Result) {
	l.t.Helper()
	out, errs, status := l.path("stdout"), l.path("stderr"), l.path("status")
	argv := l.Argv(Run{})
	sweep := fmt.Sprintf("{ %s >%s 2>%s; echo $? >%s; }", strings.Join(argv, " "), out, errs, status)
	s.Argv = []string{"sh", "-c", strings.ReplaceAll(text, "SWEEP", sweep)}
	s.Env = append(s.Env, quickExit)
	p := l.Start(s)
	var said string
	l.eventually("the end of the sweep", func() bool {
		raw, _ := os.ReadFile(status)
		said = string(raw)
		return strings.HasSuffix(said, "\n")
	})
	exit, err := strconv.Atoi(strings.TrimSpace(said))
	l.must(err)
	res := l.Collect(out, errs, exit, argv[2:])
	l.decode(&res)
	return p, res
}

// Guards the sweep itself and its ancestors: started from within an orphan, it
// stops what else is there, and no group that it is in.
func TestSweepBelowAnOrphan(t *testing.T) {
	lab := newLab(t)
	text := fmt.Sprintf("sleep %s & setsid sleep %s & SWEEP; exec sleep %s", lab.SleepArg(900), lab.SleepArg(901), lab.SleepArg(902))
	orphan, res := lab.sweptBy(Spec{Env: lab.deadMark(), Leader: true, Adopted: true}, text)
	for _, m := range []int{900, 901} {
		if found := lab.search(lab.Sleep(m)); len(found) > 0 {
			t.Errorf("%v run %s", found, lab.SleepArg(m))
		}
	}
	if res.Doc.Totals.Stopped != 2 || res.Exit != 0 {
		t.Errorf("status %d, %s", res.Exit, res.Stdout)
	}
	for _, m := range res.Doc.members() {
		if m.PGID == orphan.PID && m.By != "pid" {
			t.Errorf("%d by %s", m.PID, m.By)
		}
	}
	lab.Spared(res, orphan, "sweeper")
	lab.Sleeper(902)
	lab.Stopped(lab.Sweep(), orphan, By("group"), With("TERM"))
}

// Guards the sweeper's own group, here the one that the orphan leads: the members
// go by their pids, and the sweep lives to tell.
func TestSweepInTheOrphansGroup(t *testing.T) {
	lab := newLab(t)
	orphan, res := lab.sweptBy(Spec{Env: lab.deadMark(), Leader: true, Adopted: true},
		fmt.Sprintf("(SWEEP &)\nsleep %s; :", lab.SleepArg(900)))
	lab.Stopped(res, orphan, By("pid"))
	_, m := res.member(orphan)
	if m == nil || m.PGID != orphan.PID || res.Exit != 0 || len(lab.search(lab.Sleep(900))) > 0 {
		t.Errorf("status %d, %s", res.Exit, res.Stdout)
	}
}

// Guards the rest of the sweep's own pipeline, in a script that is an orphan: it
// shares the script's group, and would take the report with it.
func TestSweepsOwnPipeline(t *testing.T) {
	lab := newLab(t)
	report, copied, errs := lab.path("report"), lab.path("copy"), lab.path("stderr")
	sweep := strings.Join(lab.Argv(Run{}), " ")
	orphan := lab.Start(Spec{Argv: []string{"sh", "-c", fmt.Sprintf("sleep %s & %s 2>%s | tee %s | cat >%s; sleep %s",
		lab.SleepArg(900), sweep, errs, report, copied, lab.SleepArg(901))}, Env: append(lab.deadMark(), quickExit), Leader: true, Adopted: true})
	after := lab.Sleeper(901)
	lab.eventually("copy of the report", func() bool {
		whole, err := os.ReadFile(report)
		again, _ := os.ReadFile(copied)
		return err == nil && len(whole) > 0 && string(again) == string(whole)
	})
	res := lab.Collect(copied, errs, 0, nil)
	lab.decode(&res)
	if left := lab.search(lab.Sleep(900)); len(left) > 0 || !orphan.Running() || !after.Running() {
		t.Errorf("%v, %s, %s: %s", left, orphan.State(), after.State(), res.Stdout)
	}
	kept := 0
	for _, s := range res.Doc.Spared {
		if s.Reason == "sweeper" && (s.Command[0] == "tee" || s.Command[0] == "cat") {
			kept++
		}
	}
	if kept != 2 {
		t.Errorf("%d of the pipeline are spared: %s", kept, res.Stdout)
	}
}

// Guards other sweeps, as orphans and as members.
func TestOtherSweepsAreSpared(t *testing.T) {
	lab := newLab(t)
	mark := lab.deadMark()
	argv := []string{"/usr/local/bin/reaper", "sweep", "--json"}
	own := lab.Start(Spec{Role: "idle", Argv: argv, Env: mark, Leader: true, Adopted: true, Notes: true})
	waits := lab.File("sweep", "read x <"+lab.fifo().path+"\n")
	lab.must(linkInto(lab.Dir, "sweep", waits))
	orphan, members := lab.Forker(Spec{Env: mark, Leader: true, Adopted: true}, "once",
		Spec{Exe: "/bin/sh", Dir: lab.Dir, Argv: []string{"reaper", "sweep"}, Notes: true},
		Spec{Exe: "/bin/sh", Dir: lab.Dir, Argv: []string{"reaper", "sweep"}, Env: mark, Notes: true},
		Spec{Argv: lab.Sleep(901)})
	res := lab.Sweep()
	lab.allStopped(res, []Proc{orphan, members[2]}, By("pid"), With("TERM"))
	lab.LeftBehind(res, members[0], "sweeper")
	lab.Spared(res, members[1], "sweeper")
	lab.Spared(res, own, "sweeper")
	lab.Unsignalled(own, members[0], members[1])
}

// Guards who opted out: what an orphan forked twice is in its group still, and
// stays where its variable was emptied; with the orphan's own it goes.
func TestGroupMemberThatOptedOut(t *testing.T) {
	lab := newLab(t)
	orphan := lab.orphanScript(fmt.Sprintf("(%s sleep %s &) ; (sleep %s &) ; exec sleep %s", lab.Mark(""), lab.SleepArg(901), lab.SleepArg(902), lab.SleepArg(903)))
	out, in := lab.Sleeper(901), lab.Sleeper(902)
	lab.Sleeper(903)
	res := lab.Sweep()
	lab.Stopped(res, orphan)
	lab.Stopped(res, in)
	lab.LeftBehind(res, out, "undecided")
	if !out.Running() {
		t.Error("the one that opted out was stopped")
	}
}
