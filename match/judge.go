package match

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"reaper/platform"
)

// World is one reading and what the judgement needs to know of the sweep.
type World struct {
	Table    *Table
	System   platform.System
	Now      uint64 // ticks since boot at the end of the reading
	AllUsers bool
	TmpRoots []TmpRoot // what <tmp> stands for
}

// Verdict is what the rules say of one matched process: an orphan with the test
// that proved it, or spared with the reason.
type Verdict struct {
	PID     int
	Start   uint64
	Rule    string
	Orphan  bool
	Test    TestKind // that proved it, for an orphan
	Reason  Reason   // for a spared process
	Detail  string   // the facts in words
	Blocker int      // pid of the live process that spares it, 0 where none does
	Unsure  bool     // spared for want of an answer about another process
	Action  Action
	Stop    Stop
	Markers []platform.Var // the rule's own variables as the process carries them
}

// Judgement is the outcome of Judge. While it Needs facts it is provisional:
// answer them and judge again.
type Judgement struct {
	Orphans []Verdict // in the order of start and pid, so that the order of the census does not matter
	Spared  []Verdict

	judge *judge
}

type judge struct {
	rules *Rules
	world *World
	facts Facts
	needs map[Fact]bool
	mine  map[int]bool // the sweeper and its ancestors
}

// Judge says of every process that a rule matches whether it is an orphan.
func Judge(rules *Rules, world *World, facts Facts) *Judgement {
	j := &judge{rules: rules, world: world, facts: facts, needs: map[Fact]bool{}, mine: map[int]bool{world.System.PID: true}}
	up, _ := world.Table.Ancestors(world.System.PID)
	for _, pid := range up {
		j.mine[pid] = true
	}
	out := &Judgement{judge: j}
	for i := range world.Table.Rows() {
		p := &world.Table.Rows()[i]
		v, matched := j.process(p)
		switch {
		case !matched:
		case v.Orphan:
			out.Orphans = append(out.Orphans, v)
		default:
			out.Spared = append(out.Spared, v)
		}
	}
	out.sort()
	return out
}

func (j *Judgement) sort() {
	order := func(a, b Verdict) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID)) }
	slices.SortFunc(j.Orphans, order)
	slices.SortFunc(j.Spared, order)
}

// Needs returns the facts that were asked for and are not known, those asked by
// LiveFollows and Adopted since included.
func (j *Judgement) Needs() []Fact {
	needs := make([]Fact, 0, len(j.judge.needs))
	for f := range j.judge.needs {
		needs = append(needs, f)
	}
	return needs
}

// ask returns what is known of a fact, and notes that it is needed where nothing is.
func (j *judge) ask(f Fact) (Known, bool) {
	k, ok := j.facts[f]
	if !ok {
		j.needs[f] = true
	}
	return k, ok
}

// process judges one row by all rules: what never may be touched first, then
// each rule that matches, and a live owner by any of them spares.
func (j *judge) process(p *platform.Process) (Verdict, bool) {
	if p.Exited() {
		return Verdict{}, false
	}
	matched := j.matching(p, p.Vars)
	if len(matched) == 0 {
		return Verdict{}, false
	}
	first := j.verdict(p, matched[0], p.Vars)
	if reason, detail := j.guard(p); reason != "" {
		return first.spare(reason, detail, 0), true
	}
	own, passedOn := j.ownVars(p)
	matched = j.matching(p, own)
	if len(matched) == 0 {
		return first.spare(passedOn.reason, passedOn.detail, 0), true
	}
	verdicts := make([]Verdict, len(matched))
	for i, r := range matched {
		verdicts[i] = j.rule(r, p, own)
	}
	return combine(verdicts), true
}

// combine makes one verdict of those of several rules: the first in file order
// that proves an orphan names it, unless a live owner by any rule spares it. From
// a bound that is passed no owner does.
func combine(verdicts []Verdict) Verdict {
	veto := slices.IndexFunc(verdicts, vetoes)
	for _, v := range verdicts {
		if v.Orphan && (veto < 0 || v.Test == Over) {
			return v
		}
	}
	return verdicts[max(veto, 0)]
}

// vetoes says whether a rule's no holds against every other rule's yes: what the
// process follows or is owned by runs, or nobody can tell.
func vetoes(v Verdict) bool {
	return !v.Orphan && (v.Test == Follows || v.Test == Unowned)
}

func (v Verdict) spare(reason Reason, detail string, blocker int) Verdict {
	v.Orphan, v.Reason, v.Detail, v.Blocker = false, reason, detail, blocker
	return v
}

func (v Verdict) prove(test TestKind, detail string) Verdict {
	v.Orphan, v.Test, v.Detail = true, test, detail
	return v
}

func (j *judge) verdict(p *platform.Process, r *Rule, vars []platform.Var) Verdict {
	return Verdict{PID: p.PID, Start: p.Start, Rule: r.Name, Action: r.Action, Stop: r.Stop, Markers: r.own(vars)}
}

// own keeps the variables that the rule itself names; nothing else of an
// environment is ever shown.
func (r *Rule) own(vars []platform.Var) []platform.Var {
	var own []platform.Var
	for _, v := range vars {
		if r.names(v.Name) {
			own = append(own, v)
		}
	}
	return own
}

func (r *Rule) names(name string) bool {
	for _, m := range r.Marker {
		if m.Name == name {
			return true
		}
	}
	for _, t := range r.Orphan {
		if (t.Kind == Follows || t.Kind == Gone) && t.Name == name {
			return true
		}
	}
	return false
}

func (r *Rule) follows(name string) bool {
	for _, t := range r.Orphan {
		if t.Kind == Follows && t.Name == name {
			return true
		}
	}
	return false
}

// rule runs the tests of a matching rule in order; the first that answers decides.
func (j *judge) rule(r *Rule, p *platform.Process, vars []platform.Var) Verdict {
	v := j.verdict(p, r, vars)
	for _, test := range r.Orphan {
		got, answered := j.test(test, r, p, vars, v)
		if !answered {
			continue
		}
		if !got.Orphan {
			got.Test = test.Kind
			return got
		}
		if age := j.age(p); r.OlderThan > 0 && age < r.OlderThan {
			return v.spare(TooYoung, fmt.Sprintf("%s old, the rule asks for %s", Duration(age.Round(time.Second)), Duration(r.OlderThan)), 0)
		}
		if !j.surely(r, vars) {
			return v.spare(UnknownReason, "has a marker more than once, with values that are none, and which one counts cannot be told", 0)
		}
		return got
	}
	last := r.Orphan[len(r.Orphan)-1]
	return v.spare(Undecided, "no test says orphan: "+j.explainSilence(last, p, vars), 0)
}

func (j *judge) test(t Test, r *Rule, p *platform.Process, vars []platform.Var, v Verdict) (Verdict, bool) {
	switch t.Kind {
	case Follows:
		return j.testFollows(t, p, vars, v)
	case Adopted:
		return j.testAdopted(p, v), true
	case Unowned:
		return j.testUnowned(t, r, p, v), true
	case Gone:
		return j.testGone(t, p, vars, v)
	case Over:
		return j.testOver(t, p, v)
	}
	return v, false
}

// age is how long the process has run, 0 where its start is not known.
func (j *judge) age(p *platform.Process) time.Duration {
	return j.world.Age(p.Start)
}

// Age is the time from a start token to the end of the reading.
func (w *World) Age(start uint64) time.Duration {
	hz := w.System.TicksPerSecond
	if start == 0 || start > w.Now || hz == 0 {
		return 0
	}
	whole, part := (w.Now-start)/hz, (w.Now-start)%hz
	if whole >= uint64(math.MaxInt64/time.Second) {
		return math.MaxInt64
	}
	// Whole seconds apart from the rest: microseconds times 1e9 overflow after two hours and a half.
	return time.Duration(whole)*time.Second + time.Duration(part*uint64(time.Second)/hz)
}

// matching returns the rules that select the process by the given variables.
func (j *judge) matching(p *platform.Process, vars []platform.Var) []*Rule {
	var matched []*Rule
	for i := range j.rules.Rules {
		if r := &j.rules.Rules[i]; j.matches(r, p, vars) {
			matched = append(matched, r)
		}
	}
	return matched
}

// matches says whether a rule selects the process: its command, if it names
// one, and one of its markers, if it has any. A process whose environment cannot
// be read is selected by its command alone, so that it can be reported as such.
func (j *judge) matches(r *Rule, p *platform.Process, vars []platform.Var) bool {
	if len(r.Command) > 0 && !anyMatch(r.Command, p.Argv) {
		return false
	}
	if unseen(p) {
		return len(r.Command) > 0
	}
	if len(r.Marker) == 0 {
		return true
	}
	for _, v := range vars {
		if j.carriesAny(r, v) {
			return true
		}
	}
	return false
}

// surely says whether a marker selects the process whichever of a variable's
// several values its program goes by.
func (j *judge) surely(r *Rule, vars []platform.Var) bool {
	for _, m := range r.Marker {
		some, all := false, true
		for _, v := range vars {
			if v.Name == m.Name {
				some, all = true, all && j.carriesAny(r, v)
			}
		}
		if some && all {
			return true
		}
	}
	return len(r.Marker) == 0
}

func (j *judge) carriesAny(r *Rule, v platform.Var) bool {
	for _, m := range r.Marker {
		if m.Name == v.Name && j.carries(r, m, v.Value) {
			return true
		}
	}
	return false
}

// unseen says whether the environment is there and not shown.
func unseen(p *platform.Process) bool {
	return p.Env == platform.EnvUnreadable || p.Env == platform.EnvWithheld
}

// carries says whether a value counts as the marker. A variable that the rule
// follows counts only while it names a pid: emptying it is an opt-out.
func (j *judge) carries(r *Rule, m Marker, value string) bool {
	if !r.mayCarry(m, value, j.world.System.MaxPID) || !m.NeedsLinks(value) {
		return r.mayCarry(m, value, j.world.System.MaxPID)
	}
	k, ok := j.ask(Fact{Kind: FactLinks, Path: value})
	return ok && m.MatchValue(value, j.world.TmpRoots, k.Links)
}

func anyMatch(patterns []Pattern, argv []string) bool {
	for _, p := range patterns {
		if p.Match(argv) {
			return true
		}
	}
	return false
}

// Candidate says whether a row of a census's first pass may concern the rules at
// all; it needs no fact and errs towards yes.
func (r *Rules) Candidate(p *platform.Process, maxPID int) bool {
	for i := range r.Rules {
		if r.Rules[i].candidate(p, maxPID) {
			return true
		}
	}
	return false
}

func (r *Rule) candidate(p *platform.Process, maxPID int) bool {
	if unseen(p) || len(r.Marker) == 0 {
		return len(r.Command) > 0 && p.Argv != nil && anyMatch(r.Command, p.Argv)
	}
	for _, m := range r.Marker {
		for _, v := range p.Vars {
			if v.Name != m.Name {
				continue
			}
			if r.mayCarry(m, v.Value, maxPID) {
				return true
			}
		}
	}
	return false
}

// mayCarry is carries without the facts: yes where it depends on them.
func (r *Rule) mayCarry(m Marker, value string, maxPID int) bool {
	if r.follows(m.Name) {
		if _, _, _, ok := ParseFollowed(value, maxPID); !ok {
			return false
		}
	}
	return m.NeedsLinks(value) || m.MatchValue(value, nil, nil)
}
