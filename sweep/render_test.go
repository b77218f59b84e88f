package sweep

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"reaper/match"
	"reaper/platform"
)

// hostile are names that would move the cursor, forge a line, hide or turn text.
var hostile = []struct{ what, text, shown string }{
	{"plain", "node /x/daemon/main.ts", "node /x/daemon/main.ts"},
	{"empty", "", ""},
	{"Mongolian vowel separator", "a\u180eb", `a\u180eb`},
	{"other scripts", "grün 日本 Ελλάδα עברית 🙂", "grün 日本 Ελλάδα עברית 🙂"},
	{"combining", "e\u0301", "e\u0301"},
	{"backslash", `a\x1b`, `a\x1b`},
	{"a colour", "\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
	{"a window title", "\x1b]0;title\x07", `\x1b]0;title\x07`},
	{"line break", "a\nstopped", `a\nstopped`},
	{"carriage return", "a\rstopped", `a\rstopped`},
	{"tab", "a\tb", `a\tb`},
	{"null", "a\x00b", `a\x00b`},
	{"backspace and delete", "a\b\x7f", `a\x08\x7f`},
	{"C1 in UTF-8", "\u009b31m", `\u009b31m`},
	{"C1 as a byte", "\x9b31m", `\x9b31m`},
	{"next line", "a\u0085b", `a\u0085b`},
	{"line separator", "a\u2028b\u2029c", `a\u2028b\u2029c`},
	{"right to left override", "a\u202egpj.exe\u202c", `a\u202egpj.exe\u202c`},
	{"bidi isolates", "\u2066a\u2069", `\u2066a\u2069`},
	{"bidi marks", "\u200ea\u200fb\u061c", `\u200ea\u200fb\u061c`},
	{"zero width", "a\u200bb\u200cc\u200dd\u2060e\ufefff", `a\u200bb\u200cc\u200dd\u2060e\ufefff`},
	{"soft hyphen", "a\u00adb", `a\u00adb`},
	{"tag characters", "a\U000e0041", `a\U000e0041`},
	{"no UTF-8", "a\xff\xfe\xc3", `a\xff\xfe\xc3`},
	{"a surrogate", "\xed\xa0\x80", `\xed\xa0\x80`},
	{"overlong", "\xc0\xaf", `\xc0\xaf`},
	{"the replacement character itself", "\ufffd", "\ufffd"},
}

func TestPrintable(t *testing.T) {
	for _, h := range hostile {
		if got := printable(h.text); got != h.shown {
			t.Errorf("%s: %q instead of %q", h.what, got, h.shown)
		}
	}
}

// Whatever a process calls itself, what is shown is one line of valid UTF-8 with
// nothing in it that a terminal acts on, and showing it again changes nothing.
func FuzzPrintable(f *testing.F) {
	for _, h := range hostile {
		f.Add(h.text)
	}
	f.Fuzz(func(t *testing.T, s string) {
		shown := printable(s)
		if !utf8.ValidString(shown) {
			t.Errorf("%q: %q is no UTF-8", s, shown)
		}
		for _, r := range shown {
			if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs) {
				t.Errorf("%q: %U is left", s, r)
			}
		}
		if again := printable(shown); again != shown {
			t.Errorf("%q: %q, then %q", s, shown, again)
		}
	})
}

// example is a report with every kind of entry. Whoever writes hostile names
// writes them everywhere.
func example(name string) *Report {
	o := func(pid int, outcome Outcome, members ...Member) Orphan {
		return Orphan{Rule: "roost-tests", PID: pid, Start: 7, PPID: 1, PGID: pid, SID: pid, User: "root", AgeS: 93784.2,
			Command: command(&platform.Process{Argv: []string{"node", name}}), Markers: map[string]string{"MARK": printable(name)},
			Why: Why{match.Follows, printable("follows 4242, which is not running " + name)}, Action: match.ActionStop, Outcome: outcome, Members: members}
	}
	m := func(pid int, outcome Outcome, detail string) Member {
		return Member{PID: pid, Start: 7, PPID: 1, PGID: pid, Command: command(&platform.Process{Comm: name}), By: "group", Signals: []string{"TERM"}, Outcome: outcome, Detail: printable(detail)}
	}
	r := &Report{
		Schema: 1, Version: "0.1.0", Rules: "/r.yaml", PIDNamespace: "nested", Census: platform.Counts{Processes: 412, Unreadable: 3, Overwritten: 1},
		Orphans: []Orphan{}, LeftBehind: []LeftBehind{{Left{510, 9, 481, match.Protected, printable("matches protect: " + name)}, command(&platform.Process{Argv: []string{name}})}},
		Spared: []Spared{
			{502, 8, "roost-tests", match.ParentRunning, printable("follows 4300, which is running " + name), command(&platform.Process{Argv: []string{name}})},
			{503, 8, "roost-tests", match.OtherUser, "belongs to user 7; --all-users would judge it", []string{"x"}},
		},
	}
	r.add(o(481, Stopped, m(481, Stopped, ""), m(482, Stopped, "")))
	r.add(o(490, Unconfirmed, m(490, Vanished, ""), m(491, Unconfirmed, "in state D"), m(492, Denied, "operation not permitted")))
	r.Exit = ExitLeft
	return r
}

func text(t *testing.T, r *Report, v View) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Text(&b, v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// lineHeads are how the lines of example begin, that are not indented.
var lineHeads = regexp.MustCompile(`^(?:rules: /r\.yaml$|OUTCOME +PID|rule roost-tests$|2 orphans, 5 processes: |in a pid namespace|3 environments could|1 environment empty|  |$|` +
	`(stopped|vanished|stop unconfirmed|denied|left alone|spared)(?: TERM)?  +\d+ )`)

// One process is one line whatever it is called, no name begins a line, and a
// colour is only one that was asked for.
func TestTextOfHostileNames(t *testing.T) {
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, v := range []View{piped, {Verbose: true}, {Width: 60}, at80, verbose200, {Color: true}, coloured} {
		plain := text(t, example("x"), v)
		for _, h := range hostile {
			got := text(t, example(h.text), v)
			if v.Color {
				got = escapes.ReplaceAllString(got, "")
			}
			if left := printable(strings.ReplaceAll(got, "\n", "")); left != strings.ReplaceAll(got, "\n", "") {
				t.Errorf("%s, %s: %q", h.what, v, got)
			}
			if lines := strings.Count(got, "\n"); v.Width == 0 && lines != strings.Count(plain, "\n") {
				t.Errorf("%s, %s: %d lines instead of %d:\n%s", h.what, v, lines, strings.Count(plain, "\n"), got)
			}
			rows := 0
			for line := range strings.Lines(got) {
				line = strings.TrimSuffix(line, "\n")
				head := lineHeads.FindStringSubmatch(line)
				if head == nil {
					t.Fatalf("%s, %s: this line is no report's: %q", h.what, v, line)
				}
				if head[1] != "" {
					rows++
				}
			}
			if rows != 8 {
				t.Errorf("%s, %s: %d lines of processes:\n%s", h.what, v, rows, got)
			}
		}
	}
}

// Guards who learns of a rule with a mistake in its names: --verbose tells which
// rules nothing is by.
func TestIdleRules(t *testing.T) {
	r := &Report{Orphans: []Orphan{{Rule: "a"}}, Spared: []Spared{{Rule: "b"}}}
	if got := r.idle([]match.Rule{{Name: "a"}, {Name: "c"}, {Name: "b"}}); !slices.Equal(got, []string{"c"}) {
		t.Error(got)
	}
}

// A name is no place for a colour: only the outcome's own cell is painted.
func TestOnlyTheOutcomeIsColoured(t *testing.T) {
	r := &Report{}
	r.add(Orphan{Rule: "stopped", PID: 7, Outcome: Stopped, Why: Why{Detail: "stopped"}, Members: []Member{{Outcome: Stopped, Command: []string{"stopped", "denied"}}}})
	got := text(t, r, View{Color: true})
	if !strings.Contains(got, "\n\x1b[32mstopped\x1b[0m       0   0s  0 B  stopped denied\n") || strings.Count(got, "\x1b") != 2 {
		t.Errorf("%q", got)
	}
}

// The document stays one valid JSON document, and nothing of a name is lost.
func TestJSONOfHostileNames(t *testing.T) {
	for _, h := range hostile {
		raw, err := json.Marshal(example(h.text))
		if err != nil {
			t.Fatal(err)
		}
		var back Report
		dec := json.NewDecoder(bytes.NewReader(raw))
		if err := dec.Decode(&back); err != nil || dec.More() || !json.Valid(raw) {
			t.Fatalf("%s: %v: %s", h.what, err, raw)
		}
		if o := back.Orphans[0]; o.Command[1] != h.shown || o.Markers["MARK"] != h.shown || o.Members[0].Command[0] != "["+h.shown+"]" {
			t.Errorf("%s: %q %q", h.what, o.Command, o.Markers)
		}
	}
}
