package sweep_test

import (
	"fmt"
	"slices"
	"time"

	"reaper/match"
	"reaper/sweep"
)

// problems lists what holds of no sweep whatever happened: the promises of the
// report against what the kernel knows.
func (g played) problems() []string {
	c := checker{played: g, problems: g.k.broken}
	if g.k.opened != g.k.closed {
		c.say("%d handles were opened and %d closed", g.k.opened, g.k.closed)
	}
	if g.report == nil {
		return c.problems
	}
	seen := map[string]bool{}
	once := func(pid int, start uint64) {
		id := fmt.Sprintf("%d@%d", pid, start)
		if seen[id] {
			c.say("%s is reported twice", id)
		}
		seen[id] = true
	}
	for _, o := range g.report.Orphans {
		c.orphan(o)
		for _, m := range o.Members {
			once(m.PID, m.Start)
			c.member(m)
		}
	}
	for _, s := range g.report.Spared {
		once(s.PID, s.Start)
		if p := g.k.find(s.PID, s.Start); p != nil && len(p.got) > 0 {
			c.say("%d is spared and got %v", s.PID, p.got)
		}
	}
	for _, l := range g.report.LeftBehind {
		once(l.PID, l.Start)
	}
	c.signals(seen)
	c.totals()
	return c.problems
}

type checker struct {
	played
	problems []string
}

func (c *checker) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// find returns the process of that identity, whatever has become of it.
func (k *kernel) find(pid int, start uint64) *process {
	for _, p := range k.past {
		if p.pid == pid && p.start == start {
			return p
		}
	}
	return nil
}

// member compares what is said of one process with what happened to it.
func (c *checker) member(m sweep.Member) {
	p := c.k.find(m.PID, m.Start)
	if p == nil {
		c.say("%d@%d never was", m.PID, m.Start)
		return
	}
	if !slices.Equal(m.Signals, p.got) && !(len(m.Signals) == 0 && len(p.got) == 0) && !c.partly(p) {
		c.say("%d is said to have got %v and got %v", m.PID, m.Signals, p.got)
	}
	switch m.Outcome {
	case sweep.Stopped:
		if !p.exited() {
			c.say("%d is said to be stopped and runs", m.PID)
		}
		if len(p.got) == 0 {
			c.say("%d is said to be stopped without a signal", m.PID)
		}
		if m.TookMS == nil || *m.TookMS < 0 {
			c.say("%d is stopped and no time is told", m.PID)
		}
	case sweep.Vanished, sweep.Recycled:
		if !p.exited() || len(p.got) > 0 {
			c.say("%d is said to be %s; exited %v, signals %v", m.PID, m.Outcome, p.exited(), p.got)
		}
	case sweep.Unconfirmed, sweep.Denied:
		if p.exited() && !c.k.mute() {
			c.say("%d is said to be %s and has exited", m.PID, m.Outcome)
		}
		if m.Detail == "" {
			c.say("%d is %s and nothing says why", m.PID, m.Outcome)
		}
	case sweep.Changed:
		if m.Detail == "" {
			c.say("%d is changed and nothing says how", m.PID)
		}
	case sweep.WouldStop, sweep.Reported:
		if len(p.got) > 0 {
			c.say("%d is %s and got %v", m.PID, m.Outcome, p.got)
		}
	default:
		c.say("%d has the outcome %q", m.PID, m.Outcome)
	}
}

// mute says whether the script has handles that are not to be had or do not answer,
// so that an exit may pass unseen.
func (k *kernel) mute() bool {
	return slices.ContainsFunc(k.faults, func(f fault) bool { return f.in == "open" || f.in == "exited" })
}

// partly says whether a group signal did not reach the process by its own right,
// so that the sweep cannot know.
func (c *checker) partly(p *process) bool { return p.uid != me }

// signals checks the order and the targets of every signal.
func (c *checker) signals(reported map[string]bool) {
	if c.report.DryRun && (len(c.k.calls) > 0 || c.k.opened > 0) {
		c.say("a dry run opened %d handles and sent %d signals", c.k.opened, len(c.k.calls))
	}
	for _, call := range c.k.calls {
		for _, p := range call.reached {
			if !reported[fmt.Sprintf("%d@%d", p.pid, p.start)] && !c.bornLate(p) {
				c.say("%s reached %d, which the report does not know", sigName(call.sig), p.pid)
			}
		}
		if sigName(call.sig) == "KILL" && call.at < c.k.calls[0].at+c.grace {
			c.say("KILL came %v after the first signal, within the grace of %v", call.at-c.k.calls[0].at, c.grace)
		}
	}
	for _, p := range c.k.past {
		if first := slices.Index(p.got, "TERM"); first > 0 || slices.Contains(p.got[max(first, 0):], "TERM") && count(p.got, "TERM") > 1 {
			c.say("%d got %v", p.pid, p.got)
		}
		if count(p.got, "CONT") > 1 || count(p.got, "KILL") > 1 {
			c.say("%d got %v", p.pid, p.got)
		}
	}
}

// bornLate says whether a member had it after the reading that its group was
// signalled by.
func (c *checker) bornLate(p *process) bool {
	return p.held == 0 && p.mother != nil && (len(p.mother.got) > 0 || p.mother.stray || c.bornLate(p.mother))
}

func count(list []string, what string) int {
	n := 0
	for _, s := range list {
		if s == what {
			n++
		}
	}
	return n
}

// orphan has the outcome of its worst member.
func (c *checker) orphan(o sweep.Orphan) {
	order := []sweep.Outcome{sweep.Unconfirmed, sweep.Denied, sweep.Recycled, sweep.Changed, sweep.Stopped, sweep.Vanished, sweep.WouldStop, sweep.Reported}
	for _, outcome := range order {
		if slices.ContainsFunc(o.Members, func(m sweep.Member) bool { return m.Outcome == outcome }) {
			if o.Outcome != outcome {
				c.say("orphan %d is %s, its worst member %s", o.PID, o.Outcome, outcome)
			}
			return
		}
	}
}

// totals are the sums, and the exit status follows from them.
func (c *checker) totals() {
	r := c.report
	var want sweep.Totals
	for _, o := range r.Orphans {
		want.Orphans++
		want.RSSBytes += o.RSSBytes
		for _, m := range o.Members {
			want.Processes++
			want.Stopped += truth(m.Outcome == sweep.Stopped)
			want.Unconfirmed += truth(m.Outcome == sweep.Unconfirmed)
			want.Denied += truth(m.Outcome == sweep.Denied)
		}
	}
	if r.Totals != want {
		c.say("totals are %+v, want %+v", r.Totals, want)
	}
	unread := slices.ContainsFunc(r.LeftBehind, func(l sweep.LeftBehind) bool { return l.Reason == match.EnvUnreadable })
	left := want.Unconfirmed+want.Denied > 0 || r.Cut || (r.Refused != "" || unread) && !r.DryRun
	if r.Exit != sweep.ExitInterrupted && (r.Exit == sweep.ExitLeft) != left {
		c.say("exit status %d with %+v, cut %v, refused %q", r.Exit, want, r.Cut, r.Refused)
	}
	if r.TookMS != float64(c.took.Microseconds())/1000 {
		c.say("took %v ms, told %v", c.took, r.TookMS)
	}
	if c.took > 2*time.Minute {
		c.say("took %v", c.took)
	}
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}
