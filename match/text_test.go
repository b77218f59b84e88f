package match

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Guards what the first pass leaves out: a command line without the texts of the
// rules matches none of them.
func TestTexts(t *testing.T) {
	for rule, want := range map[string][]string{
		"command: [daemon/main.ts], marker: none, orphan: [adopted]":                                      {"daemon/main.ts"},
		"command: [tool/server.js, python3 -m my_tool], marker: none, orphan: [adopted]":                  {"tool/server.js", "python3"},
		`command: ["chroma-mcp --data-dir *", "claude {-r,--resume=*}"], marker: none, orphan: [adopted]`: {"chroma-mcp", "claude"},
		`command: ["**/host-*.ts", "a/** x"], marker: none, orphan: [adopted]`:                            {"host-", "a"},
		`command: ['a\ b'], marker: none, orphan: [adopted]`:                                              {"a b"},
		`command: ["*/node"], marker: none, orphan: [adopted]`:                                            nil,
		`command: ["re:x"], marker: none, orphan: [adopted]`:                                              nil,
		`command: ["\ufffdx"], marker: none, orphan: [adopted]`:                                           nil,
		"command: ['*'], marker: [M], orphan: [follows: M]":                                               {},
	} {
		got := rulesOf(t, rule).Texts()
		if !slices.Equal(got, want) || (got == nil) != (want == nil) {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}

func TestTextsStandInWhatMatches(t *testing.T) {
	piece := rapid.SampledFrom([]string{"a", "b", "/", "**/", "*", "?", "[ab]", "{a,b/c}", "-", `\*`, `\ `, "x.ts", "\ufffd", "/**"})
	byteOf := rapid.SampledFrom([]string{"a", "b", "/", "-", "*", " ", "x.ts", "c", "\xff"})
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(piece, 1, 4).Draw(t, "word"), "") }), 1, 2)
		p, err := ParsePattern(strings.Join(words.Draw(t, "words"), " "))
		if err != nil {
			t.Skip()
		}
		argument := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(byteOf, 0, 5).Draw(t, "bytes"), "") })
		argv := rapid.SliceOfN(argument, 1, 3).Draw(t, "argv")
		if p.Match(argv) && !strings.Contains(strings.Join(argv, "\x00"), p.text()) {
			t.Fatalf("%q matches %q, which lacks %q", p.Text, argv, p.text())
		}
	})
}
