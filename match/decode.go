package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

const (
	maxName  = 64 // characters of a rule's name
	maxDepth = 16 // nothing in a rules file is nested this deeply
)

// decoder turns a document into Rules and notes every mistake on the way. Its
// methods return what they could read; the zero value stands for a mistake.
type decoder struct {
	problems *Problems
	repaired map[place]bool // see parse
	lines    []string       // of the file, once they were asked for
}

// field is a key of a mapping and what reads its value.
type field struct {
	name string
	read func(value *yaml.Node)
}

func (d *decoder) problem(at *yaml.Node, message, hint string) {
	d.problems.add(Problem{Line: at.Line, Column: at.Column, Message: message, Hint: hint})
}

// problemOf notes an error, and its advice as the hint.
func (d *decoder) problemOf(at *yaml.Node, what string, err error) {
	var a *advised
	if errors.As(err, &a) {
		d.problem(at, what+": "+a.message, a.advice)
		return
	}
	d.problem(at, what+": "+err.Error(), "")
}

// file reads the whole document.
func (d *decoder) file(root *yaml.Node) *Rules {
	d.refuseExtras(root, 0)
	rules := &Rules{Stop: DefaultStop}
	var version, list *yaml.Node
	read := d.mapping(root, "a rules file", []field{
		{"version", func(n *yaml.Node) { version = n }},
		{"rules", func(n *yaml.Node) { list = n }},
		{"adopters", func(n *yaml.Node) { rules.Adopters = d.adopters(n) }},
		{"protect", func(n *yaml.Node) { rules.Protect = d.patterns(n, "protect") }},
		{"stop", func(n *yaml.Node) { d.stop(n, &rules.Stop) }},
	})
	if !read {
		return rules
	}
	d.version(root, version)
	if list == nil {
		d.problem(root, "no rules", "add `rules:` with a list of rules")
		return rules
	}
	rules.Rules = d.rules(list, rules.Stop) // after `stop`, wherever it stands
	return rules
}

// refuseExtras notes the parts of YAML that a rules file does without, wherever
// they are: an alias is most often a pattern whose quotes were forgotten.
func (d *decoder) refuseExtras(n *yaml.Node, depth int) {
	switch {
	case depth > maxDepth:
		d.problem(n, "nested too deeply", "")
		return
	case n.Kind == yaml.AliasNode:
		d.problem(n, fmt.Sprintf("%s without quotes is a YAML alias", quoted("*"+n.Value)), "quote it: '*"+n.Value+"', or write out what it stands for; aliases are not supported")
	case n.Anchor != "":
		d.problem(n, fmt.Sprintf("%s without quotes is a YAML anchor", quoted("&"+n.Anchor)), "quote it: '&"+n.Anchor+"'; anchors are not supported")
	case n.Style&yaml.TaggedStyle != 0:
		d.problem(n, fmt.Sprintf("%s without quotes is a YAML tag", quoted(n.Tag)), "quote it: '"+n.Tag+"'; tags are not supported")
	case n.Tag == "!!merge":
		d.problem(n, "merge keys are not supported", "write the keys out")
	}
	for _, child := range n.Content {
		d.refuseExtras(child, depth+1)
	}
}

// refused says whether parse or refuseExtras spoke of this very node, so that
// there is nothing more to say of it.
func (d *decoder) refused(n *yaml.Node) bool {
	if n.Kind == yaml.ScalarNode && (n.Style&yaml.TaggedStyle != 0 || n.Anchor != "" && isNull(n)) {
		return true
	}
	return n.Kind == yaml.AliasNode || n.Tag == "!!merge" || d.repaired[place{n.Line, n.Column}]
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// kindOf names what stands at a place, for messages.
func kindOf(n *yaml.Node) string {
	switch {
	case isNull(n):
		return "nothing"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	}
	return quoted(n.Value)
}

// mapping reads each value of a mapping by its key, and notes unknown and
// repeated keys. What names it in messages.
func (d *decoder) mapping(n *yaml.Node, what string, fields []field) bool {
	if d.refused(n) {
		return false
	}
	if n.Kind != yaml.MappingNode {
		d.problem(n, fmt.Sprintf("%s is a mapping, not %s", what, kindOf(n)), "write `key: value`; the keys are "+keysOf(fields))
		return false
	}
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode && !d.refused(key) {
			d.problem(key, fmt.Sprintf("%s is no key", kindOf(key)), "the keys of "+what+" are "+keysOf(fields))
		}
		if key.Kind != yaml.ScalarNode || d.refused(key) {
			continue
		}
		if first := lines[key.Value]; first > 0 {
			d.problem(key, fmt.Sprintf("%s again, it is in line %d already", quoted(key.Value), first), "keep one of them")
			continue
		}
		lines[key.Value] = key.Line
		d.read(key, value, what, fields)
	}
	return true
}

// read has the field of that name read the value. A misspelt key counts as what
// it was meant to be, so that it is not reported missing and its value is judged.
func (d *decoder) read(key, value *yaml.Node, what string, fields []field) {
	name := key.Value
	if !slices.Contains(namesOf(fields), name) {
		d.problem(key, fmt.Sprintf("unknown key %s in %s", quoted(name), what), suggestion(name, namesOf(fields), "the keys are "+keysOf(fields)))
		name = DidYouMean(name, namesOf(fields))
	}
	for _, f := range fields {
		if f.name == name {
			f.read(value)
		}
	}
}

func namesOf(fields []field) []string {
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

func keysOf(fields []field) string { return strings.Join(namesOf(fields), ", ") }

// list returns the entries of a list, which is never empty.
func (d *decoder) list(n *yaml.Node, what string) []*yaml.Node {
	switch {
	case d.refused(n):
		return nil
	case n.Kind == yaml.SequenceNode && len(n.Content) > 0:
		return n.Content
	case n.Kind == yaml.SequenceNode || isNull(n):
		d.problem(n, fmt.Sprintf("`%s` is empty and would match nothing", what), "add an entry, or remove the key")
	case n.Kind == yaml.ScalarNode && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0 && len(n.Value) <= maxQuoted:
		d.problem(n, fmt.Sprintf("`%s` is a list, not %s", what, kindOf(n)), fmt.Sprintf("write [%s]", asWritten(n)))
	default:
		d.problem(n, fmt.Sprintf("`%s` is a list, not %s", what, kindOf(n)), "put a `-` before each entry")
	}
	return nil
}

// asWritten is a scalar with the quotes it had.
func asWritten(n *yaml.Node) string {
	switch {
	case n.Style&yaml.SingleQuotedStyle != 0:
		return "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
	case n.Style&yaml.DoubleQuotedStyle != 0:
		return quoted(n.Value)
	}
	return n.Value
}

// text returns a scalar as it is written, whatever YAML would take it for: `no`
// is a name and not false.
func (d *decoder) text(n *yaml.Node, what string) (string, bool) {
	if d.refused(n) {
		return "", false
	}
	if n.Kind != yaml.ScalarNode || isNull(n) {
		d.problem(n, fmt.Sprintf("%s is a text, not %s", what, kindOf(n)), textHint(n))
		return "", false
	}
	if err := checkText(n.Value); err != nil {
		d.problem(n, fmt.Sprintf("%s %s", what, err), "")
		return "", false
	}
	return n.Value, true
}

// textHint knows the pattern that YAML takes for a mapping: `re: x`, `a: b`.
func textHint(n *yaml.Node) string {
	if n.Kind == yaml.MappingNode && len(n.Content) == 2 && n.Content[0].Kind == yaml.ScalarNode && n.Content[1].Kind == yaml.ScalarNode {
		key, value := n.Content[0].Value, n.Content[1].Value
		if key == "re" {
			return "quote it, without the blank: 're:" + value + "'"
		}
		return "quote it: '" + key + ": " + value + "'"
	}
	return ""
}

func (d *decoder) version(root, n *yaml.Node) {
	switch {
	case n == nil:
		d.problem(root, "`version` is missing", "write `version: 1` at the top")
	case d.refused(n):
	case n.Kind != yaml.ScalarNode || n.Tag != "!!int":
		d.problem(n, fmt.Sprintf("`version` is a number, not %s", kindOf(n)), "write `version: 1`")
	case n.Value != "1":
		d.problem(n, fmt.Sprintf("version %s is unknown here", n.Value), "this reaper reads version 1")
	}
}

func (d *decoder) adopters(n *yaml.Node) []string {
	var names []string
	for _, entry := range d.list(n, "adopters") {
		name, ok := d.text(entry, "an adopter")
		if ok && strings.Contains(name, "/") {
			d.problem(entry, fmt.Sprintf("adopter %s: a name holds no '/'", quoted(name)), "write the program's name, without its folder")
			continue
		}
		names = append(names, name)
	}
	return names
}

func (d *decoder) patterns(n *yaml.Node, what string) []Pattern {
	var patterns []Pattern
	for _, entry := range d.list(n, what) {
		patterns = append(patterns, d.pattern(entry))
	}
	return patterns
}

func (d *decoder) pattern(n *yaml.Node) Pattern {
	text, ok := d.text(n, "a pattern")
	if !ok {
		return Pattern{}
	}
	if d.losesBlank(n) {
		d.problem(n, "pattern: in double quotes YAML takes the `\\` before a blank away, which leaves two words", "put it in single quotes")
		return Pattern{}
	}
	p, err := ParsePattern(text)
	if err != nil {
		d.problemOf(n, "pattern", err)
	}
	return p
}

// losesBlank says whether a text in double quotes holds a `\ `, which YAML takes
// for a plain blank, so that two words are left of one.
func (d *decoder) losesBlank(n *yaml.Node) bool {
	if n.Style&yaml.DoubleQuotedStyle == 0 {
		return false
	}
	if d.lines == nil {
		d.lines = strings.Split(string(d.problems.data), "\n")
	}
	_, written := splitAtColumn(d.lines[n.Line-1], n.Column+1)
	for i := 0; i+1 < len(written) && written[i] != '"'; i++ {
		if written[i] == '\\' {
			if i++; written[i] == ' ' {
				return true
			}
		}
	}
	return false
}

func (d *decoder) duration(n *yaml.Node, what string, into *time.Duration) {
	text, ok := d.text(n, "`"+what+"`")
	if !ok {
		return
	}
	value, err := ParseDuration(text)
	if err != nil {
		d.problemOf(n, "`"+what+"`", err)
		return
	}
	*into = value
}

func (d *decoder) stop(n *yaml.Node, stop *Stop) {
	d.mapping(n, "stop", []field{
		{"grace", func(n *yaml.Node) { d.duration(n, "grace", &stop.Grace) }},
		{"confirm", func(n *yaml.Node) { d.duration(n, "confirm", &stop.Confirm) }},
	})
}
