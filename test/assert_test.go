//go:build linux

package test

import (
	"fmt"
	"slices"
	"strings"
)

// How is a further demand on how a process was stopped; it returns what is
// wrong.
type How func(o *Orphan, m *Member) string

// By demands that it was signalled by "group" or by "pid".
func By(by string) How {
	return func(_ *Orphan, m *Member) string { return unless(m.By == by, "by %s instead of %s", m.By, by) }
}

// With demands exactly these signals.
func With(signals ...string) How {
	return func(_ *Orphan, m *Member) string {
		return unless(slices.Equal(m.Signals, signals), "signals %v instead of %v", m.Signals, signals)
	}
}

// Through demands that this test proved the orphan.
func Through(test string) How {
	return func(o *Orphan, _ *Member) string {
		return unless(o.Why.Test == test, "through %s (%s) instead of %s", o.Why.Test, o.Why.Detail, test)
	}
}

func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return fmt.Sprintf(format, args...)
}

// member finds a process among the orphans' members.
func (res Result) member(p Proc) (*Orphan, *Member) {
	for i := range res.Doc.Orphans {
		o := &res.Doc.Orphans[i]
		for j := range o.Members {
			if m := &o.Members[j]; m.PID == res.pid(p) && m.Start == p.Start {
				return o, m
			}
		}
	}
	return nil, nil
}

func (res Result) pid(p Proc) int {
	if res.Inner {
		return p.Inner
	}
	return p.PID
}

// spared are the entries of a process among the spared.
func (res Result) spared(p Proc) []Spared {
	var found []Spared
	for _, s := range res.Doc.Spared {
		if s.PID == res.pid(p) && s.Start == p.Start {
			found = append(found, s)
		}
	}
	return found
}

// left is the entry of a process among those left behind.
func (res Result) left(p Proc) *Left {
	for i, e := range res.Doc.LeftBehind {
		if e.PID == res.pid(p) && e.Start == p.Start {
			return &res.Doc.LeftBehind[i]
		}
	}
	return nil
}

// fate is all that a document says of a process.
func (res Result) fate(p Proc) string {
	said := []string{p.State()}
	if _, m := res.member(p); m != nil {
		said = append(said, fmt.Sprintf("member %s by %s %v %s", m.Outcome, m.By, m.Signals, m.Detail))
	}
	for _, s := range res.spared(p) {
		said = append(said, fmt.Sprintf("spared %s (%s)", s.Reason, s.Detail))
	}
	if l := res.left(p); l != nil {
		said = append(said, fmt.Sprintf("left behind %s (%s)", l.Reason, l.Detail))
	}
	return strings.Join(said, ", ")
}

// Stopped demands that the process has exited and that the sweep did it.
func (l *Lab) Stopped(res Result, p Proc, how ...How) {
	l.t.Helper()
	l.isMember(res, p, !p.Running(), "stopped", how)
}

// WouldStop demands that the process runs and that a dry run plans to stop it.
func (l *Lab) WouldStop(res Result, p Proc, how ...How) {
	l.t.Helper()
	l.isMember(res, p, p.Running(), "would-stop", how)
}

// Ended demands a member with this outcome, whatever its state.
func (l *Lab) Ended(res Result, p Proc, outcome string, how ...How) {
	l.t.Helper()
	l.isMember(res, p, true, outcome, how)
}

func (l *Lab) isMember(res Result, p Proc, state bool, outcome string, how []How) {
	l.t.Helper()
	o, m := res.member(p)
	if m == nil || !state || m.Outcome != outcome {
		l.t.Errorf("%s is not %s: %s\n%s", p, outcome, res.fate(p), res.Stdout)
		return
	}
	for _, demand := range how {
		if wrong := demand(o, m); wrong != "" {
			l.t.Errorf("%s: %s", p, wrong)
		}
	}
}

// Spared demands that the process runs and is spared for one of these reasons.
func (l *Lab) Spared(res Result, p Proc, reasons ...string) Spared {
	l.t.Helper()
	_, m := res.member(p)
	for _, s := range res.spared(p) {
		if m == nil && p.Running() && (len(reasons) == 0 || slices.Contains(reasons, s.Reason)) {
			return s
		}
	}
	l.t.Errorf("%s is not spared as %v: %s", p, reasons, res.fate(p))
	return Spared{}
}

// Untouched demands that the process runs and that the document does not name it.
func (l *Lab) Untouched(res Result, p Proc) {
	l.t.Helper()
	_, m := res.member(p)
	if m != nil || len(res.spared(p)) > 0 || res.left(p) != nil || !p.Running() {
		l.t.Errorf("%s is not untouched: %s", p, res.fate(p))
	}
}

// LeftBehind demands that the process runs and is reported as left behind.
func (l *Lab) LeftBehind(res Result, p Proc, reason string) {
	l.t.Helper()
	if e := res.left(p); e == nil || e.Reason != reason || !p.Running() {
		l.t.Errorf("%s is not left behind as %s: %s", p, reason, res.fate(p))
	}
}
