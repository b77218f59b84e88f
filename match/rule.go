// Package match is the judgement: the rules, and what they say of a census.
// It is pure: no clock, no environment, no system call. What it lacks it asks
// for by name (Fact), and judges again once it has been answered.
package match

import (
	"fmt"
	"time"
)

// Rules is a rules file, checked and compiled.
type Rules struct {
	Source   string    // path of the file, or "built-in default"
	Rules    []Rule    // in file order
	Adopters []string  // names added to the known adopters
	Protect  []Pattern // commands never touched, beside the built-in ones
	Stop     Stop      // defaults for rules without their own

	followed []string // what the rules follow that Only left out
}

// Rule says which processes it is about, when they are orphans, and what to do.
type Rule struct {
	Name      string
	Command   []Pattern // any may match; empty: every command
	Marker    []Marker  // any may be present; empty: `marker: none`
	Orphan    []Test    // the first that answers yes or no decides
	OlderThan time.Duration
	Action    Action
	Stop      Stop // complete: defaults are filled in when the file is loaded
}

// Marker is an environment variable that selects a process.
type Marker struct {
	Name string
	Glob string // "" where any value will do; may begin with "<tmp>/"
}

// TestKind is one of the tests that prove or disprove an orphan.
type TestKind string

const (
	Follows TestKind = "follows"
	Adopted TestKind = "adopted"
	Unowned TestKind = "unowned"
	Gone    TestKind = "gone"
	Over    TestKind = "over"
)

// Test is one entry of a rule's `orphan` list.
type Test struct {
	Kind  TestKind
	Name  string  // of the variable, for Follows and Gone
	Owner Pattern // for Unowned
	Over  uint64  // bytes, for Over
}

// Action is what becomes of a proven orphan.
type Action string

const (
	ActionStop   Action = "stop"
	ActionReport Action = "report"
)

// Stop bounds how long a sweep waits: Grace from the first SIGTERM, Confirm
// from the first SIGKILL.
type Stop struct {
	Grace, Confirm time.Duration
}

// DefaultStop holds where neither file, rule nor flag says otherwise.
var DefaultStop = Stop{Grace: 2 * time.Second, Confirm: time.Second}

// Unmarked are the tests whose variable no rule has as a marker, which is often a
// name with a mistake in it.
func (r *Rules) Unmarked() []string {
	markers := map[string]bool{}
	for _, rule := range r.Rules {
		for _, m := range rule.Marker {
			markers[m.Name] = true
		}
	}
	var odd []string
	for _, rule := range r.Rules {
		for _, t := range rule.Orphan {
			if t.Name != "" && !markers[t.Name] {
				odd = append(odd, fmt.Sprintf("rule %s: %s: %s", rule.Name, t.Kind, t.Name))
			}
		}
	}
	return odd
}
