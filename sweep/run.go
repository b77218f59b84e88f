package sweep

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reaper/match"
)

// Exit statuses of the program.
const (
	ExitDone        = 0
	ExitFound       = 1 // orphans were found, with --check
	ExitExited      = 1 // of alive and id: it is not running
	ExitUsage       = 2
	ExitLeft        = 3 // something was left: stop-unconfirmed, denied, unreadable in a tree, more than --max, or a census cut short
	ExitNoTable     = 4
	ExitInterrupted = 130
)

// DryRun reads, judges and plans, and reports what would be stopped. Nothing
// that it calls can signal.
func DryRun(ctx context.Context, m Machine, o Options) (*Report, error) {
	p, err := prepare(ctx, m, o)
	if err != nil {
		return nil, err
	}
	p.confirm(ctx)
	p.promise()
	r := p.report()
	r.DryRun = true
	if why := p.refuse(nil); why != "" {
		r.Refused = why + ": nothing would be stopped"
	}
	return r, nil
}

// Stop reads, judges, plans, stops what is proven orphaned, confirms each exit
// and reports. A context that ends while it waits ends the waiting: what was
// signalled is reported.
func Stop(ctx context.Context, m Machine, o Options) (*Report, error) {
	return stop(ctx, m, o, m.Trust(ctx))
}

// stop is Stop where it is known why environments cannot be believed, or that they
// need not be.
func stop(ctx context.Context, m Machine, o Options, blind error) (*Report, error) {
	p, err := prepare(ctx, m, o)
	if err != nil {
		return nil, err
	}
	if why := p.refuse(blind); why != "" {
		p.confirm(ctx)
		p.promise()
		r := p.report()
		r.Refused = why + ": nothing was stopped"
		r.Exit = ExitLeft
		return r, nil
	}
	if p.toStop() > 0 {
		p.stop(ctx, p.reading)
	}
	p.promise()
	r := p.report()
	if r.Exit == ExitDone && slices.ContainsFunc(r.LeftBehind, func(l LeftBehind) bool { return l.Reason == match.EnvUnreadable }) {
		r.Exit = ExitLeft // an orphan's, and it runs
	}
	if ctx.Err() != nil {
		r.Exit = ExitInterrupted
	}
	return r, nil
}

// refuse says why nothing of the plan may be carried out, "" where it may.
func (p *plan) refuse(blind error) string {
	if blind != nil {
		return blind.Error()
	}
	if n, most := p.toStop(), p.s.o.Max; most > 0 && n > most {
		return fmt.Sprintf("%d orphans are more than --max %d", n, most)
	}
	return ""
}

// plan is a prepared sweep: the reading that it was made from, and the trees.
type plan struct {
	*stopper
	reading *reading
	began   time.Time
	started time.Time
}

func prepare(ctx context.Context, m Machine, o Options) (*plan, error) {
	return prepareFor(ctx, m, o, nil)
}

// prepareFor also looks at the given processes, matched or not.
func prepareFor(ctx context.Context, m Machine, o Options, pids []int) (*plan, error) {
	began := m.Now()
	s, err := newSession(ctx, m, o)
	if err != nil {
		return nil, err
	}
	r, err := s.read(ctx, pids)
	if err != nil {
		return nil, err
	}
	p := &plan{stopper: newStopper(s), reading: r, began: began, started: began}
	p.assess(ctx, r)
	return p, nil
}

// toStop counts the orphans that are to be stopped.
func (p *plan) toStop() int {
	n := 0
	for _, tr := range p.trees {
		if tr.root.Action != match.ActionReport {
			n++
		}
	}
	return n
}

// promise gives the outcome of what nothing is done to, and tells for each
// target how it would be signalled.
func (p *plan) promise() {
	set := map[int]bool{}
	for _, tr := range p.trees {
		for _, t := range tr.targets {
			if tr.root.Action == match.ActionReport {
				t.settle(Reported, "")
			} else if t.outcome == "" {
				set[t.row.PID] = true
			}
		}
	}
	whole := p.whole(set)
	for _, tr := range p.trees {
		for _, t := range tr.targets {
			if t.outcome == "" {
				t.outcome, t.group = WouldStop, whole[t.row.PGID]
			}
		}
	}
}
