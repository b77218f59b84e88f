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
	PID      int      `json:"pid"`
	Start    uint64   `json:"start"`
	PPID     int      `json:"ppid"`
	PGID     int      `json:"pgid"`
	SID      int      `json:"sid"`
	UID      int      `json:"uid"`
	User     string   `json:"user"`
	AgeS     float64  `json:"age_s"`
	RSSBytes uint64   `json:"rss_bytes"`
	State    string   `json:"state"` // running, sleeping, waiting (for a device), stopped, exited, kernel thread or unknown
	Command  []string `json:"command"`
	match.Account
	Verdict   string       `json:"verdict"`        // orphan, member, spared, left-behind, unmatched, unknown (whether a rule matches) or exited
	Rule      string       `json:"rule,omitempty"` // by which that is so
	Reason    match.Reason `json:"reason,omitempty"`
	Detail    string       `json:"detail"`
	Otherwise Otherwise    `json:"otherwise"`
	Kin
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
	p.confirm(ctx)
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
	accounts, kin, stand := p.accounts(ctx, pids)
	p.promise()
	r := p.report()
	r.DryRun = true
	e := &Explanation{Report: *r, Gone: gone}
	for i, pid := range pids {
		e.Explained = append(e.Explained, p.explained(ctx, p.reading.table.Get(pid), accounts[i], kin[i], stand[i]))
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
func (p *plan) accounts(ctx context.Context, pids []int) ([]match.Account, []Kin, []standing) {
	for round := 0; ; round++ {
		var g growth
		p.reading, g = p.judged(ctx, p.hypothesis())
		r := p.reading
		accounts, kin, stand := make([]match.Account, len(pids)), make([]Kin, len(pids)), make([]standing, len(pids))
		for i, pid := range pids {
			row := r.table.Get(pid)
			accounts[i], kin[i], stand[i] = r.judged.Explain(row), p.kin(ctx, row, g), standingIn(r, g, pid)
		}
		if needs := r.judged.Needs(); len(needs) == 0 || round == maxRounds {
			return accounts, kin, stand
		}
		p.s.settle(ctx, r, func(*match.Judgement) []branch { return nil })
	}
}

func (p *plan) explained(ctx context.Context, row *platform.Process, a match.Account, k Kin, stands standing) Explained {
	showAccount(&a)
	k.printable()
	e := Explained{PID: row.PID, Start: row.Start, PPID: row.PPID, PGID: row.PGID, SID: row.SID, UID: row.UID,
		AgeS: p.age(row.Start), State: stateOf(row), Command: command(row), Account: a, Kin: k}
	usage := p.s.m.Usage([]int{row.PID})[0]
	e.User, e.RSSBytes = usage.User, usage.RSS
	if stands.verdict == "unmatched" {
		stands = unmatched(row, &a)
	}
	e.Verdict, e.Rule, e.Reason, e.Detail = stands.verdict, stands.rule, stands.reason, printable(stands.detail)
	e.Otherwise = p.otherwise(ctx, row, &stands, a.Guard)
	for i := range e.Otherwise.If {
		e.Otherwise.If[i] = printable(e.Otherwise.If[i])
	}
	return e
}

// unmatched says why no rule is about the process, or that nobody can tell.
func unmatched(row *platform.Process, a *match.Account) standing {
	if row.Exited() {
		return standing{verdict: "exited"}
	}
	for _, r := range a.Rules {
		if r.Matches == "unknown" {
			return standing{verdict: "unknown", reason: match.EnvUnreadable, detail: "whether a rule matches it cannot be told: " + r.Marker.Detail}
		}
	}
	return standing{verdict: "unmatched", detail: "no rule matches it"}
}

func showAccount(a *match.Account) {
	a.GuardDetail = printable(a.GuardDetail)
	for i := range a.Rules {
		rule := &a.Rules[i]
		rule.Command.Detail, rule.Marker.Detail = printable(rule.Command.Detail), printable(rule.Marker.Detail)
		for t := range rule.Tests {
			rule.Tests[t].Test, rule.Tests[t].Detail = printable(rule.Tests[t].Test), printable(rule.Tests[t].Detail)
		}
	}
}

// stateOf is the state of proc_pid_stat(5) in a word.
func stateOf(row *platform.Process) string {
	switch {
	case row.Kernel:
		return "kernel thread"
	case row.Exited():
		return "exited"
	}
	switch row.State {
	case 'R':
		return "running"
	case 'S', 'I':
		return "sleeping"
	case 'D':
		return "waiting"
	case 'T', 't':
		return "stopped"
	case 'Z', 'X', 'x':
		return "running" // threads do, without their leader
	}
	return "unknown"
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
