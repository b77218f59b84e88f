//go:build linux

package test

import (
	"fmt"
	"testing"
)

// What happens to processes at a chosen moment of a sweep.

// joiner is an innocent process in the tests' own session, and what has it join a
// group of that session once, or for ever in and out.
func (l *Lab) joiner() (p Proc, order func(word string, group Proc)) {
	l.t.Helper()
	orders, said := l.fifo(), l.fifo()
	p = l.Start(Spec{Role: "joiner", Args: []string{orders.path, said.path}, Notes: true})
	return p, func(word string, group Proc) {
		l.t.Helper()
		l.tell(orders, fmt.Sprint(word, " ", group.PID))
		l.line(said, word)
	}
}

// Guards a bystander of an orphan's session that joins the orphan's group right
// before the signal: no reading has shown it there.
func TestBystanderJoinsTheGroupBeforeTheSignal(t *testing.T) {
	for name, signal := range map[string]int{"TERM": 15, "KILL": 9} {
		t.Run(name, func(t *testing.T) {
			lab := newLab(t)
			bystander, order := lab.joiner()
			orphan := lab.Start(Spec{Argv: lab.Sleep(900), Env: lab.deadMark(), Group: true, Deaf: signal == 9})
			sweep := lab.Step(Run{Args: []string{"--grace", "300ms"}})
			sweep.Until("the signal", sends(signal))
			order("in", orphan)
			if s := bystander.Stat(); s.PGID != orphan.PID {
				t.Fatalf("%+v", s)
			}
			lab.Stopped(sweep.Finish(), orphan, By("pid"))
			lab.Unsignalled(bystander)
		})
	}
}

// Guards the same without a choice of the moment: it is in the group and out of
// it all the time.
func TestBystanderInAndOutOfTheGroup(t *testing.T) {
	lab := newLab(t)
	bystander, order := lab.joiner()
	for range 40 {
		orphan := lab.Start(Spec{Argv: lab.Sleep(900), Env: lab.deadMark(), Group: true})
		order("flip", orphan)
		lab.Stopped(lab.Sweep(), orphan, By("pid"))
		if lab.Unsignalled(bystander); t.Failed() {
			return
		}
	}
}

// Guards a dry run: what exits, or becomes another, while it is judged is not
// promised. A run that ends takes its children along, and who has read them before
// it asks for the run finds them orphaned.
func TestDryRunLooksAgain(t *testing.T) {
	lab := newLab(t)
	run := lab.Live()
	child := lab.OrphanLeader([]string{lab.Mark(run)}, lab.Sleep(900)...)
	left := lab.OrphanLeader([]string{lab.Mark(run)}, lab.Sleep(901)...)
	head, below := lab.Forker(Spec{Env: []string{lab.Mark(run)}, Leader: true, Adopted: true}, "once", Spec{Argv: lab.Sleep(902), Leader: true})
	becomes, change := lab.Reexec(Spec{Env: []string{lab.Mark(run)}, Leader: true, Adopted: true},
		Spec{Role: "idle", Argv: []string{"lab-reexec"}, Env: []string{lab.Mark(lab.Live())}})
	check := func(meanwhile func(), status int) Result {
		sweep := lab.Step(Run{Args: []string{"--check"}})
		sweep.Until("whether the run is there", opens(run))
		meanwhile()
		res := sweep.Finish()
		if res.Exit != status {
			t.Errorf("status %d: %s", res.Exit, res.Stdout)
		}
		return res
	}
	res := check(func() {
		lab.Kill(child)
		lab.Kill(head)
		lab.Kill(run)
	}, 1)
	for _, p := range []Proc{child, head} {
		if _, m := res.member(p); m != nil || len(res.spared(p)) > 0 {
			t.Errorf("%s", res.fate(p))
		}
	}
	lab.WouldStop(res, left)
	lab.WouldStop(res, becomes)
	lab.Untouched(res, below[0]) // a sweep begun now would not know whose it was
	res = check(change, 1)
	lab.WouldStop(res, left)
	lab.Spared(res, becomes, "parent-running")
	check(func() { lab.Kill(left) }, 0)
}

// moments are points of a sweep, in its order, and what is said of an orphan whose
// pid a stranger gets right there: "" nothing.
var moments = []struct {
	name    string
	reach   func(s *Stepped, orphan Proc)
	outcome string
}{
	{"before the table is listed", func(s *Stepped, _ Proc) { s.Until("listing", lists) }, ""},
	{"between the environments and the rest", func(s *Stepped, _ Proc) {
		s.Until("listing", lists)
		s.Until("the end of the list", lists)
		s.Until("listing again", lists)
	}, ""},
	{"before its handle", func(s *Stepped, orphan Proc) { s.Until("its handle", opens(orphan)) }, "recycled"},
	{"before it is verified", func(s *Stepped, orphan Proc) {
		s.Until("its handle", opens(orphan))
		s.Until("listing again", lists)
	}, "vanished"},
	{"before SIGTERM", func(s *Stepped, _ Proc) { s.Until("SIGTERM", sends(15)) }, "vanished"},
	{"during its grace", func(s *Stepped, _ Proc) {
		s.Until("SIGTERM", sends(15))
		s.Until("the wait", waits)
	}, "stopped"},
	{"before SIGKILL", func(s *Stepped, _ Proc) { s.Until("SIGKILL", sends(9)) }, "stopped"},
}

// Guards strangers: at whatever point of a sweep one gets the pid of an orphan
// that has exited, nothing reaches it, and what is said is true.
func TestStrangerTakesThePIDAtAnyPoint(t *testing.T) {
	for _, at := range moments {
		t.Run(at.name, func(t *testing.T) {
			lab := newSerialLab(t)
			orphan := lab.Start(Spec{Argv: lab.Sleep(900), Env: lab.deadMark(), Leader: true, Adopted: true, Deaf: true})
			other := lab.OrphanLeader(lab.deadMark(), lab.Sleep(901)...)
			sweep := lab.Step(Run{Args: []string{"--grace", "1s"}})
			at.reach(sweep, orphan)
			lab.Kill(orphan)
			stranger := lab.Recycle(orphan.PID, Spec{Argv: lab.Sleep(902), Leader: true, Notes: true})
			res := sweep.Finish()
			lab.Unsignalled(stranger)
			lab.Stopped(res, other, With("TERM"))
			if _, m := res.member(orphan); at.outcome == "" && m != nil {
				t.Errorf("%s", res.fate(orphan))
			} else if at.outcome != "" {
				lab.Ended(res, orphan, at.outcome)
			}
			if res.Exit != 0 {
				t.Errorf("status %d", res.Exit)
			}
		})
	}
}

// Guards the same of a process group whose leader is gone: its number is free with
// its last member. Between the last look at that member and kill(2), some
// microseconds, nobody could tell.
func TestStrangerTakesTheGroupAtAnyPoint(t *testing.T) {
	for _, at := range moments {
		if at.name == "before SIGTERM" || at.name == "before SIGKILL" {
			continue
		}
		t.Run(at.name, func(t *testing.T) {
			lab := newSerialLab(t)
			orphan := lab.Start(Spec{Argv: lab.Sleep(900), Env: lab.deadMark(), Adopted: true, Deaf: true})
			group := orphan.Stat().PGID
			sweep := lab.Step(Run{Args: []string{"--grace", "1s"}})
			at.reach(sweep, orphan)
			lab.Kill(orphan)
			stranger := lab.Recycle(group, Spec{Argv: lab.Sleep(902), Leader: true, Notes: true})
			res := sweep.Finish()
			lab.Unsignalled(stranger)
			if res.Exit != 0 {
				t.Errorf("status %d", res.Exit)
			}
		})
	}
}

// Guards the reason: what loses it between the plan and the signal is spared.
func TestReasonIsLostBeforeTheSignal(t *testing.T) {
	swept := func(lab *Lab, p Proc, lose func()) Result {
		sweep := lab.Step(Run{})
		sweep.Until("its handle", opens(p))
		lose()
		res := sweep.Finish()
		lab.Unsignalled(p)
		return res
	}
	t.Run("it becomes another", func(t *testing.T) {
		lab := newLab(t)
		p, change := lab.Reexec(Spec{Env: lab.deadMark(), Leader: true, Adopted: true, Notes: true},
			Spec{Argv: lab.Sleep(900), Env: []string{lab.Mark(lab.Live())}})
		lab.Spared(swept(lab, p, change), p, "parent-running")
	})
	t.Run("it drops its marker", func(t *testing.T) {
		lab := newLab(t)
		p, change := lab.Reexec(Spec{Env: lab.deadMark(), Leader: true, Adopted: true, Notes: true}, Spec{Argv: lab.Sleep(900)})
		lab.Ended(swept(lab, p, change), p, "changed", With())
	})
	t.Run("the number that it follows is taken", func(t *testing.T) {
		lab := newSerialLab(t)
		parent := lab.Live()
		p := lab.Start(Spec{Argv: lab.Sleep(900), Env: []string{lab.Mark(parent)}, Leader: true, Adopted: true, Notes: true})
		lab.Kill(parent)
		lab.Spared(swept(lab, p, func() { lab.Recycle(parent.PID, Spec{Argv: lab.Sleep(901), Leader: true}) }), p, "possibly-recycled")
	})
}
