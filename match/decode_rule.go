package match

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

func (d *decoder) rules(n *yaml.Node, defaults Stop) []Rule {
	if isNull(n) || n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		d.problem(n, "no rules", "add one: `- name: …`")
		return nil
	}
	var rules []Rule
	lines := map[string]int{}
	for _, entry := range d.list(n, "rules") {
		rule, name := d.rule(entry, defaults)
		if name != nil {
			if first := lines[rule.Name]; first > 0 {
				d.problem(name, fmt.Sprintf("a second rule named %s, the first is in line %d", quoted(rule.Name), first), "give each rule a name of its own")
			}
			lines[rule.Name] = name.Line
		}
		rules = append(rules, rule)
	}
	return rules
}

// rule reads one rule, and returns the node of its name if that is one.
func (d *decoder) rule(n *yaml.Node, defaults Stop) (rule Rule, name *yaml.Node) {
	rule = Rule{Action: ActionStop, Stop: defaults}
	seen := map[string]*yaml.Node{}
	see := func(key string, read func(*yaml.Node)) field {
		return field{key, func(value *yaml.Node) { seen[key] = value; read(value) }}
	}
	read := d.mapping(n, "a rule", []field{
		see("name", func(v *yaml.Node) { rule.Name = d.ruleName(v) }),
		see("command", func(v *yaml.Node) { rule.Command = d.patterns(v, "command") }),
		see("marker", func(v *yaml.Node) { rule.Marker = d.markers(v) }),
		see("orphan", func(v *yaml.Node) { rule.Orphan = d.tests(v) }),
		see("older_than", func(v *yaml.Node) { d.duration(v, "older_than", &rule.OlderThan) }),
		see("action", func(v *yaml.Node) { rule.Action = d.action(v) }),
		see("stop", func(v *yaml.Node) { d.stop(v, &rule.Stop) }),
	})
	if read {
		d.complete(n, seen)
	}
	if rule.Name != "" {
		name = seen["name"]
	}
	return rule, name
}

// complete notes what a rule has to say and does not.
func (d *decoder) complete(n *yaml.Node, seen map[string]*yaml.Node) {
	if seen["name"] == nil {
		d.problem(n, "a rule without a name", "add `name: …`, it is what reports and --only call it")
	}
	if seen["orphan"] == nil {
		d.problem(n, "a rule without `orphan` proves nothing", "add a list of tests, such as `orphan: [adopted]`")
	}
	switch marker := seen["marker"]; {
	case marker == nil && seen["command"] == nil:
		d.problem(n, "a rule that does not say what it matches", "add `marker`, `command` or both")
	case marker == nil:
		d.problem(n, "a rule without `marker`", "name a variable, or write `marker: none` where the command alone is to match")
	case isNone(marker) && seen["command"] == nil:
		d.problem(marker, "`marker: none` without `command` matches every process", "add `command`")
	}
}

func (d *decoder) ruleName(n *yaml.Node) string {
	name, ok := d.text(n, "`name`")
	if !ok {
		return ""
	}
	if utf8.RuneCountInString(name) > maxName {
		d.problem(n, fmt.Sprintf("a name of more than %d characters", maxName), "")
		return ""
	}
	if strings.HasPrefix(name, "-") || strings.ContainsFunc(name, notInName) {
		d.problem(n, fmt.Sprintf("%s is no name for a rule", quoted(name)), "a name is letters, digits, '.', '_' and '-', and begins with no '-'")
		return ""
	}
	return name
}

func notInName(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' && r != '_' && r != '-'
}

func isNone(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Value == "none" }

// markers reads `marker`: a list, or the word none.
func (d *decoder) markers(n *yaml.Node) []Marker {
	if isNone(n) && !d.refused(n) {
		return nil
	}
	var markers []Marker
	for _, entry := range d.list(n, "marker") {
		markers = append(markers, d.marker(entry))
	}
	return markers
}

func (d *decoder) marker(n *yaml.Node) Marker {
	text, ok := d.text(n, "a marker")
	if !ok {
		return Marker{}
	}
	if text == "none" {
		d.problem(n, "a marker named none", "write `marker: none`, without a list")
		return Marker{}
	}
	name, glob, hasGlob := strings.Cut(text, "=")
	d.variable(n, name)
	if hasGlob {
		d.glob(n, glob)
	}
	return Marker{Name: name, Glob: glob}
}

// variable notes what no environment variable is named. Names may be odd
// (`npm_config_a-b`, `ProgramFiles(x86)`), but what reads as a pattern, a
// reference or a quote is a mistake.
func (d *decoder) variable(n *yaml.Node, name string) {
	switch {
	case name == "":
		d.problem(n, "a variable without a name", "write NAME")
	case strings.HasPrefix(name, "$"):
		d.problem(n, fmt.Sprintf("%s is a reference, not a variable's name", quoted(name)), "write it without the '$'")
	case strings.ContainsAny(name, "*?[]{}"):
		d.problem(n, fmt.Sprintf("%s is a pattern, not a variable's name", quoted(name)), "name each variable")
	case strings.ContainsFunc(name, notInVariable):
		d.problem(n, fmt.Sprintf("%s is no variable's name", quoted(name)), "a name is ASCII letters, digits and '_'")
	}
}

func notInVariable(r rune) bool {
	return r <= ' ' || r > '~' || strings.ContainsRune("=$\"'`<>\\;|&", r)
}

func (d *decoder) glob(n *yaml.Node, glob string) {
	rest, isTmp := strings.CutPrefix(glob, tmpPrefix)
	switch {
	case glob == "":
		d.problem(n, "a marker without a glob after the '='", "write NAME alone for any value")
	case isTmp && (rest == "" || isUnclean("/"+rest)):
		d.problem(n, fmt.Sprintf("glob %s can match nothing", quoted(glob)), "name something below <tmp>, as in <tmp>/work-*")
	case !isTmp && strings.Contains(glob, "<tmp>"):
		d.problem(n, fmt.Sprintf("glob %s: <tmp> stands only at the beginning, before a '/'", quoted(glob)), "write <tmp>/work-*")
	case strings.HasPrefix(glob, "/") && isUnclean(glob):
		d.problem(n, fmt.Sprintf("glob %s can match nothing: no value has such a part", quoted(glob)), "write it without '.', '..', '//' and a '/' at the end")
	default:
		if err := checkGlob(glob); err != nil {
			d.problemOf(n, "marker", err)
		}
	}
}

// isUnclean says whether a part of an absolute glob is `.`, `..` or nothing, which
// no part of a cleaned value is.
func isUnclean(glob string) bool {
	for part := range strings.SplitSeq(glob[1:], "/") {
		if part == "." || part == ".." || part == "" {
			return true
		}
	}
	return false
}

func (d *decoder) action(n *yaml.Node) Action {
	text, ok := d.text(n, "`action`")
	if !ok {
		return ""
	}
	switch action := Action(text); action {
	case ActionStop, ActionReport:
		return action
	}
	known := []string{string(ActionStop), string(ActionReport)}
	d.problem(n, fmt.Sprintf("action %s is unknown", quoted(text)), suggestion(text, known, "write stop or report"))
	return ""
}
