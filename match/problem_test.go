package match

import (
	"strconv"
	"strings"
	"testing"
)

func problemText(line string, column int) string {
	p := &Problems{Source: "f", List: []Problem{{Line: 1, Column: column, Message: "wrong", Hint: "right"}}, data: []byte(line + "\n")}
	return p.Error()
}

func TestProblemIsShownInItsLine(t *testing.T) {
	for _, test := range []struct {
		name, line string
		column     int
		want       string
	}{
		{"at the beginning", "abc", 1, "  1 | abc\n    | ^"},
		{"within", "abc", 2, "  1 | abc\n    |  ^"},
		{"behind the end", "abc", 4, "  1 | abc\n    |    ^"},
		{"past the end", "abc", 9, "  1 | abc\n    |    ^"},
		{"wide characters", "漢字: x", 5, "  1 | 漢字: x\n    |       ^"},
		{"an accent of its own", "e\u0301: x", 5, "  1 | e\u0301: x\n    |    ^"},
		{"a tab", "a\tb", 3, "  1 | a\\tb\n    |    ^"},
		{"an escape sequence", "\x1b[2Jb", 5, "  1 | \\x1b[2Jb\n    |        ^"},
		{"text that runs backwards", "\u202eb", 2, "  1 | \\u202eb\n    |       ^"},
		{"broken UTF-8", "\xffb", 2, "  1 | \ufffdb\n    |  ^"},
		{"CRLF", "abc\r", 1, "  1 | abc\n    | ^"},
		{"an empty line", "", 1, ""},
		{"a blank line", "   ", 2, ""},
		{"as long as fits", strings.Repeat("a", 100), 100, "  1 | " + strings.Repeat("a", 100) + "\n    | " + strings.Repeat(" ", 99) + "^"},
		{"a long line, at its beginning", strings.Repeat("a", 101), 1, "  1 | " + strings.Repeat("a", 50) + "…\n    | ^"},
		{"a long line, at its end", strings.Repeat("a", 200), 200, "  1 | …" + strings.Repeat("a", 51) + "\n    | " + strings.Repeat(" ", 51) + "^"},
		{"a long line, within", strings.Repeat("a", 100) + "X" + strings.Repeat("b", 100), 101, "  1 | …" + strings.Repeat("a", 50) + "X" + strings.Repeat("b", 49) + "…\n    | " + strings.Repeat(" ", 51) + "^"},
		{"a long line of wide characters", strings.Repeat("漢", 60), 60, "  1 | …" + strings.Repeat("漢", 26) + "\n    | " + strings.Repeat(" ", 51) + "^"},
	} {
		t.Run(test.name, func(t *testing.T) {
			want := strings.Replace("f:1:N: wrong\n"+test.want, "N", strconv.Itoa(test.column), 1)
			if test.want == "" {
				want = strings.TrimSuffix(want, "\n")
			}
			want += "\n  hint: right"
			if got := problemText(test.line, test.column); got != want {
				t.Errorf("\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func TestNothingInAProblemMovesTheCursor(t *testing.T) {
	p := &Problems{
		Source: "a\x1b[2J\nb.yaml",
		List:   []Problem{{Line: 7, Column: 1, Message: "x\r\x07", Hint: "y\x1b[31m\u202e\u200b"}},
		data:   []byte("only one line"),
	}
	want := `a\x1b[2J\nb.yaml:7:1: x\r\a` + "\n  hint: " + `y\x1b[31m\u202e\u200b`
	if got := p.Error(); got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

func TestProblemsComeInTheOrderOfTheFile(t *testing.T) {
	p := &Problems{Source: "f"}
	for _, problem := range []Problem{{Line: 2, Column: 1, Message: "c"}, {Line: 1, Column: 9, Message: "b"}, {Line: 1, Column: 2, Message: "a"}, {Line: 2, Column: 1, Message: "c"}, {Line: 2, Column: 1, Message: "d"}} {
		p.add(problem)
	}
	if got, want := p.err().Error(), "f:1:2: a\nf:1:9: b\nf:2:1: c\nf:2:1: d"; got != want {
		t.Errorf("\n%s\nwant\n%s", got, want)
	}
}

func TestNoProblemsAreNoError(t *testing.T) {
	if err := (&Problems{}).err(); err != nil {
		t.Error(err)
	}
}

func TestQuotedTextIsCutBetweenCharacters(t *testing.T) {
	if got, want := quoted(strings.Repeat("é", 40)), `"`+strings.Repeat("é", 30)+`…"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := quoted("a"+strings.Repeat("é", 40)), `"a`+strings.Repeat("é", 29)+`…"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
