//go:build linux

package test

import (
	"fmt"
	"slices"
	"time"
)

// outcomes, the worst first: an orphan's is that of its worst member.
var outcomes = []string{"stop-unconfirmed", "denied", "recycled", "changed", "stopped", "vanished", "reported", "would-stop"}

var reasons = []string{
	"parent-running", "possibly-recycled", "not-adopted", "owned", "too-young", "hosts-live-work", "protected", "service",
	"on-terminal", "sweeper", "other-user", "other-namespace", "environment-unreadable", "unknown", "undecided",
}

// complaints is what is wrong with a document whatever it is about.
type complaints []string

func (c *complaints) unless(ok bool, format string, args ...any) {
	if !ok {
		*c = append(*c, fmt.Sprintf(format, args...))
	}
}

func (d *Doc) complaints(exit int, args []string) complaints {
	var c complaints
	c.unless(d.Schema == 1, "schema %d", d.Schema)
	c.unless(d.Version != "", "no version")
	c.unless(d.BootID != "", "no boot id")
	c.unless(d.PIDNamespace == "nested", "pid_namespace %q inside of one", d.PIDNamespace)
	_, err := time.Parse(time.RFC3339, d.Started)
	c.unless(err == nil, "started: %v", err)
	c.unless(d.Census.Processes > 0, "an empty census")
	for _, o := range d.Orphans {
		c.orphan(d, o)
	}
	for _, s := range d.Spared {
		c.unless(slices.Contains(reasons, s.Reason), "spared %d: unknown reason %q", s.PID, s.Reason)
		c.unless(s.PID > 0 && s.Rule != "", "spared %d by rule %q", s.PID, s.Rule)
	}
	for _, l := range d.LeftBehind {
		c.unless(slices.Contains(reasons, l.Reason), "left behind %d: unknown reason %q", l.PID, l.Reason)
		c.unless(len(l.Command) > 0, "left behind %d: no command", l.PID)
	}
	c.identities(d)
	c.totals(d)
	c.exit(d, exit, args)
	return c
}

func (c *complaints) orphan(d *Doc, o Orphan) {
	worst, own, rss := len(outcomes), false, uint64(0)
	for _, m := range o.Members {
		rank := slices.Index(outcomes, m.Outcome)
		c.unless(rank >= 0, "member %d: unknown outcome %q", m.PID, m.Outcome)
		worst = min(worst, rank)
		own = own || m.PID == o.PID && m.Start == o.Start && m.AgeS == o.AgeS
		rss += m.RSSBytes
		c.member(d, o, m)
	}
	c.unless(rss == o.RSSBytes, "orphan %d: %d bytes, its members %d", o.PID, o.RSSBytes, rss)
	c.unless(own, "orphan %d is no member of its own tree", o.PID)
	c.unless(worst >= 0 && worst < len(outcomes) && outcomes[worst] == o.Outcome, "orphan %d: outcome %q is not its worst member's", o.PID, o.Outcome)
	c.unless(slices.Contains([]string{"stop", "report"}, o.Action), "orphan %d: action %q", o.PID, o.Action)
	c.unless(o.Why.Test != "" && o.Why.Detail != "", "orphan %d: why %v", o.PID, o.Why)
	c.unless(o.User != "" && o.Rule != "", "orphan %d: user %q, rule %q", o.PID, o.User, o.Rule)
}

func (c *complaints) member(d *Doc, o Orphan, m Member) {
	c.unless(m.PID > 1, "member %d", m.PID)
	c.unless(signalsInOrder(m.Signals), "member %d: signals %v", m.PID, m.Signals)
	acted := !slices.Contains([]string{"would-stop", "reported", "vanished"}, m.Outcome)
	c.unless(acted || len(m.Signals) == 0, "member %d: %s with signals %v", m.PID, m.Outcome, m.Signals)
	c.unless(m.Outcome != "stopped" || len(m.Signals) > 0, "member %d: stopped without a signal", m.PID)
	c.unless(o.Action == "report" || m.By == "group" || m.By == "pid", "member %d: by %q", m.PID, m.By)
	c.unless((m.Outcome == "reported") == (o.Action == "report"), "member %d: %s by action %s", m.PID, m.Outcome, o.Action)
	dry := m.Outcome == "would-stop" || m.Outcome == "reported"
	c.unless(!d.DryRun || dry && m.TookMS == nil, "member %d: %s in a dry run", m.PID, m.Outcome)
	c.unless(d.DryRun || d.Refused != "" || m.Outcome != "would-stop", "member %d: would-stop, but not in a dry run", m.PID)
}

// signalsInOrder is TERM, then perhaps CONT, then perhaps KILL; a namespace's
// init may get KILL at once.
func signalsInOrder(signals []string) bool {
	order := []string{"TERM", "CONT", "KILL"}
	last := -1
	for _, s := range signals {
		i := slices.Index(order, s)
		if i <= last {
			return false
		}
		last = i
	}
	return true
}

func (c *complaints) identities(d *Doc) {
	type identity struct {
		pid   int
		start uint64
	}
	seen := map[identity]bool{}
	for _, m := range d.members() {
		id := identity{m.PID, m.Start}
		c.unless(!seen[id], "%d is a member twice", m.PID)
		seen[id] = true
	}
	for _, s := range d.Spared {
		c.unless(!seen[identity{s.PID, s.Start}], "%d is a member and spared", s.PID)
	}
	for _, l := range d.LeftBehind {
		c.unless(!seen[identity{l.PID, l.Start}], "%d is a member and left behind", l.PID)
	}
}

func (c *complaints) totals(d *Doc) {
	want := Totals{Orphans: len(d.Orphans), RSSBytes: d.Totals.RSSBytes}
	for _, m := range d.members() {
		want.Processes++
		switch m.Outcome {
		case "stopped":
			want.Stopped++
		case "stop-unconfirmed":
			want.Unconfirmed++
		case "denied":
			want.Denied++
		}
	}
	c.unless(d.Totals == want, "totals %+v instead of %+v", d.Totals, want)
}

func (c *complaints) exit(d *Doc, exit int, args []string) {
	left := d.Totals.Unconfirmed + d.Totals.Denied
	c.unless(d.Exit == exit, "exit %d in the document, status %d", d.Exit, exit)
	for _, l := range d.LeftBehind {
		if l.Reason == "environment-unreadable" && !d.DryRun {
			left++
		}
	}
	c.unless(left == 0 || exit == 3 || exit == 130, "status %d with %d left", exit, left)
	c.unless(exit != 3 || left > 0 || d.Refused != "" || d.Cut, "status 3 with nothing left")
	c.unless(d.Refused == "" || d.Totals.Stopped == 0, "refused, and %d stopped", d.Totals.Stopped)
	if slices.Contains(args, "--check") {
		c.unless((exit == 1) == (len(d.Orphans) > 0), "status %d with %d orphans", exit, len(d.Orphans))
	} else {
		c.unless(exit != 1, "status 1 without --check")
	}
}
