package sweep

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reaper/match"
	"reaper/platform"
)

const (
	lastLook  = 100 * time.Millisecond // from the last exit to the look that finds what was started again
	firstGap  = 50 * time.Millisecond  // to the first look during grace; each next one is twice as far
	minWait   = 250 * time.Millisecond // what is found after the deadline is waited for this long at least
	maxLooks  = 40                     // bounds the sweep against what never stops starting others
	mostAhead = 250 * time.Millisecond // of a due KILL may its look begin
	maxAgain  = 3                      // readings in a row for newcomers before the others get their signal
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
	failed error         // of the last reading, nil where it was one
	short  bool          // there were too few descriptors for all handles
	took   time.Duration // by the last look

	planned    uint64       // ticks since boot
	table      *match.Table // of the last reading
	cut        bool         // that reading was not complete
	hides      *bool        // whether no reading is; nil until a group could be signalled
	first      time.Time    // of the first signal
	firstTicks uint64
	private    map[int]bool // sessions that held nobody but members then
	kills      map[*tree]time.Time
	killed     map[*target]time.Time
	exitTicks  map[int]uint64 // by pid, when its exit was seen
}

func newStopper(s *session) *stopper {
	return &stopper{s: s, planned: s.m.Ticks(), known: map[platform.Identity]*target{}, waits: map[platform.Identity]int{},
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
//
// The look before a KILL begins earlier by most of what the last one took, so that
// it ends soon after the KILL is due; after one that ends before that, the next
// waits until then.
func (e *stopper) watch(ctx context.Context) {
	gap, next, hasty := firstGap, e.s.m.Now().Add(firstGap), false
	for looks, misses := 0, 0; looks < maxLooks && misses < maxAgain && ctx.Err() == nil; {
		waiting, known := e.waiting(), len(e.known)
		due := e.deadline(waiting)
		ahead := due
		if !hasty {
			ahead = due.Add(-e.took * 3 / 4)
		}
		if len(waiting) == 0 {
			pause(ctx, lastLook)
		} else if e.wait(ctx, waiting, earliest(next, ahead)) {
			continue
		}
		looks++
		early := !e.s.m.Now().Before(ahead)
		e.look(ctx)
		hasty = early && e.s.m.Now().Before(due)
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

// graceEnd is when a target's grace is over; it counts from the sweep's first
// signal, for one that had to wait for a descriptor from when it got one.
func (e *stopper) graceEnd(t *target) time.Time {
	from := e.first
	if t.held.After(from) {
		from = t.held
	}
	return from.Add(t.tree.stop.Grace)
}

// end is when a target's time is over: grace and confirm, confirm counted from
// its tree's first KILL, and a little longer for one that was found late.
func (e *stopper) end(t *target) time.Time {
	end, late := e.graceEnd(t).Add(t.tree.stop.Confirm), minWait
	if k, ok := e.kills[t.tree]; ok && t.held.IsZero() {
		end = k.Add(t.tree.stop.Confirm)
	}
	if !t.held.IsZero() {
		late = t.tree.stop.Confirm
	}
	if k, ok := e.killed[t]; ok {
		if own := k.Add(min(t.tree.stop.Confirm, late)); own.After(end) {
			end = own
		}
	}
	return end
}

// deadline is the next moment at which something is due for one of the targets.
func (e *stopper) deadline(targets []*target) time.Time {
	var next time.Time
	for _, t := range targets {
		due := e.graceEnd(t)
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
	e.tell(targets)
	handles := make([]Handle, len(targets))
	for i, t := range targets {
		handles[i] = t.handle
	}
	err := e.s.m.Wait(ctx, handles, until, func(i int, at time.Time) {
		e.exited(targets[i], at)
		e.s.o.Progress.exit(i)
	})
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
	began := e.s.m.Now()
	defer func() { e.took = min(e.s.m.Now().Sub(began), mostAhead) }()
	r, err := e.s.read(ctx, e.relevant())
	if err != nil {
		e.doubt(err)
		return
	}
	if e.assess(ctx, r) || e.short {
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
		return fmt.Sprintf("still running %s after SIGKILL (state %c)", match.Duration(t.tree.stop.Confirm), t.row.State)
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
