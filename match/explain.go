package match

import (
	"fmt"
	"path"
	"time"

	"reaper/platform"
)

// Said is an answer and the facts that it comes of, in words. Answers are yes, no
// and unknown, and of a test also abstains.
type Said struct {
	Answer string `json:"answer"`
	Detail string `json:"detail"`
}

// RuleAnswer is what one rule says of one process, whether it matches or not.
type RuleAnswer struct {
	Rule      string       `json:"rule"`
	Matches   string       `json:"matches"` // yes, no or unknown: its environment cannot be read
	Command   Said         `json:"command"`
	Marker    Said         `json:"marker"`
	Tests     []TestAnswer `json:"tests"`                // all of them, also those after the one that decides
	OlderThan *Said        `json:"older_than,omitempty"` // whether it is old enough, where the rule asks
}

// TestAnswer is what one test says: yes (orphan), no (spared), unknown (spared too)
// or abstains.
type TestAnswer struct {
	Test string `json:"test"`
	Said
	Reason  Reason `json:"reason,omitempty"`
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
	a := Account{Rules: []RuleAnswer{}}
	a.Guard, a.GuardDetail = j.judge.guard(p)
	own, by := j.judge.ownVars(p)
	if a.Guard == "" && by.reason != "" && len(j.judge.matching(p, own)) == 0 && len(j.judge.matching(p, p.Vars)) > 0 {
		a.Guard, a.GuardDetail = by.reason, by.detail
	}
	for i := range j.judge.rules.Rules {
		a.Rules = append(a.Rules, j.judge.explain(&j.judge.rules.Rules[i], p, own, a.Guard == ""))
	}
	return a
}

// explain asks one rule. Where the process is never touched no test decides.
func (j *judge) explain(r *Rule, p *platform.Process, vars []platform.Var, open bool) RuleAnswer {
	a := RuleAnswer{Rule: r.Name, Command: explainCommand(r, p), Marker: j.explainMarker(r, p, vars), Tests: []TestAnswer{}}
	a.Matches = both(a.Command.Answer, a.Marker.Answer)
	decided := a.Matches != yes || !open
	for _, t := range r.Orphan {
		v, answered := j.test(t, r, p, vars, j.verdict(p, r, vars))
		said := TestAnswer{Test: t.String(), Said: Said{"abstains", ""}}
		switch {
		case !answered:
			said.Detail = j.explainSilence(t, p, vars)
			if (t.Kind == Follows || t.Kind == Gone) && unseen(p) {
				said.Answer = unknown
			}
		case v.Orphan:
			said.Said = Said{yes, v.Detail}
		case v.Reason == UnknownReason:
			said.Said, said.Reason = Said{unknown, v.Detail}, v.Reason
		default:
			said.Said, said.Reason = Said{no, v.Detail}, v.Reason
		}
		if answered {
			said.Decides, decided = !decided, true
		}
		a.Tests = append(a.Tests, said)
	}
	if r.OlderThan > 0 {
		a.OlderThan = j.explainAge(r, p)
	}
	return a
}

// Answers of an account.
const yes, no, unknown = "yes", "no", "unknown"

func both(a, b string) string {
	switch {
	case a == no || b == no:
		return no
	case a == unknown || b == unknown:
		return unknown
	}
	return yes
}

func (j *judge) explainAge(r *Rule, p *platform.Process) *Said {
	age, enough := j.age(p), yes
	if age < r.OlderThan {
		enough = no
	}
	return &Said{enough, fmt.Sprintf("%s old, the rule asks for %s", Duration(age.Round(time.Second)), Duration(r.OlderThan))}
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

func explainCommand(r *Rule, p *platform.Process) Said {
	if len(r.Command) == 0 {
		return Said{yes, "any command"}
	}
	for _, c := range r.Command {
		if c.Match(p.Argv) {
			return Said{yes, "matches " + c.Text}
		}
	}
	if len(p.Argv) == 0 {
		return Said{no, "has no command line"}
	}
	return Said{no, "matches none of the rule's patterns"}
}

func (j *judge) explainMarker(r *Rule, p *platform.Process, vars []platform.Var) Said {
	switch {
	case len(r.Marker) == 0:
		return Said{yes, "any environment"}
	case unseen(p):
		return Said{unknown, whyUnseen(p)}
	}
	for _, v := range vars {
		if j.carriesAny(r, v) {
			return Said{yes, fmt.Sprintf("carries %s=%s", v.Name, v.Value)}
		}
	}
	for _, m := range r.Marker {
		for _, v := range p.Vars {
			if v.Name == m.Name {
				return Said{no, fmt.Sprintf("%s=%s does not count: %s", v.Name, v.Value, j.explainValue(r, m, v, vars))}
			}
		}
	}
	if p.Env == platform.EnvOverwritten {
		return Said{no, "its environment is empty or overwritten"}
	}
	return Said{no, "carries none of the rule's markers"}
}

func whyUnseen(p *platform.Process) string {
	if p.Env == platform.EnvWithheld {
		return "macOS does not show its environment"
	}
	return "its environment cannot be read"
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
	case unseen(p):
		return whyUnseen(p)
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
