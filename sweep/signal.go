package sweep

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"reaper/match"
	"reaper/platform"
)

// This file is the only one that sends signals. A signal goes to a target that
// was verified through its open handle in the reading just made; to a whole
// group only where that reading has no other live member in it.

var signalNames = map[syscall.Signal]string{syscall.SIGTERM: "TERM", syscall.SIGCONT: "CONT", syscall.SIGKILL: "KILL"}

// terminate sends SIGTERM to every verified target that has had no signal, in
// one pass over all trees, then SIGCONT to those that are stopped, and says
// whether there were any.
func (e *stopper) terminate() bool {
	due := e.due(func(t *target) bool { return len(t.signals) == 0 && e.beforeGraceEnd(t) })
	if len(due) > 0 {
		e.send(syscall.SIGTERM, due)
	}
	for _, t := range e.due(func(t *target) bool { return t.row.Stopped() && slices.Contains(t.signals, "TERM") }) {
		if !slices.Contains(t.signals, "CONT") && !slices.Contains(t.signals, "KILL") {
			e.one(syscall.SIGCONT, t)
		}
	}
	return len(due) > 0
}

func (e *stopper) beforeGraceEnd(t *target) bool {
	return e.first.IsZero() || e.s.m.Now().Before(e.graceEnd(t))
}

func (e *stopper) overdue(t *target) bool { return !e.beforeGraceEnd(t) }

// kill sends SIGKILL to every verified target of the trees whose grace is over,
// and says whether there were any.
func (e *stopper) kill() bool {
	due := e.due(func(t *target) bool {
		return e.overdue(t) && !slices.Contains(t.signals, "KILL")
	})
	if len(due) == 0 {
		return false
	}
	e.send(syscall.SIGKILL, due)
	now := e.s.m.Now()
	for _, t := range due {
		e.killed[t] = now
		if _, ok := e.kills[t.tree]; !ok {
			e.kills[t.tree] = now
		}
	}
	return true
}

// due returns the verified targets that the condition holds for and that have
// not exited by now.
func (e *stopper) due(wanted func(*target) bool) []*target {
	var out []*target
	for _, tr := range e.trees {
		if tr.root.Action == match.ActionReport {
			continue
		}
		for _, t := range tr.targets {
			if !t.open() || !t.whole || !wanted(t) {
				continue
			}
			if gone, err := t.handle.Exited(); err == nil && gone {
				e.exited(t, e.s.m.Now())
				continue
			}
			out = append(out, t)
		}
	}
	return out
}

// send signals the targets by group where the group is wholly theirs, else one
// by one through their handles.
func (e *stopper) send(sig syscall.Signal, due []*target) {
	if e.first.IsZero() {
		e.first, e.firstTicks, e.private = e.s.m.Now(), e.s.m.Ticks(), e.sessions()
	}
	byPID := make(map[int]*target, len(due))
	set := make(map[int]bool, len(due))
	for _, t := range due {
		byPID[t.row.PID], set[t.row.PID] = t, true
	}
	whole := e.whole(set)
	sent := map[int]bool{}
	for _, t := range due {
		pgid := t.row.PGID
		if !whole[pgid] {
			e.one(sig, t)
			continue
		}
		if sent[pgid] {
			continue
		}
		sent[pgid] = true
		e.group(sig, pgid, byPID)
	}
}

// whole returns the groups that may be signalled as such (see wholeGroups), none
// where the reading lacks somebody.
func (e *stopper) whole(set map[int]bool) map[int]bool {
	if e.lacks() {
		return nil
	}
	return wholeGroups(e.table, set, e.s.system.PGID)
}

// lacks says whether the reading leaves any process's group and session open:
// nothing but a pid is known of one whose reading was given up or that hidepid=1
// (proc(5)) hides, and not even that of those that hidepid=2 does.
func (e *stopper) lacks() bool {
	if e.hides == nil {
		hides := e.s.m.Hides()
		e.hides = &hides
	}
	return *e.hides || e.cut || slices.ContainsFunc(e.table.Rows(), func(p platform.Process) bool { return p.Start == 0 })
}

// group signals a whole group. A member that has not exited holds the number, so
// one is checked right before; the leader's own handle needs no number at all.
func (e *stopper) group(sig syscall.Signal, pgid int, due map[int]*target) {
	var members []*target
	held := false
	for _, pid := range e.table.Group(pgid) {
		t := due[pid]
		if t == nil {
			continue
		}
		gone, err := t.handle.Exited()
		if err == nil && gone {
			e.exited(t, e.s.m.Now())
			continue
		}
		members = append(members, t)
		held = held || err == nil
	}
	var leader Handle
	if t := due[pgid]; t != nil {
		leader = t.handle
	}
	at := e.s.m.Now()
	if !held || e.s.m.SignalGroup(pgid, leader, sig) != nil {
		for _, t := range members {
			e.one(sig, t)
		}
		return
	}
	for _, t := range members {
		t.group = true
		t.sent(sig, at)
	}
}

func (e *stopper) one(sig syscall.Signal, t *target) {
	at := e.s.m.Now()
	err := t.handle.Signal(sig)
	switch {
	case err == nil:
		if len(t.signals) == 0 {
			t.group = false
		}
		t.detail = ""
		t.sent(sig, at)
	case errors.Is(err, platform.ErrGone):
		e.exited(t, e.s.m.Now())
	case errors.Is(err, platform.ErrDenied):
		t.settle(Denied, err.Error())
	default:
		t.detail = err.Error()
	}
}

// sent notes a signal and when it was about to be sent: its effect may show
// before the call returns.
func (t *target) sent(sig syscall.Signal, at time.Time) {
	if len(t.signals) == 0 {
		t.since = at
	}
	t.signals = append(t.signals, signalNames[sig])
}

// pass hands a signal on to the group of a run's command, to the command alone
// where that group is this process's too. The number is the command's until it has
// been waited for, which r alone does.
func (r *runner) pass(sig syscall.Signal) {
	if r.ended {
		return
	}
	if (r.shared || r.m.SignalGroup(r.pid, r.handle, sig) != nil) && r.handle != nil {
		r.handle.Signal(sig)
	}
}
