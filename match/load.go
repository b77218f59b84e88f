package match

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// MaxFile is the size of a rules file in bytes that Load reads.
const MaxFile = 1 << 20

// DefaultSource is the Rules.Source of Default.
const DefaultSource = "built-in default"

// DefaultText is the rules file that stands in where there is none.
//
//go:embed default.yaml
var DefaultText string

// Load reads a rules file: YAML, strict. Source is the file's name for messages.
// What is wrong with the content is returned as *Problems, every mistake at once.
func Load(source string, data []byte) (*Rules, error) {
	data = withoutBOM(data)
	problems := &Problems{Source: source, data: data}
	root, repaired := parse(data, problems)
	if root == nil {
		return nil, problems.err()
	}
	d := decoder{problems: problems, repaired: repaired}
	rules := d.file(root)
	if err := problems.err(); err != nil {
		return nil, err
	}
	rules.Source = source
	return rules, nil
}

// Default returns the rules that hold where there is no file: one rule for
// whatever carries REAPER_PARENT_PID and outlived the process that it names.
func Default() *Rules {
	rules, err := Load(DefaultSource, []byte(DefaultText))
	if err != nil {
		panic(err) // a test loads it
	}
	return rules
}

// Names returns the environment variables that a census has to keep: those of
// the markers and tests, and FollowNames. Sorted, each once.
func (r *Rules) Names() []string {
	names := r.FollowNames()
	for _, rule := range r.Rules {
		for _, marker := range rule.Marker {
			names = append(names, marker.Name)
		}
		for _, test := range rule.Orphan {
			if test.Kind == Gone {
				names = append(names, test.Name)
			}
		}
	}
	return sortedOnce(names)
}

// FollowNames returns the variables that some rule follows, also those of rules
// that Only left out: a process that follows a running one hosts live work,
// whichever rule says so. Sorted, each once.
func (r *Rules) FollowNames() []string {
	names := slices.Clone(r.followed)
	for _, rule := range r.Rules {
		for _, test := range rule.Orphan {
			if test.Kind == Follows {
				names = append(names, test.Name)
			}
		}
	}
	return sortedOnce(names)
}

// NeedsArgv says whether some rule has no marker, so that every process's command
// line has to be read.
func (r *Rules) NeedsArgv() bool {
	return slices.ContainsFunc(r.Rules, func(rule Rule) bool { return len(rule.Marker) == 0 })
}

// Only returns the rules with these names, in file order; without names, all of
// them. A name that no rule has is an error.
func (r *Rules) Only(names []string) (*Rules, error) {
	if len(names) == 0 {
		return r, nil
	}
	for _, name := range names {
		if err := r.mustHave(name); err != nil {
			return nil, err
		}
	}
	only := *r
	only.followed = r.FollowNames()
	only.Rules = nil
	for _, rule := range r.Rules {
		if slices.Contains(names, rule.Name) {
			only.Rules = append(only.Rules, rule)
		}
	}
	return &only, nil
}

func (r *Rules) mustHave(name string) error {
	var known []string
	for _, rule := range r.Rules {
		known = append(known, rule.Name)
	}
	if slices.Contains(known, name) {
		return nil
	}
	return fmt.Errorf("no rule is named %s in %s: %s", quoted(name), escaped(r.Source), suggestion(name, known, "its rules are "+strings.Join(known, ", ")))
}

func sortedOnce(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
