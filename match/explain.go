package match

import (
	"fmt"
	"path"
	"time"

	"reaper/platform"
)

// RuleAnswer is what one rule says of one process, whether it matches or not.
type RuleAnswer struct {
	Rule      string       `json:"rule"`
	Matches   bool         `json:"matches"`
	Command   string       `json:"command"`              // which pattern matched, or why none did
	Marker    string       `json:"marker"`               // which marker is present, or why none is
	Tests     []TestAnswer `json:"tests"`                // all of them, also those after the one that decides
	OlderThan string       `json:"older_than,omitempty"` // whether an orphan is old enough, where the rule asks
}

// TestAnswer is what one test says: yes (orphan), no (spared) or abstains.
type TestAnswer struct {
	Test    string `json:"test"`
	Answer  string `json:"answer"`
	Reason  Reason `json:"reason,omitempty"`
	Detail  string `json:"detail"`
	Decides bool   `json:"decides"`
}

// Account is all that the judgement knows of one process.
type Account struct {
	Guard       Reason       `json:"guard,omitempty"` // why it is never touched, whatever a rule says
	GuardDetail string       `json:"guard_detail,omitempty"`
	Rules       []RuleAnswer `json:"rules"`
}

// Explain asks every rule about the process. Like Judge it may need facts.
func (j *Judgement) Explain(p *platform.Process) Account {
	var a Account
	a.Guard, a.GuardDetail = j.judge.guard(p)
	own, by := j.judge.ownVars(p)
	if a.Guard == "" && by.reason != "" && len(j.judge.matching(p, own)) == 0 && len(j.judge.matching(p, p.Vars)) > 0 {
		a.Guard, a.GuardDetail = by.reason, by.detail
	}
	for i := range j.judge.rules.Rules {
		a.Rules = append(a.Rules, j.judge.explain(&j.judge.rules.Rules[i], p, own))
	}
	return a
}

func (j *judge) explain(r *Rule, p *platform.Process, vars []platform.Var) RuleAnswer {
	a := RuleAnswer{Rule: r.Name, Matches: j.matches(r, p, vars), Command: explainCommand(r, p), Marker: j.explainMarker(r, p, vars), Tests: []TestAnswer{}}
	decided := !a.Matches
	for _, t := range r.Orphan {
		v, answered := j.test(t, r, p, vars, j.verdict(p, r, vars))
		said := TestAnswer{Test: t.String(), Answer: "abstains"}
		if !answered {
			said.Detail = j.explainSilence(t, p, vars)
		} else {
			said.Answer, said.Reason, said.Detail = "no", v.Reason, v.Detail
			if v.Orphan {
				said.Answer, said.Reason = "yes", ""
			}
			said.Decides, decided = !decided, true
		}
		a.Tests = append(a.Tests, said)
	}
	if r.OlderThan > 0 {
		a.OlderThan = j.explainAge(r, p)
	}
	return a
}

func (j *judge) explainAge(r *Rule, p *platform.Process) string {
	age, enough := j.age(p), "old enough"
	if age < r.OlderThan {
		enough = "too young"
	}
	return fmt.Sprintf("%s: %s old, the rule asks for %s", enough, Duration(age.Round(time.Second)), Duration(r.OlderThan))
}

// String is the test as a rules file writes it.
func (t Test) String() string {
	switch t.Kind {
	case Follows, Gone:
		return string(t.Kind) + ": " + t.Name
	case Unowned:
		return string(t.Kind) + ": " + t.Owner.Text
	case Over:
		return string(t.Kind) + ": " + Size(t.Over)
	}
	return string(t.Kind)
}

func explainCommand(r *Rule, p *platform.Process) string {
	if len(r.Command) == 0 {
		return "any command"
	}
	for _, c := range r.Command {
		if c.Match(p.Argv) {
			return "matches " + c.Text
		}
	}
	if len(p.Argv) == 0 {
		return "has no command line"
	}
	return "matches none of the rule's patterns"
}

func (j *judge) explainMarker(r *Rule, p *platform.Process, vars []platform.Var) string {
	switch {
	case len(r.Marker) == 0:
		return "any environment"
	case p.Env == platform.EnvUnreadable:
		return "its environment cannot be read"
	case p.Env == platform.EnvOverwritten:
		return "its environment is empty or overwritten"
	}
	for _, m := range r.Marker {
		for _, v := range vars {
			if v.Name == m.Name && j.carries(r, m, v.Value) {
				return fmt.Sprintf("carries %s=%s", v.Name, v.Value)
			}
		}
	}
	for _, m := range r.Marker {
		for _, v := range p.Vars {
			if v.Name == m.Name {
				return fmt.Sprintf("%s=%s does not count: %s", v.Name, v.Value, j.explainValue(r, m, v, vars))
			}
		}
	}
	return "carries none of the rule's markers"
}

func (j *judge) explainValue(r *Rule, m Marker, v platform.Var, own []platform.Var) string {
	if !has(own, v) {
		return "it was inherited from a protected process"
	}
	if _, _, _, ok := ParseFollowed(v.Value, j.world.System.MaxPID); r.follows(m.Name) && !ok {
		return "it is no pid above 1"
	}
	return "it does not match " + m.Glob
}

// explainSilence says why a test abstained.
func (j *judge) explainSilence(t Test, p *platform.Process, vars []platform.Var) string {
	if t.Kind == Over {
		if sum, complete := j.memory(p); complete {
			return fmt.Sprintf("its tree holds %s of PSS and swap, not over the rule's %s", Size(sum), Size(t.Over))
		}
		return "the memory of its tree cannot be read"
	}
	var set, own bool
	var value string
	for _, v := range p.Vars {
		if v.Name == t.Name && !set {
			set, own, value = true, has(vars, v), v.Value
		}
	}
	switch {
	case p.Env == platform.EnvUnreadable:
		return "its environment cannot be read"
	case !set:
		return t.Name + " is not set"
	case !own:
		return t.Name + " was inherited from a protected process"
	case t.Kind == Follows:
		return fmt.Sprintf("%s=%s is no pid above 1", t.Name, value)
	case j.age(p) < newborn:
		return fmt.Sprintf("the process is younger than %s, and may be about to create it", Duration(newborn))
	case !path.IsAbs(value):
		return fmt.Sprintf("%s=%s is no absolute path", t.Name, value)
	case j.facts[Fact{Kind: FactGone, Process: p.ID(), Path: value}].Is == platform.No:
		return fmt.Sprintf("%s=%s exists", t.Name, value)
	}
	return fmt.Sprintf("whether %s=%s exists cannot be told", t.Name, value)
}
