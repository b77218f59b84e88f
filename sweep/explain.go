package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"reaper/match"
	"reaper/platform"
)

// Explanation is the report on a few named processes, with what every rule says of each.
type Explanation struct {
	Report
	Explained []Explained `json:"explained"`
	Gone      []Gone      `json:"gone,omitempty"` // named, and no process by now
}

// Gone is a named process that is not there.
type Gone struct {
	PID    int    `json:"pid"`
	Start  uint64 `json:"start,omitempty"` // as it was named
	Detail string `json:"detail"`
}

// Explained is one named process.
type Explained struct {
	PID     int      `json:"pid"`
	Start   uint64   `json:"start"`
	PPID    int      `json:"ppid"`
	PGID    int      `json:"pgid"`
	SID     int      `json:"sid"`
	UID     int      `json:"uid"`
	AgeS    float64  `json:"age_s"`
	Command []string `json:"command"`
	match.Account
	Verdict string       `json:"verdict"`        // orphan, member, spared, left-behind or unmatched
	Rule    string       `json:"rule,omitempty"` // by which that is so
	Reason  match.Reason `json:"reason,omitempty"`
	Detail  string       `json:"detail"`
}

// Explain judges as a dry run does and accounts for the named processes; without
// a start token a pid names its holder. What is not there is listed as gone; where
// none is left that is an error.
func Explain(ctx context.Context, m Machine, o Options, ids []platform.Identity) (*Explanation, error) {
	var pids []int
	for _, id := range ids {
		pids = append(pids, id.PID)
	}
	p, err := prepareFor(ctx, m, o, pids)
	if err != nil {
		return nil, err
	}
	var gone []Gone
	pids = nil
	for _, id := range ids {
		if row := p.reading.table.Get(id.PID); row == nil {
			gone = append(gone, Gone{id.PID, id.Start, "no such process"})
		} else if id.Start != 0 && id.Start != row.Start {
			gone = append(gone, Gone{id.PID, id.Start, fmt.Sprintf("it has exited: its pid is used again, by %s", row.ID())})
		} else if !slices.Contains(pids, id.PID) {
			pids = append(pids, id.PID)
		}
	}
	if len(pids) == 0 {
		return nil, noneLeft(gone)
	}
	accounts := p.accounts(ctx, pids)
	p.promise()
	r := p.report()
	r.DryRun = true
	e := &Explanation{Report: *r, Gone: gone}
	for i, pid := range pids {
		e.Explained = append(e.Explained, p.explained(p.reading.table.Get(pid), accounts[i]))
	}
	e.keepOnly(pids)
	return e, nil
}

// noneLeft is an ErrGone that names each process.
func noneLeft(gone []Gone) error {
	var said []string
	for _, g := range gone {
		said = append(said, g.String())
	}
	return goneError(strings.Join(said, "; "))
}

type goneError string

func (e goneError) Error() string        { return string(e) }
func (e goneError) Is(target error) bool { return target == platform.ErrGone }

// String is a line of the text.
func (g Gone) String() string {
	name := fmt.Sprint(g.PID)
	if g.Start != 0 {
		name = platform.Identity{PID: g.PID, Start: g.Start}.String()
	}
	return name + ": " + g.Detail
}

// accounts asks until no answer lacks a fact.
func (p *plan) accounts(ctx context.Context, pids []int) []match.Account {
	r := p.reading
	for round := 0; ; round++ {
		out := make([]match.Account, len(pids))
		for i, pid := range pids {
			out[i] = r.judged.Explain(r.table.Get(pid))
		}
		if needs := r.judged.Needs(); len(needs) == 0 || round == maxRounds {
			return out
		}
		p.s.settle(ctx, r, func(*match.Judgement) []branch { return nil })
	}
}

func (p *plan) explained(row *platform.Process, a match.Account) Explained {
	for i := range a.Rules {
		rule := &a.Rules[i]
		rule.Command, rule.Marker = printable(rule.Command), printable(rule.Marker)
		for t := range rule.Tests {
			rule.Tests[t].Detail = printable(rule.Tests[t].Detail)
		}
	}
	a.GuardDetail = printable(a.GuardDetail)
	e := Explained{PID: row.PID, Start: row.Start, PPID: row.PPID, PGID: row.PGID, SID: row.SID, UID: row.UID,
		AgeS: p.reading.world.Age(row.Start).Seconds(), Command: command(row), Account: a,
		Verdict: "unmatched", Detail: "no rule matches it"}
	switch {
	case row.Exited():
		e.Detail = "it has exited"
	case row.Env == platform.EnvUnreadable:
		e.Detail += ": its environment cannot be read"
	case row.Env == platform.EnvWithheld:
		e.Detail += ": macOS does not show its environment"
	}
	for _, l := range p.left {
		if l.PID == row.PID {
			e.Verdict, e.Reason, e.Detail = "left-behind", l.Reason, fmt.Sprintf("in the tree of the orphan %d, %s", l.Orphan, printable(l.Detail))
		}
	}
	for _, v := range p.spared {
		if v.PID == row.PID {
			e.Verdict, e.Rule, e.Reason, e.Detail = "spared", v.Rule, v.Reason, printable(v.Detail)
		}
	}
	if t := p.known[row.ID()]; t != nil {
		e.Verdict, e.Rule, e.Reason, e.Detail = "orphan", t.tree.root.Rule, "", printable(t.tree.root.Detail)
		if t.tree.root.PID != row.PID {
			e.Verdict, e.Detail = "member", fmt.Sprintf("goes with the orphan %d: %s", t.tree.root.PID, printable(t.tree.root.Detail))
		}
	}
	return e
}

// keepOnly leaves in the report what concerns the named processes, and sums it up anew.
func (e *Explanation) keepOnly(pids []int) {
	named := map[int]bool{}
	for _, pid := range pids {
		named[pid] = true
	}
	r := e.Report
	orphans, spared, left := r.Orphans, r.Spared, r.LeftBehind
	r.Orphans, r.Spared, r.LeftBehind, r.Totals = []Orphan{}, []Spared{}, []LeftBehind{}, Totals{}
	for _, o := range orphans {
		for _, m := range o.Members {
			if named[m.PID] {
				r.add(o)
				break
			}
		}
	}
	for _, s := range spared {
		if named[s.PID] {
			r.Spared = append(r.Spared, s)
		}
	}
	for _, l := range left {
		if named[l.PID] || named[l.Orphan] {
			r.LeftBehind = append(r.LeftBehind, l)
		}
	}
	r.Exit = ExitDone
	e.Report = r
}
