package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"reaper/match"
	"reaper/platform"
)

const (
	lastLook = 100 * time.Millisecond // from the last exit to the look that finds what was started again
	firstGap = 50 * time.Millisecond  // to the first look during grace; each next one is twice as far
	minWait  = 250 * time.Millisecond // what is found after the deadline is waited for this long at least
	maxLooks = 40                     // bounds the sweep against what never stops starting others
	maxAgain = 3                      // readings in a row for newcomers before the others get their signal
)

// stopper carries out a plan: handles first, then a reading that verifies, then
// signals, and looks at the table again until nothing new is found.
type stopper struct {
	s      *session
	trees  []*tree
	known  map[platform.Identity]*target
	waits  map[platform.Identity]int // spared in the plan: the pid of what it follows
	late   []*target                 // started again by someone outside, as of the last look
	spared []match.Verdict           // by the reading before the first signal
	left   []Left
	failed error // of the last reading, nil where it was one

	table      *match.Table // of the last reading
	cut        bool         // that reading was not complete
	first      time.Time    // of the first signal
	firstTicks uint64
	kills      map[*tree]time.Time
	killed     map[*target]time.Time
	exitTicks  map[int]uint64 // by pid, when its exit was seen
}

func newStopper(s *session) *stopper {
	return &stopper{s: s, known: map[platform.Identity]*target{}, waits: map[platform.Identity]int{},
		kills: map[*tree]time.Time{}, killed: map[*target]time.Time{}, exitTicks: map[int]uint64{}}
}

// stop ends everything in the trees of the reading, and returns when each member
// has an outcome. A context that ends makes it stop waiting, not escalate.
func (e *stopper) stop(ctx context.Context, r *reading) {
	defer e.close()
	e.openNew()
	e.verify(ctx, r)
	e.terminate()
	for try := 0; try < maxAgain && e.first.IsZero() && e.undecided(e.beforeGraceEnd) && ctx.Err() == nil; try++ {
		pause(ctx, firstGap) // what could not be read may be within an exec, or about to exit
		e.look(ctx)
		e.terminate()
	}
	if e.undecided(e.overdue) { // a grace of nothing
		e.look(ctx)
		e.kill()
	}
	if !e.first.IsZero() {
		e.watch(ctx)
	}
	e.conclude(ctx)
}

// undecided says whether there is such a target that a signal may still be for.
func (e *stopper) undecided(such func(*target) bool) bool {
	for _, t := range e.known {
		if t.open() && t.handle != nil && such(t) {
			return true
		}
	}
	return false
}

// watch waits and looks again, after twice as long each time until something is
// due, until nothing is left to wait for and the last look finds nothing new. What
// never stops starting others is left after maxLooks, and a last look names it.
func (e *stopper) watch(ctx context.Context) {
	gap, next := firstGap, e.s.m.Now().Add(firstGap)
	for looks, misses := 0, 0; looks < maxLooks && misses < maxAgain && ctx.Err() == nil; {
		waiting, known := e.waiting(), len(e.known)
		due := e.deadline(waiting)
		if len(waiting) == 0 {
			pause(ctx, lastLook)
		} else if until := earliest(next, due); e.wait(ctx, waiting, until) {
			continue
		}
		looks++
		e.look(ctx)
		terminated, killed := e.terminate(), e.kill()
		if len(waiting) == 0 && len(e.known) == known && !terminated && !killed {
			if e.failed == nil {
				return
			}
			misses++
		}
		gap *= 2
		if killed || !e.s.m.Now().Before(due) {
			gap = firstGap
		}
		next = e.s.m.Now().Add(gap)
	}
	for waiting := e.waiting(); len(waiting) > 0 && ctx.Err() == nil; waiting = e.waiting() {
		e.wait(ctx, waiting, e.deadline(waiting))
	}
	if ctx.Err() == nil {
		e.look(ctx)
	}
}

func (e *stopper) close() {
	for _, t := range e.known {
		if t.handle != nil {
			t.handle.Close()
		}
	}
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// waiting returns the targets that may still exit in time.
func (e *stopper) waiting() []*target {
	var out []*target
	now := e.s.m.Now()
	for _, tr := range e.trees {
		for _, t := range tr.targets {
			if t.open() && t.handle != nil && now.Before(e.end(t)) {
				out = append(out, t)
			}
		}
	}
	return out
}

// graceEnd is when the tree's grace is over; it counts from the sweep's first signal.
func (e *stopper) graceEnd(tr *tree) time.Time { return e.first.Add(tr.stop.Grace) }

// end is when a target's time is over: grace and confirm, confirm counted from
// its tree's first KILL, and a little longer for one that was found late.
func (e *stopper) end(t *target) time.Time {
	end := e.graceEnd(t.tree).Add(t.tree.stop.Confirm)
	if k, ok := e.kills[t.tree]; ok {
		end = k.Add(t.tree.stop.Confirm)
	}
	if k, ok := e.killed[t]; ok {
		if own := k.Add(min(t.tree.stop.Confirm, minWait)); own.After(end) {
			end = own
		}
	}
	return end
}

// deadline is the next moment at which something is due for one of the targets.
func (e *stopper) deadline(targets []*target) time.Time {
	var next time.Time
	for _, t := range targets {
		due := e.graceEnd(t.tree)
		if _, ok := e.killed[t]; ok || !e.s.m.Now().Before(due) {
			due = e.end(t)
		}
		if next.IsZero() || due.Before(next) {
			next = due
		}
	}
	return next
}

// wait waits on the handles and says whether all exited before the time. A wait
// that fails is no answer: the time passes all the same, by the clock.
func (e *stopper) wait(ctx context.Context, targets []*target, until time.Time) bool {
	handles := make([]Handle, len(targets))
	for i, t := range targets {
		handles[i] = t.handle
	}
	err := e.s.m.Wait(ctx, handles, until, func(i int, at time.Time) { e.exited(targets[i], at) })
	if err != nil && ctx.Err() == nil {
		pause(ctx, until.Sub(e.s.m.Now()))
	}
	return !slices.ContainsFunc(targets, func(t *target) bool { return !t.exited })
}

func (e *stopper) exited(t *target, at time.Time) {
	if t.exited {
		return
	}
	t.exited = true
	if len(t.signals) > 0 {
		t.took = at.Sub(t.since)
	}
	e.exitTicks[t.row.PID] = e.s.m.Ticks()
}

// look takes a new reading and brings every target up to date.
func (e *stopper) look(ctx context.Context) {
	r, err := e.s.read(ctx, e.relevant())
	if err != nil {
		e.doubt(err)
		return
	}
	if e.assess(ctx, r) {
		e.openNew()
		e.verify(ctx, r)
	}
}

// verify reads again what has been read before its handles were opened, and does
// so for what is new in that reading, a bounded number of times.
func (e *stopper) verify(ctx context.Context, r *reading) {
	for range maxAgain {
		if err := e.s.refresh(ctx, r, e.relevant()); err != nil {
			e.doubt(err)
			continue
		}
		if !e.assess(ctx, r) {
			return
		}
		e.openNew()
	}
}

// doubt notes that a reading failed: what is not verified gets no signal.
func (e *stopper) doubt(err error) {
	e.failed = err
	for _, t := range e.known {
		t.whole = false
	}
}

// relevant returns the pids of all targets, also of those that have exited: the
// groups that they led may live on.
func (e *stopper) relevant() []int {
	var pids []int
	for id := range e.known {
		pids = append(pids, id.PID)
	}
	slices.Sort(pids)
	return pids
}

// assess compares the reading with what is known and returns whether it found
// members that no earlier one had shown, so that no handle on them was open.
func (e *stopper) assess(ctx context.Context, r *reading) bool {
	g := e.s.settle(ctx, r, func(j *match.Judgement) []branch { return e.branches(r.table, j) })
	e.failed, e.table, e.cut, e.late = nil, r.table, r.census.Cut, nil
	seen := map[*target]bool{}
	for _, pid := range g.order {
		row := r.table.Get(pid)
		if t := e.known[row.ID()]; t != nil {
			t.row, t.whole, t.doubt, seen[t] = *row, t.handle != nil, "", true
		}
	}
	if e.first.IsZero() {
		e.replan(r, g, seen)
	}
	for id, t := range e.known {
		if !seen[t] && t.open() {
			e.unseen(id, t, r, g)
		}
	}
	return e.join(r, g)
}

// replan keeps the plan in step with the reading as long as nothing has been
// signalled: what is spared by now was never part of it.
func (e *stopper) replan(r *reading, g growth, seen map[*target]bool) {
	e.spared, e.left = sparedBy(r, g), g.left
	spared := map[platform.Identity]bool{}
	for _, v := range e.spared {
		id := platform.Identity{PID: v.PID, Start: v.Start}
		spared[id], e.waits[id] = true, v.Blocker
	}
	e.trees = slices.DeleteFunc(e.trees, func(tr *tree) bool {
		rootless := !seen[tr.targets[0]] && spared[tr.targets[0].row.ID()]
		tr.targets = slices.DeleteFunc(tr.targets, func(t *target) bool {
			if !rootless && (seen[t] || !spared[t.row.ID()]) {
				return false
			}
			e.forget(t)
			return true
		})
		return rootless
	})
}

func (e *stopper) forget(t *target) {
	delete(e.known, t.row.ID())
	if t.handle != nil {
		t.handle.Close()
	}
}

// sparedBy lists the matched processes that are in no tree, in order of start.
func sparedBy(r *reading, g growth) []match.Verdict {
	var out []match.Verdict
	for _, v := range r.judged.Spared {
		_, member := g.member[v.PID]
		if _, taken := g.spared[v.PID]; !member && !taken {
			out = append(out, v)
		}
	}
	for _, v := range g.spared {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b match.Verdict) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	return out
}

// join takes in the members that no earlier reading has shown, and says whether
// there were any.
func (e *stopper) join(r *reading, g growth) bool {
	homes := map[int]*tree{} // by branch; nil for what was started again
	found := false
	for _, pid := range g.order {
		row := r.table.Get(pid)
		if e.known[row.ID()] != nil {
			continue
		}
		i := g.member[pid]
		tr, ok := homes[i]
		if !ok {
			tr = e.homeOf(r, g.branches[i])
			homes[i] = tr
		}
		if tr != nil {
			e.add(tr, row)
			found = true
		}
	}
	return found
}

// homeOf is the tree that a branch's members belong to, a new one for a new
// orphan, nil for one that somebody outside has started again.
func (e *stopper) homeOf(r *reading, br branch) *tree {
	if tr := e.home(br); tr != nil {
		return tr
	}
	if again := e.again(r, br.root); again != nil {
		e.late = append(e.late, again)
		return nil
	}
	return e.addTree(br.root)
}

// home is the tree that a branch belongs to, nil for a new orphan.
func (e *stopper) home(br branch) *tree {
	if br.tree != nil {
		return br.tree
	}
	if t := e.known[platform.Identity{PID: br.root.PID, Start: br.root.Start}]; t != nil {
		return t.tree
	}
	return nil
}

func (e *stopper) addTree(root match.Verdict) *tree {
	tr := &tree{root: root, stop: root.Stop}
	if e.s.o.Grace != nil {
		tr.stop.Grace = *e.s.o.Grace
	}
	if e.s.o.Confirm != nil {
		tr.stop.Confirm = *e.s.o.Confirm
	}
	e.trees = append(e.trees, tr)
	return tr
}

func (e *stopper) add(tr *tree, row *platform.Process) *target {
	t := &target{row: *row, tree: tr, usage: e.s.m.Usage(row.PID)}
	tr.targets = append(tr.targets, t)
	e.known[row.ID()] = t
	return t
}

// openNew takes a handle on every target that has none.
func (e *stopper) openNew() {
	for _, tr := range e.trees {
		if tr.root.Action == match.ActionReport {
			continue
		}
		for _, t := range tr.targets {
			if t.handle != nil || !t.open() {
				continue
			}
			h, err := e.s.m.Open(t.row.PID)
			switch {
			case errors.Is(err, platform.ErrGone):
				e.exited(t, e.s.m.Now())
			case err != nil:
				t.detail = err.Error()
			default:
				t.handle = h
			}
		}
	}
}

// unseen settles a target that is no member in this reading.
func (e *stopper) unseen(id platform.Identity, t *target, r *reading, g growth) {
	t.whole = false
	runs := false
	if t.handle != nil {
		gone, err := t.handle.Exited()
		if err == nil && gone {
			e.exited(t, e.s.m.Now())
			return
		}
		runs = err == nil
	}
	row := r.table.Get(id.PID)
	switch {
	case row == nil && runs:
		t.doubt = "it runs and is not in the process table"
	case row == nil:
		e.exited(t, e.s.m.Now())
	case row.Start != id.Start && row.Start != 0 && len(t.signals) > 0:
		e.exited(t, e.s.m.Now())
	case row.Start != id.Start && row.Start != 0:
		t.settle(Recycled, fmt.Sprintf("%d is held by %s now", id.PID, row.ID()))
	case row.Exited():
		e.exited(t, e.s.m.Now())
	default:
		detail, final := whyNot(t, row, r, g)
		if final {
			t.settle(Changed, detail)
		} else {
			t.doubt = detail
		}
	}
}

// whyNot says why a process is not stopped in this reading, and whether that is
// an answer rather than none.
func whyNot(t *target, row *platform.Process, r *reading, g growth) (string, bool) {
	if unread(&t.row, row) {
		return "it could not be read again", false
	}
	if t.tree.unsure {
		return fmt.Sprintf("whether %d is an orphan could not be told again", t.tree.root.PID), false
	}
	if v, ok := g.spared[row.PID]; ok {
		return v.Detail, v.Reason != match.UnknownReason
	}
	if v := sparedVerdict(r.judged, row.PID); v != nil {
		return v.Detail, !untold(v)
	}
	return "no longer part of an orphan's tree", true
}

// unread says whether a row says nothing of a process that was read before: it is
// exiting, within an exec, or its reading was refused or given up.
func unread(before, now *platform.Process) bool {
	return now.Start == 0 || now.Ending || !now.Detailed || now.Env != platform.EnvPresent && before.Env == platform.EnvPresent
}

// untold says whether a verdict spares for want of an answer.
func untold(v *match.Verdict) bool {
	return v.Reason == match.UnknownReason || v.Reason == match.EnvUnreadable
}

func sparedVerdict(j *match.Judgement, pid int) *match.Verdict {
	for i := range j.Spared {
		if j.Spared[i].PID == pid {
			return &j.Spared[i]
		}
	}
	return nil
}

// conclude gives every target that still runs its outcome.
func (e *stopper) conclude(ctx context.Context) {
	for _, tr := range e.trees {
		for _, t := range tr.targets {
			if t.handle != nil && !t.exited {
				if gone, err := t.handle.Exited(); err == nil && gone {
					e.exited(t, e.s.m.Now())
				}
			}
			if tr.root.Action == match.ActionReport && !t.exited {
				t.settle(Reported, "")
			}
			t.conclude(e.why(ctx, t))
		}
	}
	for _, t := range e.late {
		t.tree.targets = append(t.tree.targets, t)
	}
}

func (e *stopper) why(ctx context.Context, t *target) string {
	switch {
	case ctx.Err() != nil:
		return "not seen to exit before the sweep was interrupted"
	case t.detail != "":
		return t.detail
	case slices.Contains(t.signals, "KILL"):
		return fmt.Sprintf("still running %s after SIGKILL (state %c)", t.tree.stop.Confirm, t.row.State)
	case t.doubt != "":
		return t.doubt
	case e.failed != nil && len(t.signals) == 0:
		return "not verified, so not signalled: " + e.failed.Error()
	case e.failed != nil:
		return "not verified again, so not killed: " + e.failed.Error()
	case len(t.signals) == 0:
		return "found in the last look, after which nothing is signalled"
	}
	return "still running"
}
