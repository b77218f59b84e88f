//go:build linux

package test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// What is born while a sweep waits.

// commands are the members with these arguments, whatever their pids.
func (res Result) commands(argv []string) []Member {
	var found []Member
	for _, m := range res.Doc.members() {
		if slices.Equal(m.Command, argv) {
			found = append(found, m)
		}
	}
	return found
}

// caught demands that processes with these arguments were born, found and stopped.
func (l *Lab) caught(res Result, argv []string) {
	l.t.Helper()
	found := res.commands(argv)
	if len(found) == 0 || slices.ContainsFunc(found, func(m Member) bool { return m.Outcome != "stopped" }) {
		l.t.Errorf("%v: %+v", argv, found)
	}
	if left := l.search(argv); len(left) > 0 {
		l.t.Errorf("%v runs: %v\n%s", argv, left, res.Stdout)
	}
}

// Guards helpers that a SIGTERM handler starts: a detached one that carries the
// marker, and one without, which is in the group that the orphan led.
func TestHandlerStartsHelpers(t *testing.T) {
	lab := newLab(t)
	mark := lab.deadMark()
	orphan := lab.Start(Spec{Role: "forker", Args: []string{"onterm", lab.launches(
		Spec{Argv: lab.Sleep(900), Env: mark, Leader: true}, Spec{Argv: lab.Sleep(901)})}, Env: mark, Leader: true, Adopted: true})
	res := lab.Run(Run{Args: []string{"--grace", "60s"}, Status: 0})
	lab.Stopped(res, orphan, With("TERM"))
	lab.caught(res, lab.Sleep(900))
	lab.caught(res, lab.Sleep(901))
}

// Guards what is born between SIGTERM and SIGKILL and ignores SIGTERM like its parent.
func TestBornBetweenTheSignals(t *testing.T) {
	lab := newLab(t)
	text := fmt.Sprintf(`trap '(trap "" TERM; exec sleep %s) &' TERM; sleep %s & while :; do wait; done`, lab.SleepArg(901), lab.SleepArg(900))
	orphan := lab.OrphanLeader(lab.deadMark(), "sh", "-c", text)
	child := lab.Sleeper(900)
	res := lab.Run(Run{Args: []string{"--grace", "2s"}, Status: 0})
	lab.Stopped(res, child, With("TERM"))
	lab.Stopped(res, orphan, With("TERM", "KILL"))
	lab.caught(res, lab.Sleep(901))
	for _, m := range res.commands(lab.Sleep(901)) {
		if !slices.Contains(m.Signals, "KILL") {
			t.Errorf("%v of %d", m.Signals, m.PID)
		}
	}
}

// Guards a wrapper in the tree that starts its child again each time: SIGKILL
// reaches it together with the last child.
func TestRespawningWrapper(t *testing.T) {
	lab := newLab(t)
	text := fmt.Sprintf(`trap : TERM; while :; do setsid sh -c "exec sleep %s"; done`, lab.SleepArg(900))
	wrapper := lab.OrphanLeader(lab.deadMark(), "sh", "-c", text)
	first := lab.Sleeper(900)
	res := lab.Run(Run{Args: []string{"--grace", "1s"}, Status: 0})
	lab.Stopped(res, first, With("TERM"))
	lab.Stopped(res, wrapper, With("TERM", "KILL"))
	lab.caught(res, lab.Sleep(900))
}

// Guards those outside who start the orphan again: they are named and not
// touched, nor is the new process, and the sweep does not call it done.
func TestStartedAgainFromOutside(t *testing.T) {
	lab := newLab(t)
	keeper, first := lab.Forker(Spec{Leader: true, Notes: true}, "respawn", Spec{Argv: lab.Sleep(900), Env: lab.deadMark(), Leader: true})
	other := lab.OrphanLeader(lab.deadMark(), lab.Sleep(901)...)
	res := lab.Run(Run{Args: []string{"--grace", "60s"}, Status: 3})
	lab.Stopped(res, first[0], With("TERM"))
	lab.Stopped(res, other, With("TERM"))
	lab.Unsignalled(keeper)
	again := lab.Sleeper(900)
	lab.Ended(res, again, "stop-unconfirmed", With(), Saying("started again by", itoa(keeper.PID)))
	lab.Unsignalled(again)
	found := res.commands(lab.Sleep(900))
	if others := slices.DeleteFunc(found, func(m Member) bool { return m.Outcome == "stopped" }); len(others) != 1 {
		t.Errorf("%+v", others) // of those that were born in the tick of the first signal none can tell
	}
}

// Guards against what starts others faster than it is looked at: the sweep ends,
// and what it leaves it names.
func TestForkStorm(t *testing.T) {
	lab := newLab(t)
	text := fmt.Sprintf(`trap "" TERM; n=0; while [ $n -lt 300 ]; do n=$((n+1)); setsid sleep %s & sleep 0.02; done; wait`, lab.SleepArg(900))
	storm := lab.OrphanLeader(lab.deadMark(), "sh", "-c", text)
	lab.eventually("a storm", func() bool { return len(lab.search(lab.Sleep(900))) >= 3 })
	res := lab.Sweep("--grace", "1s")
	lab.truthful(res, lab.Sleep(900))
	lab.Stopped(res, storm, With("TERM", "KILL"))
	if res.Exit == 0 {
		return
	}
	t.Logf("status %d, left %d", res.Exit, len(lab.search(lab.Sleep(900))))
	again := lab.Run(Run{Args: []string{"--grace", "1s"}, Status: 0})
	lab.truthful(again, lab.Sleep(900))
}

// truthful demands that what runs of these is in the document as not stopped, and
// that the status tells.
func (l *Lab) truthful(res Result, argv []string) {
	l.t.Helper()
	left := l.search(argv)
	for _, pid := range left {
		s, _ := readStat(pid)
		p := Proc{PID: pid, Start: s.Start, What: strings.Join(argv, " ")}
		if _, m := res.member(p); p.Running() && (m == nil || m.Outcome != "stop-unconfirmed") {
			l.t.Errorf("%s runs: %s", p, res.fate(p))
		}
	}
	if (len(left) > 0) != (res.Exit == 3) {
		l.t.Errorf("status %d with %d left", res.Exit, len(left))
	}
}

// Guards the same without a pause between births, and without a marker on what
// is born: all of it hangs below the orphan.
func TestForkStormWithoutMarkers(t *testing.T) {
	lab := newLab(t)
	text := fmt.Sprintf(`n=0; while [ $n -lt 200 ]; do n=$((n+1)); env -i sleep %s & done; wait`, lab.SleepArg(900))
	storm := lab.OrphanLeader(lab.deadMark(), "sh", "-c", text)
	lab.eventually("a storm", func() bool { return len(lab.search(lab.Sleep(900))) >= 3 })
	res := lab.Sweep("--grace", "60s")
	lab.Stopped(res, storm, With("TERM"))
	lab.truthful(res, lab.Sleep(900))
}

// Guards against a process that is another one each time it is looked at, and
// ignores SIGTERM: the marker and the session stay, so SIGKILL finds it in the end.
func TestChangesItsPID(t *testing.T) {
	lab := newLab(t)
	text := fmt.Sprintf(`trap "" TERM; next() { sleep 0.01; next & exit; }; next # %s`, lab.Tag)
	argv := []string{"sh", "-c", text}
	lab.OrphanLeader(lab.deadMark(), argv...)
	lab.eventually("another pid", func() bool {
		found := lab.search(argv)
		return len(found) > 0 && !slices.ContainsFunc(found, func(pid int) bool { s, _ := readStat(pid); return s.PGID == pid })
	})
	for try := 0; len(lab.search(argv)) > 0; try++ {
		if try == 10 { // a busy machine may be too slow for it
			t.Fatal("it runs on")
		}
		lab.Sweep("--grace", "100ms")
	}
}
