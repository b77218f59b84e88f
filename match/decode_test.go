package match

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// ruleWith is a valid rule with one line replaced, or added where the key is new.
func ruleWith(line string) string {
	lines := []string{"name: a", "command: [x]", "marker: [M]", "orphan: [adopted]"}
	key, _, _ := strings.Cut(line, ":")
	found := false
	for i, old := range lines {
		if strings.HasPrefix(old, key+":") {
			lines[i], found = line, true
		}
	}
	if !found {
		lines = append(lines, line)
	}
	return "version: 1\nrules:\n  - " + strings.Join(lines, "\n    ") + "\n"
}

// mistake is a text with one mistake, and where and how Load reports it.
type mistake struct {
	text, want string
}

func checkMistakes(t *testing.T, mistakes []mistake) {
	t.Helper()
	for _, m := range mistakes {
		_, err := Load("f", []byte(m.text))
		var problems *Problems
		if !errors.As(err, &problems) {
			t.Errorf("%q: %v, want a problem", m.text, err)
			continue
		}
		p := problems.List[0]
		got := fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message)
		if p.Hint != "" {
			got += " | " + p.Hint
		}
		if got != m.want || len(problems.List) > 1 {
			t.Errorf("%s\n got %s\nwant %s", err, got, m.want)
		}
	}
}

func TestMistakesOfAFile(t *testing.T) {
	rules := strings.TrimPrefix(oneRule, "version: 1\n")
	checkMistakes(t, []mistake{
		{"", "1:1: no rules: the file is empty | `reaper rules init` writes one to begin with"},
		{"---\n", "1:1: no rules: the file is empty | `reaper rules init` writes one to begin with"},
		{"version: 1\n", "1:1: no rules | add `rules:` with a list of rules"},
		{"version: 1\nrules:\n", "2:7: no rules | add one: `- name: …`"},
		{"version: 1\nrules: []\n", "2:8: no rules | add one: `- name: …`"},
		{"version: 1\nrules: {}\n", "2:8: `rules` is a list, not a mapping | put a `-` before each entry"},
		{"version: 1\nrules: x\n", "2:8: `rules` is a list, not \"x\" | write [x]"},
		{"version: 1\nrules: [x]\n", "2:9: a rule is a mapping, not \"x\" | write `key: value`; the keys are name, command, marker, orphan, older_than, action, stop"},
		{"version: 1\nrules: [[]]\n", "2:9: a rule is a mapping, not a list | write `key: value`; the keys are name, command, marker, orphan, older_than, action, stop"},
		{"version: 1\nrules: [~]\n", "2:9: a rule is a mapping, not nothing | write `key: value`; the keys are name, command, marker, orphan, older_than, action, stop"},
		{"text\n", "1:1: a rules file is a mapping, not \"text\" | write `key: value`; the keys are version, rules, adopters, protect, stop"},
		{rules, "1:1: `version` is missing | write `version: 1` at the top"},
		{"version: 2\n" + rules, "1:10: version 2 is unknown here | this reaper reads version 1"},
		{"version: '1'\n" + rules, "1:10: `version` is a number, not \"1\" | write `version: 1`"},
		{"version:\n" + rules, "1:9: `version` is a number, not nothing | write `version: 1`"},
		{"version: [1]\n" + rules, "1:10: `version` is a number, not a list | write `version: 1`"},
		{oneRule + "version: 1\n", "6:1: \"version\" again, it is in line 1 already | keep one of them"},
		{oneRule + "stopp: {}\n", "6:1: unknown key \"stopp\" in a rules file | did you mean \"stop\"?"},
		{oneRule + "colour: {}\n", "6:1: unknown key \"colour\" in a rules file | the keys are version, rules, adopters, protect, stop"},
		{oneRule + "? [a]\n: b\n", "6:3: a list is no key | the keys of a rules file are version, rules, adopters, protect, stop"},
		{oneRule + "adopters: []\n", "6:11: `adopters` is empty and would match nothing | add an entry, or remove the key"},
		{oneRule + "adopters: [/sbin/init]\n", "6:12: adopter \"/sbin/init\": a name holds no '/' | write the program's name, without its folder"},
		{oneRule + "protect:\n", "6:9: `protect` is empty and would match nothing | add an entry, or remove the key"},
		{oneRule + "protect: ['']\n", "6:11: a pattern is empty"},
		{oneRule + "stop: 2s\n", "6:7: stop is a mapping, not \"2s\" | write `key: value`; the keys are grace, confirm"},
		{oneRule + "stop: {grace: 2}\n", "6:15: `grace`: \"2\" has no unit | write 2s, 2m, 2h or 2d"},
		{oneRule + "stop: {confirm: [1s]}\n", "6:17: `confirm` is a text, not a list"},
		{oneRule + "---\nfoo: bar\n", "6:1: a second document | a rules file is one document: remove the `---`, or write two files"},
	})
}

func TestMistakesOfARule(t *testing.T) {
	checkMistakes(t, []mistake{
		{"version: 1\nrules:\n  - marker: [M]\n    orphan: [adopted]\n", "3:5: a rule without a name | add `name: …`, it is what reports and --only call it"},
		{"version: 1\nrules:\n  - name: a\n    orphan: [adopted]\n", "3:5: a rule that does not say what it matches | add `marker`, `command` or both"},
		{"version: 1\nrules:\n  - name: a\n    command: [x]\n    orphan: [adopted]\n", "3:5: a rule without `marker` | name a variable, or write `marker: none` where the command alone is to match"},
		{"version: 1\nrules:\n  - name: a\n    marker: none\n    orphan: [adopted]\n", "4:13: `marker: none` without `command` matches every process | add `command`"},
		{"version: 1\nrules:\n  - name: a\n    marker: [M]\n", "3:5: a rule without `orphan` proves nothing | add a list of tests, such as `orphan: [adopted]`"},
		{oneRule + "  - {name: a, marker: [M], orphan: [adopted]}\n", "6:12: a second rule named \"a\", the first is in line 3 | give each rule a name of its own"},
		{ruleWith("name: ''"), "3:11: `name` is empty"},
		{ruleWith("name:"), "3:10: `name` is a text, not nothing"},
		{ruleWith("name: ~"), "3:11: `name` is a text, not nothing"},
		{ruleWith("name: [a]"), "3:11: `name` is a text, not a list"},
		{ruleWith("name: a b"), "3:11: \"a b\" is no name for a rule | a name is letters, digits, '.', '_' and '-', and begins with no '-'"},
		{ruleWith("name: -a"), "3:11: \"-a\" is no name for a rule | a name is letters, digits, '.', '_' and '-', and begins with no '-'"},
		{ruleWith(`name: "a\tb"`), "3:11: `name` holds a control character, such as a tab or a line break"},
		{ruleWith(`name: "a\u202eb"`), "3:11: \"a\\u202eb\" is no name for a rule | a name is letters, digits, '.', '_' and '-', and begins with no '-'"},
		{ruleWith("name: " + strings.Repeat("é", 65)), "3:11: a name of more than 64 characters"},
		{ruleWith("older_than: -1h"), "7:17: `older_than`: \"-1h\" is negative | write a span of time, as in 30s"},
		{ruleWith("action: kill"), "7:13: action \"kill\" is unknown | write stop or report"},
		{ruleWith("action: Report"), "7:13: action \"Report\" is unknown | did you mean \"report\"?"},
		{ruleWith("stop: {grac: 2s}"), "7:12: unknown key \"grac\" in stop | did you mean \"grace\"?"},
		{ruleWith("comand: [x]"), "7:5: unknown key \"comand\" in a rule | did you mean \"command\"?"},
	})
}

func TestMistakesOfCommand(t *testing.T) {
	checkMistakes(t, []mistake{
		{ruleWith("command: foo"), "4:14: `command` is a list, not \"foo\" | write [foo]"},
		{ruleWith("command: 'it''s'"), "4:14: `command` is a list, not \"it's\" | write ['it''s']"},
		{ruleWith(`command: "a\\b"`), `4:14: ` + "`command`" + ` is a list, not "a\\b" | write ["a\\b"]`},
		{ruleWith("command: |\n      foo"), "4:14: `command` is a list, not \"foo\\n\" | put a `-` before each entry"},
		{ruleWith("command: []"), "4:14: `command` is empty and would match nothing | add an entry, or remove the key"},
		{ruleWith("command:"), "4:13: `command` is empty and would match nothing | add an entry, or remove the key"},
		{ruleWith("command: ['a  b']"), "4:15: pattern: an empty word | put one blank between words, none around them, and \\ before a blank that belongs to a word"},
		{ruleWith(`command: [a, "é\\ b\ c"]`), "4:18: pattern: in double quotes YAML takes the `\\` before a blank away, which leaves two words | put it in single quotes"},
		{ruleWith("command: ['foo[ bar']"), `4:15: pattern: bad glob "foo[": a bracket or brace is not closed or is empty, or a \ stands last | put \ before a character that is meant as it is`},
		{ruleWith("command: [{re: foo}]"), "4:15: a pattern is a text, not a mapping | quote it, without the blank: 're:foo'"},
		{ruleWith("command: [a: b]"), "4:15: a pattern is a text, not a mapping | quote it: 'a: b'"},
		{ruleWith("command: [[x]]"), "4:15: a pattern is a text, not a list"},
		{ruleWith("command: [~]"), "4:15: a pattern is a text, not nothing"},
		{ruleWith("command: ['re:(']"), "4:15: pattern: bad regular expression: missing closing ): `(`"},
		{ruleWith("command: ['x[']"), "4:15: pattern: bad glob \"x[\": a bracket or brace is not closed or is empty, or a \\ stands last | put \\ before a character that is meant as it is"},
	})
}

func TestMistakesOfMarker(t *testing.T) {
	checkMistakes(t, []mistake{
		{ruleWith("marker: FOO"), "5:13: `marker` is a list, not \"FOO\" | write [FOO]"},
		{ruleWith("marker: []"), "5:13: `marker` is empty and would match nothing | add an entry, or remove the key"},
		{ruleWith("marker: [none]"), "5:14: a marker named none | write `marker: none`, without a list"},
		{ruleWith("marker: [=x]"), "5:14: a variable without a name | write NAME"},
		{ruleWith("marker: [$FOO]"), "5:14: \"$FOO\" is a reference, not a variable's name | write it without the '$'"},
		{ruleWith("marker: [FOO_*]"), "5:14: \"FOO_*\" is a pattern, not a variable's name | name each variable"},
		{ruleWith("marker: [a b]"), "5:14: \"a b\" is no variable's name | a name is ASCII letters, digits and '_'"},
		{ruleWith("marker: [é]"), "5:14: \"é\" is no variable's name | a name is ASCII letters, digits and '_'"},
		{ruleWith("marker: [A=]"), "5:14: a marker without a glob after the '=' | write NAME alone for any value"},
		{ruleWith("marker: ['A=x[']"), "5:14: marker: bad glob \"x[\": a bracket or brace is not closed or is empty, or a \\ stands last | put \\ before a character that is meant as it is"},
		{ruleWith("marker: [A=<tmp>]"), "5:14: glob \"<tmp>\": <tmp> stands only at the beginning, before a '/' | write <tmp>/work-*"},
		{ruleWith("marker: [A=/x/<tmp>/y]"), "5:14: glob \"/x/<tmp>/y\": <tmp> stands only at the beginning, before a '/' | write <tmp>/work-*"},
		{ruleWith("marker: [A=<tmp>/]"), "5:14: glob \"<tmp>/\" can match nothing | name something below <tmp>, as in <tmp>/work-*"},
		{ruleWith("marker: [A=<tmp>/../x]"), "5:14: glob \"<tmp>/../x\" can match nothing | name something below <tmp>, as in <tmp>/work-*"},
		{ruleWith("marker: [A=<tmp>//x]"), "5:14: glob \"<tmp>//x\" can match nothing | name something below <tmp>, as in <tmp>/work-*"},
		{ruleWith("marker: [A=/x/./y]"), "5:14: glob \"/x/./y\" can match nothing: no value has such a part | write it without '.', '..', '//' and a '/' at the end"},
		{ruleWith("marker: [A=/x/]"), "5:14: glob \"/x/\" can match nothing: no value has such a part | write it without '.', '..', '//' and a '/' at the end"},
	})
}

func TestMistakesOfOrphan(t *testing.T) {
	checkMistakes(t, []mistake{
		{ruleWith("orphan: adopted"), "6:13: `orphan` is a list, not \"adopted\" | write [adopted]"},
		{ruleWith("orphan: {follows: A}"), "6:13: `orphan` is a list, not a mapping | put a `-` before each entry"},
		{ruleWith("orphan: []"), "6:13: `orphan` is empty and would match nothing | add an entry, or remove the key"},
		{ruleWith("orphan: [adoptd]"), "6:14: unknown test \"adoptd\" | did you mean \"adopted\"?"},
		{ruleWith("orphan: [parent]"), "6:14: unknown test \"parent\" | write follows: NAME, adopted, unowned: PATTERN, gone: NAME, or over: SIZE"},
		{ruleWith("orphan: [folows: A]"), "6:14: unknown test \"folows\" | did you mean \"follows\"?"},
		{ruleWith("orphan: [follows]"), "6:14: `follows` is not complete | write `follows: NAME`"},
		{ruleWith("orphan: [over]"), "6:14: `over` is not complete | write `over: SIZE`"},
		{ruleWith("orphan: [[adopted]]"), "6:14: a test is not a list | write follows: NAME, adopted, unowned: PATTERN, gone: NAME, or over: SIZE"},
		{ruleWith("orphan: [~]"), "6:14: a test is not nothing | write follows: NAME, adopted, unowned: PATTERN, gone: NAME, or over: SIZE"},
		{ruleWith("orphan: [{follows: A, gone: B}]"), "6:14: a test has one key | put a `-` before each test"},
		{ruleWith("orphan: [follows: ]"), "6:21: `follows` is a text, not nothing"},
		{ruleWith("orphan: [follows: A=B]"), "6:23: \"A=B\" is no variable's name | a name is ASCII letters, digits and '_'"},
		{ruleWith("orphan: [gone: $A]"), "6:20: \"$A\" is a reference, not a variable's name | write it without the '$'"},
		{ruleWith("orphan: [adopted: yes]"), "6:23: `adopted` takes no value | write `- adopted`"},
		{ruleWith("orphan: [unowned: [a, b]]"), "6:23: a pattern is a text, not a list"},
		{ruleWith("orphan: [over: lots]"), "6:20: `over`: \"lots\" is no size | write a number and a unit, as in 500MiB, 2GiB or 1.5GB"},
		{ruleWith("orphan: [over: 0GiB]"), "6:20: `over: 0` is over in every process | write a bound, as in 2GiB"},
		{ruleWith("orphan: [over: 2]"), "6:20: `over: 2` is in bytes, and over in nearly every process | write a unit, as in 2GiB"},
		{ruleWith("orphan: [adopted, follows: A]"), "6:23: never reached: `adopted` before it always answers | move it up, or remove it"},
		{ruleWith("orphan: [unowned: x, adopted]"), "6:26: never reached: `unowned` before it always answers | move it up, or remove it"},
	})
}

// YAML has more than a rules file needs, and most of it comes from forgotten quotes.
func TestMistakesOfYAML(t *testing.T) {
	checkMistakes(t, []mistake{
		{ruleWith("command: [*/node]"), "4:15: \"*/node\" without quotes is a YAML alias | quote the pattern: '*/node'"},
		{ruleWith("command: [*]"), "4:15: \"*\" without quotes is a YAML alias | quote the pattern: '*'"},
		{ruleWith("command: *node"), "4:14: \"*node\" without quotes is a YAML alias | quote the pattern: '*node'"},
		{ruleWith("command: [&x y]"), "4:15: \"&x\" without quotes is a YAML anchor | quote it: '&x'; anchors are not supported"},
		{ruleWith("command: [&x]"), "4:15: \"&x\" without quotes is a YAML anchor | quote it: '&x'; anchors are not supported"},
		{ruleWith("command: [!x y]"), "4:15: \"!x\" without quotes is a YAML tag | quote it: '!x'; tags are not supported"},
		{ruleWith("command: !x"), "4:14: \"!x\" without quotes is a YAML tag | quote it: '!x'; tags are not supported"},
		{ruleWith("name: !!str no"), "3:11: \"!!str\" without quotes is a YAML tag | quote it: '!!str'; tags are not supported"},
		{ruleWith("command: [@x]"), "4:15: a value cannot begin with \"@\" | quote it: '@x'"},
		{ruleWith("command: [`x`]"), "4:15: a value cannot begin with \"`\" | quote it: '`x`'"},
		{ruleWith("command: [%x]"), "4:15: a value cannot begin with \"%\" | quote it: '%x'"},
		{ruleWith("<<: {action: stop}"), "7:5: merge keys are not supported | write the keys out"},
		{"version: 1\nrules:\n\t- name: a\n", "3:1: a tab indents nothing in YAML | indent with blanks"},
		{"version: 1\nrules:\n  - name: a\n  \torphan: [adopted]\n", "4:3: a tab indents nothing in YAML | indent with blanks"},
		{ruleWith("command: ['x]"), "4:15: not YAML: found unexpected end of stream | a quote or bracket is not closed"},
		{ruleWith("command: [x"), "5:11: not YAML: did not find expected ',' or ']' | mind the indentation, and the quotes and brackets before this place"},
		{ruleWith("name: a: b"), "3:12: not YAML: mapping values are not allowed in this context | quote a value that has ': ' in it, and mind the indentation"},
		{strings.Repeat("[", 20_000), "1:10001: nested too deeply"},
		{"%YAML 1.2\n---\n" + oneRule, "1:1: YAML directives are not supported | remove the line"},
		{"%FOO\n---\n" + oneRule, "1:5: YAML directives are not supported | remove the line"},
		{"a: b\x00", "1:5: U+0000 is not allowed in a rules file | rules are plain text"},
		{"a: é\xff", "1:5: byte 0xff is not UTF-8 | save the file as UTF-8"},
		{"a: b\rc: d\r", "1:5: a carriage return that ends no line | end lines with a line feed"},
		{"a:\n\u2028b", "2:1: U+2028, which ends a line without showing it | write a plain line break"},
		{"a: b\ufeff", "1:5: U+FEFF is not allowed in a rules file | rules are plain text"},
		{strings.Repeat("#", MaxFile+1), "1:1: 1048577 bytes are too many for a rules file, the limit is 1048576"},
	})
}

func TestNestingIsNotFollowedDown(t *testing.T) {
	_, err := Load("f", []byte(ruleWith("command: "+strings.Repeat("[", 5000)+strings.Repeat("]", 5000))))
	if err == nil || !strings.Contains(err.Error(), "f:4:28: nested too deeply") {
		t.Errorf("Load: %v", err)
	}
}

func TestTestsThatAnswerLastMayStandLast(t *testing.T) {
	for _, tests := range []string{
		"[follows: A, follows: B, gone: C, over: 2GiB, adopted]",
		"[over: 1048576]", "[over: 1KiB]", "[gone: A]", "[unowned: a b]",
	} {
		mustLoad(t, ruleWith("orphan: "+tests))
	}
}

func TestOddVariablesAreNames(t *testing.T) {
	for _, name := range []string{"a", "_", "npm_config_a-b", "ProgramFiles(x86)", "BASH_FUNC_x%%", "npm_package_scripts_test:unit", "1"} {
		rules := mustLoad(t, ruleWith("marker: ['"+name+"']"))
		if got := rules.Rules[0].Marker[0]; got != (Marker{Name: name}) {
			t.Errorf("marker %s is read as %+v", name, got)
		}
	}
}

func TestMarkerIsCutAtItsFirstEqualsSign(t *testing.T) {
	rules := mustLoad(t, ruleWith("marker: [A=b=c]"))
	if got := rules.Rules[0].Marker[0]; got != (Marker{Name: "A", Glob: "b=c"}) {
		t.Errorf("A=b=c is read as %+v", got)
	}
}
