package match

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

func mustLoad(t testing.TB, text string) *Rules {
	t.Helper()
	rules, err := Load("rules.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func pattern(t testing.TB, text string) Pattern {
	t.Helper()
	p, err := ParsePattern(text)
	if err != nil {
		t.Fatalf("pattern %q: %v", text, err)
	}
	return p
}

func TestLoadReadsTheWholeGrammar(t *testing.T) {
	got := mustLoad(t, `
version: 1
adopters: [my-init]
protect: [emacs --daemon]
rules:
  - name: roost-tests
    command: [daemon/main.ts, 're:^node .*agent']
    marker: [PI_ROOST_PARENT_PID, PI_ROOST_HOME=<tmp>/roost-*]
    orphan:
      - follows: PI_ROOST_PARENT_PID
      - gone: PI_ROOST_HOME
      - over: 1.5GiB
      - adopted
    older_than: 1d2h
    action: report
    stop: {confirm: 5s}
  - name: browsers
    command:
      - chrome
    marker: none
    orphan:
      - unowned: vitest run
# The defaults hold for the rules above them as well.
stop: {grace: 500ms}
`)
	want := &Rules{
		Source:   "rules.yaml",
		Adopters: []string{"my-init"},
		Protect:  []Pattern{pattern(t, "emacs --daemon")},
		Stop:     Stop{Grace: 500 * time.Millisecond, Confirm: time.Second},
		Rules: []Rule{
			{
				Name:    "roost-tests",
				Command: []Pattern{pattern(t, "daemon/main.ts"), pattern(t, "re:^node .*agent")},
				Marker:  []Marker{{Name: "PI_ROOST_PARENT_PID"}, {Name: "PI_ROOST_HOME", Glob: "<tmp>/roost-*"}},
				Orphan: []Test{
					{Kind: Follows, Name: "PI_ROOST_PARENT_PID"},
					{Kind: Gone, Name: "PI_ROOST_HOME"},
					{Kind: Over, Over: 3 << 29},
					{Kind: Adopted},
				},
				OlderThan: 26 * time.Hour,
				Action:    ActionReport,
				Stop:      Stop{Grace: 500 * time.Millisecond, Confirm: 5 * time.Second},
			},
			{
				Name:    "browsers",
				Command: []Pattern{pattern(t, "chrome")},
				Orphan:  []Test{{Kind: Unowned, Owner: pattern(t, "vitest run")}},
				Action:  ActionStop,
				Stop:    Stop{Grace: 500 * time.Millisecond, Confirm: time.Second},
			},
		},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Rules{})); diff != "" {
		t.Error(diff)
	}
}

func TestDefault(t *testing.T) {
	want := &Rules{
		Source: "built-in default",
		Stop:   Stop{Grace: 2 * time.Second, Confirm: time.Second},
		Rules: []Rule{{
			Name:   "reaper-parent-pid",
			Marker: []Marker{{Name: "REAPER_PARENT_PID"}},
			Orphan: []Test{{Kind: Follows, Name: "REAPER_PARENT_PID"}},
			Action: ActionStop,
			Stop:   Stop{Grace: 2 * time.Second, Confirm: time.Second},
		}},
	}
	if diff := cmp.Diff(want, Default(), cmpopts.IgnoreUnexported(Rules{})); diff != "" {
		t.Error(diff)
	}
}

// YAML would read these as a boolean, numbers, a date and nothing.
func TestNamesAreTakenAsTheyAreWritten(t *testing.T) {
	for written, want := range map[string]string{
		"no": "no", "true": "true", "010": "010", "1.50": "1.50", "0x1F": "0x1F",
		"2024-01-01": "2024-01-01", `"null"`: "null", "'1'": "1", "naïve": "naïve",
	} {
		rules := mustLoad(t, "version: 1\nrules:\n  - {name: "+written+", marker: [M], orphan: [adopted]}\n")
		if got := rules.Rules[0].Name; got != want {
			t.Errorf("name: %s is read as %q, want %q", written, got, want)
		}
	}
}

const oneRule = "version: 1\nrules:\n  - name: a\n    marker: [M]\n    orphan: [adopted]\n"

func TestTextFilesOfAllSystemsLoad(t *testing.T) {
	want := mustLoad(t, oneRule)
	for name, text := range map[string]string{
		"byte order mark":                   "\ufeff" + oneRule,
		"CRLF":                              strings.ReplaceAll(oneRule, "\n", "\r\n"),
		"both":                              "\ufeff" + strings.ReplaceAll(oneRule, "\n", "\r\n"),
		"document markers":                  "---\n" + oneRule + "...\n",
		"comments":                          "# first\n\n" + oneRule + "# last\n",
		"tabs after the text":               strings.ReplaceAll(oneRule, "\n", "\t\n"),
		"no line feed at the end":           strings.TrimSuffix(oneRule, "\n"),
		"JSON":                              `{"version": 1, "rules": [{"name": "a", "marker": ["M"], "orphan": ["adopted"]}]}`,
		"exactly as large as a file may be": oneRule + "#" + strings.Repeat("x", MaxFile-len(oneRule)-1),
	} {
		got, err := Load("rules.yaml", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Rules{})); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

const threeRules = `
version: 1
rules:
  - name: follower
    marker: [B_PID, A_HOME=<tmp>/x]
    orphan: [{follows: B_PID}, {follows: C_PID}]
  - name: homeless
    marker: [A_HOME]
    orphan: [{gone: D_HOME}]
  - name: unmarked
    marker: none
    command: [x]
    orphan: [adopted]
`

func TestNames(t *testing.T) {
	rules := mustLoad(t, threeRules)
	if diff := cmp.Diff([]string{"A_HOME", "B_PID", "C_PID", "D_HOME"}, rules.Names()); diff != "" {
		t.Errorf("Names: %s", diff)
	}
	if diff := cmp.Diff([]string{"B_PID", "C_PID"}, rules.FollowNames()); diff != "" {
		t.Errorf("FollowNames: %s", diff)
	}
}

func TestOnlyKeepsWhatAllRulesFollow(t *testing.T) {
	all := mustLoad(t, threeRules)
	only, err := all.Only([]string{"homeless", "homeless"})
	if err != nil {
		t.Fatal(err)
	}
	if len(only.Rules) != 1 || only.Rules[0].Name != "homeless" {
		t.Errorf("Only(homeless) has the rules %+v", only.Rules)
	}
	if diff := cmp.Diff([]string{"B_PID", "C_PID"}, only.FollowNames()); diff != "" {
		t.Errorf("FollowNames: %s", diff)
	}
	if diff := cmp.Diff([]string{"A_HOME", "B_PID", "C_PID", "D_HOME"}, only.Names()); diff != "" {
		t.Errorf("Names: %s", diff)
	}
	if len(all.Rules) != 3 {
		t.Errorf("Only changed its receiver to %d rules", len(all.Rules))
	}
	again, err := only.Only([]string{"homeless"})
	if err != nil || len(again.FollowNames()) != 2 {
		t.Errorf("Only of Only: %v, %v", again, err)
	}
}

func TestOnlyWithoutNamesIsEverything(t *testing.T) {
	all := mustLoad(t, threeRules)
	if only, err := all.Only(nil); err != nil || len(only.Rules) != 3 {
		t.Errorf("Only(nil) = %v, %v", only, err)
	}
}

func TestOnlyOfAnUnknownName(t *testing.T) {
	for name, want := range map[string]string{
		"folower": `no rule is named "folower" in rules.yaml: did you mean "follower"?`,
		"zzz":     `no rule is named "zzz" in rules.yaml: its rules are follower, homeless, unmarked`,
		"":        `no rule is named "" in rules.yaml: its rules are follower, homeless, unmarked`,
	} {
		_, err := mustLoad(t, threeRules).Only([]string{"follower", name})
		if err == nil || err.Error() != want {
			t.Errorf("Only(%q): %v, want %s", name, err, want)
		}
	}
}

func TestNeedsArgv(t *testing.T) {
	all := mustLoad(t, threeRules)
	marked, err := all.Only([]string{"follower", "homeless"})
	if err != nil {
		t.Fatal(err)
	}
	if !all.NeedsArgv() || marked.NeedsArgv() {
		t.Errorf("NeedsArgv: with `marker: none` %v, without %v", all.NeedsArgv(), marked.NeedsArgv())
	}
}

// Each file of testdata/mistakes and what Load says of it, to be read by people.
func TestMistakesGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/mistakes/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			_, err = Load(filepath.Base(file), data)
			if err == nil {
				t.Fatal("no mistake found")
			}
			compareGolden(t, strings.TrimSuffix(file, ".yaml")+".golden", err.Error()+"\n")
		})
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

// hostile are files that cost a YAML reader its memory, its time or its life.
func hostile() map[string]string {
	var laughs strings.Builder
	laughs.WriteString("version: 1\na: &a [x, x, x, x, x, x, x, x, x]\n")
	for c := 'b'; c < 'k'; c++ {
		fmt.Fprintf(&laughs, "%c: &%c [%s]\n", c, c, strings.Repeat(fmt.Sprintf("*%c, ", c-1), 9))
	}
	return map[string]string{
		"200000 brackets":      strings.Repeat("[", 200_000),
		"200000 braces":        strings.Repeat("{", 200_000),
		"closed brackets":      "rules: " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000),
		"nested lists":         strings.Repeat("- ", 200_000),
		"nested mappings":      strings.Repeat("a: [", 20_000),
		"billion laughs":       laughs.String(),
		"an anchor in itself":  "&a [*a]",
		"a tag alone":          "rules: !x\n",
		"many mistakes":        "version: 1\nrules:\n" + strings.Repeat("- *x\n", 20_000),
		"many tags":            "version: 1\nrules:\n" + strings.Repeat("- !x y\n", 20_000),
		"one line of mistakes": "version: 1\nrules: [" + strings.Repeat("x,", 20_000) + "]",
		"many keys":            strings.Repeat("? a\n", 20_000),
		"one line of keys":     "{" + strings.Repeat("a,", 20_000) + "}",
		"a long key":           strings.Repeat("k", 1<<20-20) + ": 1\n",
		"a long pattern":       "version: 1\nrules: [{name: a, marker: [M], orphan: [adopted], command: ['" + strings.Repeat("*a", 500_000) + "']}]",
		"a deep expression":    "version: 1\nrules: [{name: a, marker: [M], orphan: [adopted], command: ['re:" + strings.Repeat("(", 4_000) + "']}]",
		"a large expression":   "version: 1\nrules: [{name: a, marker: [M], orphan: [adopted], command: ['re:((x{100}){100}){100}']}]",
		"a lot of braces":      "version: 1\nrules: [{name: a, marker: [M], orphan: [adopted], command: ['" + strings.Repeat("{a,b}", 800) + "']}]",
		"a binary":             "\x7fELF\x02\x01\x01\x00\x00",
		"UTF-16":               "\xff\xfev\x00e\x00r\x00",
		"too large":            strings.Repeat("#", MaxFile+1),
	}
}

func TestHostileFilesAreRefusedQuickly(t *testing.T) {
	for name, text := range hostile() {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			rules, err := Load("rules.yaml", []byte(text))
			var problems *Problems
			if !errors.As(err, &problems) || rules != nil {
				t.Fatalf("Load = %v, %v, want *Problems", rules, err)
			}
			if n := len(problems.Error()); n > 64<<10 {
				t.Errorf("the message has %d bytes", n)
			}
			if took := time.Since(began); took > time.Minute { // tens of ms; the race detector and a busy machine take more
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestProblemsAreCountedBeyondAHundred(t *testing.T) {
	_, err := Load("rules.yaml", []byte("version: 1\nrules:\n"+strings.Repeat("- !x y\n", 107)))
	var problems *Problems
	if !errors.As(err, &problems) || len(problems.List) != 100 || problems.More != 7 {
		t.Fatalf("Load: %v", err)
	}
	if !strings.HasSuffix(err.Error(), "\nrules.yaml: and 7 more") {
		t.Errorf("it ends in %q", err.Error()[len(err.Error())-40:])
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte(DefaultText))
	f.Add([]byte(threeRules))
	files, _ := filepath.Glob("testdata/mistakes/*.yaml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, text := range hostile() {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before, began := bytes.Clone(data), time.Now()
		rules, err := Load("rules.yaml", data)
		if took := time.Since(began); took > 5*time.Second {
			t.Fatalf("took %v", took)
		}
		if !bytes.Equal(before, data) {
			t.Fatal("Load changed its input")
		}
		if err == nil {
			checkLoaded(t, rules)
			return
		}
		checkProblems(t, err, data)
	})
}

// checkLoaded holds a loaded file against what the judge relies on.
func checkLoaded(t *testing.T, rules *Rules) {
	t.Helper()
	if len(rules.Rules) == 0 {
		t.Fatal("no rules")
	}
	for _, rule := range rules.Rules {
		if rule.Name == "" || len(rule.Orphan) == 0 || len(rule.Command)+len(rule.Marker) == 0 {
			t.Fatalf("incomplete: %+v", rule)
		}
		if rule.Action != ActionStop && rule.Action != ActionReport || rule.OlderThan < 0 || rule.Stop.Grace < 0 || rule.Stop.Confirm < 0 {
			t.Fatalf("impossible: %+v", rule)
		}
		for _, marker := range rule.Marker {
			if marker.Name == "" || strings.Contains(marker.Name, "=") {
				t.Fatalf("marker: %+v", marker)
			}
		}
		for _, test := range rule.Orphan {
			if (test.Kind == Follows || test.Kind == Gone) != (test.Name != "") || (test.Kind == Unowned) != (test.Owner.Text != "") || (test.Kind == Over) != (test.Over > 0) {
				t.Fatalf("test: %+v", test)
			}
		}
	}
}

// checkProblems holds an error of Load against its promises: every problem has a
// place in the file, and nothing in it moves a terminal's cursor.
func checkProblems(t *testing.T, err error, data []byte) {
	t.Helper()
	var problems *Problems
	if !errors.As(err, &problems) || len(problems.List) == 0 {
		t.Fatalf("not *Problems: %v", err)
	}
	lines := bytes.Count(data, []byte("\n")) + 1
	for _, p := range problems.List {
		if p.Line < 1 || p.Column < 1 || p.Line > lines || p.Column > len(data)+1 || p.Message == "" {
			t.Fatalf("%+v in a file of %d lines", p, lines)
		}
	}
	for _, r := range err.Error() {
		if r < ' ' && r != '\n' || r == 0x7f || r >= 0x202a && r <= 0x202e {
			t.Fatalf("%q holds %U", err.Error(), r)
		}
	}
}

// Guards against quotes of YAML that change a pattern without a word: whatever they
// are, it is the same one.
func TestQuotesKeepABlank(t *testing.T) {
	for _, written := range []string{`a\ b`, `'a\ b'`, `"a\\ b"`, `"\x61\\ b"`} {
		rules := mustLoad(t, ruleWith("command: ["+written+", x y]"))
		if got := rules.Rules[0].Command[0]; got.Text != `a\ b` || !got.Match([]string{"a b"}) {
			t.Errorf("%s became %s", written, got)
		}
	}
}
