package match

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPatternMatch(t *testing.T) {
	type line = []string
	for _, test := range []struct {
		name    string
		pattern string
		yes     []line
		no      []line
	}{
		{
			"the first word is an argument or the tail of a path", "daemon/main.ts",
			[]line{
				{"node", "--import", "tsx", "/x/daemon/main.ts", "--port", "0"},
				{"/x/daemon/main.ts"},
				{"daemon/main.ts"},
				{"./daemon/main.ts"},
				{"../a/daemon/main.ts"},
				{"x//daemon/main.ts"},
				{"--entry=/x/daemon/main.ts"},
			},
			[]line{
				nil, {}, {""}, {"node"},
				{"/x/daemon/main.ts.d/job"},
				{"xdaemon/main.ts"}, {"/x/xdaemon/main.ts"},
				{"daemon/main.tsx"}, {"/x/daemon/main.ts/"},
				{"main.ts"}, {"/daemon", "main.ts"}, {"daemon//main.ts"},
				{"DAEMON/MAIN.TS"},
			},
		},
		{
			"text that mentions a path is not that path", "daemon/main.ts",
			[]line{
				{"node", "/Users/a b/x/daemon/main.ts"},
				{"./a b/daemon/main.ts"}, {"../a b/daemon/main.ts"}, {"~/a b/daemon/main.ts"},
				{"/Users/a - b/x (copy)/daemon/main.ts"},
				{"x", "--sync", "/a b/daemon/main.ts"},
				{"sh", "-c", "/x/daemon/main.ts"}, // one plain word: what the shell becomes
			},
			[]line{
				{"sh", "-c", "exec /x/daemon/main.ts"},
				{"sh", "-c", "/bin/node /x/daemon/main.ts"},
				{"sh", "-c", "/bin/node x/daemon/main.ts"},
				{"sh", "-c", "/a b/x/daemon/main.ts"},
				{"bash", "-lc", "/bin/node x/daemon/main.ts"},
				{"sh", "-c", "cd;/x/daemon/main.ts"}, {"sh", "-c", "(exec</x/daemon/main.ts"},
				{"sh", "-c", "exec\t/x/daemon/main.ts"}, {"sh", "-c", "\n/x/daemon/main.ts"},
				{"watch", "node /x/daemon/main.ts"},
				{"watch", "/bin/node /x/daemon/main.ts"}, {"watch", "/bin/node ../x/daemon/main.ts"},
				{"watch", "/bin/node ./daemon/main.ts"}, {"watch", "/bin/node ~/daemon/main.ts"},
				{"watch", "/bin/node --inspect x/daemon/main.ts"},
				{"ssh", "host", "/bin/x; x/daemon/main.ts"}, {"ssh", "host", "/bin/x && x/daemon/main.ts"},
				{"ssh", "host", `/bin/x "y/daemon/main.ts`}, {"ssh", "host", "/bin/x $(y/daemon/main.ts"},
				{"ssh", "host", "/bin/x `y/daemon/main.ts"}, {"ssh", "host", "/bin/x |y/daemon/main.ts"},
				{"ssh", "host", "/bin/x\ny/daemon/main.ts"},
				{"a b/x/daemon/main.ts"}, // a relative path with blanks cannot be told from text
			},
		},
		{
			"a word without a slash is the last part of a path", "node",
			[]line{{"node"}, {"/usr/bin/node"}, {"env", "node", "x"}},
			[]line{{"nodejs"}, {"/usr/node/bin"}, {"/usr/bin/xnode"}, {"node "}, {"exec node"}},
		},
		{
			"an absolute word is a whole argument", "/bin/sh",
			[]line{{"/bin/sh"}},
			[]line{{"/usr/bin/sh"}, {"/usr//bin/sh"}, {"bin/sh"}},
		},
		{
			"an option is a whole argument", "--daemon",
			[]line{{"emacs", "--daemon"}},
			[]line{{"/x/--daemon"}, {"--daemon=x"}},
		},
		{
			"words stand one after the other", "emacs --daemon",
			[]line{{"emacs", "--daemon"}, {"/usr/bin/emacs", "--daemon", "-q"}, {"nice", "emacs", "--daemon"}, {"emacs", "emacs", "--daemon"}},
			[]line{{"emacs", "-q", "--daemon"}, {"--daemon", "emacs"}, {"emacs"}, {"emacs --daemon"}, {"emacs", "/x/--daemon"}},
		},
		{
			"later words are whole arguments", "node main.ts",
			[]line{{"node", "main.ts"}},
			[]line{{"node", "/x/main.ts"}},
		},
		{
			"a star of the first word stops at a slash", "node*",
			[]line{{"node"}, {"node20"}, {"/usr/bin/node20"}},
			[]line{{"/opt/node-extras/bin/bash"}, {"node-extras/bin/bash"}, {"exec node"}, {"node x"}},
		},
		{
			"so does a question mark", "a?b",
			[]line{{"a-b"}, {"/x/aéb"}},
			[]line{{"a/b"}, {"ab"}},
		},
		{
			"a star in a path stops at a slash", "packages/*/main.ts",
			[]line{{"packages/a/main.ts"}, {"/x/packages/a/main.ts"}},
			[]line{{"packages/a/b/main.ts"}, {"packages/main.ts"}, {"/x/mypackages/a/main.ts"}, {"echo packages/a/main.ts"}},
		},
		{
			"two stars do not", "packages/**/main.ts",
			[]line{{"packages/a/b/main.ts"}, {"/x/packages/a/main.ts"}, {"packages/main.ts"}},
			[]line{{"packages/a/b/main.tsx"}, {"exec /x/packages/a/main.ts"}},
		},
		{
			"an absolute glob is a whole argument", "/opt/*/bin/node",
			[]line{{"/opt/a/bin/node"}},
			[]line{{"/x/opt/a/bin/node"}, {"/opt/a/b/bin/node"}},
		},
		{
			"a star in an option is any text", "--resume=*",
			[]line{{"--resume=x"}, {"--resume=/a/b c"}, {"--resume="}},
			[]line{{"--resume"}, {"x--resume=y"}, {"/x/--resume=y"}},
		},
		{
			"and in a later word", "node *",
			[]line{{"node", "/x/y.js"}, {"node", "a b"}, {"node", ""}},
			[]line{{"node"}},
		},
		{
			"an option with a path in it is a path", "x --root=/tmp/*",
			[]line{{"x", "--root=/tmp/a"}},
			[]line{{"x", "--root=/tmp/a/b"}},
		},
		{
			"braces and classes", "{node,deno} [a-c].{js,ts}",
			[]line{{"node", "a.js"}, {"/bin/deno", "c.ts"}},
			[]line{{"bun", "a.js"}, {"node", "d.js"}, {"node", "a.jsx"}},
		},
		{
			"a backslash takes the meaning away", `\*\[x\] Google\ Chrome a\b`,
			[]line{{"*[x]", "Google Chrome", "ab"}},
			[]line{{"a[x]", "Google Chrome", "ab"}, {"*[x]", "Google", "Chrome"}, {`\*[x]`, "Google Chrome", "ab"}},
		},
		{
			"a blank that a word says is in it", `Google\ Chrome`,
			[]line{
				{"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"},
				{"Google Chrome"}, {"open", "Google Chrome"},
			},
			[]line{
				{"/Applications/Google Chrome.app/x"}, {"Google", "Chrome"}, {"Google Chrome Helper"},
				{"sh", "-c", "Google Chrome"}, {"watch", "exec Google Chrome"}, {"watch", "exec /x/Google Chrome"},
			},
		},
		{
			"a class may be one", "foo[ _]bar",
			[]line{{"foo bar"}, {"foo_bar"}, {"/a b/foo bar"}},
			[]line{{"foo", "bar"}, {"foo-bar"}, {"exec foo bar"}, {"exec /x/foo bar"}, {"sh", "-c", "foo bar"}},
		},
		{
			"and a question mark", "foo?bar",
			[]line{{"foo bar"}, {"foo-bar"}, {"/x/foo bar"}},
			[]line{{"foo", "bar"}, {"foo  bar"}, {"exec foo bar"}, {"sh", "-c", "foo bar"}},
		},
		{
			"and a blank in braces, next to which a star is any text but a slash", "{foo bar,{b z,[ }]},x y}*",
			[]line{{"foo bar"}, {"foo bar baz"}, {"b z"}, {" x"}, {"}"}, {"x y"}},
			[]line{{"foo"}, {"foo bar a/b"}, {"sh", "-c", "foo bar"}},
		},
		{
			"a star alone is none", "foo*bar",
			[]line{{"foo-bar"}, {"foobar"}, {"/a b/foo bar"}},
			[]line{{"foo bar"}},
		},
		{
			"in later words and options, anything that matches may be one", `x --a=*b c\ ?*d e[ ]f`,
			[]line{{"x", "--a= b", "c  d", "e f"}},
			[]line{{"x", "--a=", "b", "c", "d", "e", "f"}, {"x", "--a= b", "c d", "e f"}},
		},
		{
			"an expression sees the arguments joined by one space", `re:^node .*daemon/main\.ts --port \d+$`,
			[]line{{"node", "/x/daemon/main.ts", "--port", "0"}, {"node", "exec daemon/main.ts --port 1"}},
			[]line{{"node", "daemon/main.ts"}, {"/bin/node", "daemon/main.ts", "--port", "0"}},
		},
		{
			"an expression is not anchored", "re:b c",
			[]line{{"ab", "cd"}, {"b c"}},
			[]line{{"b", "", "c"}, nil},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := pattern(t, test.pattern)
			for _, argv := range test.yes {
				if !p.Match(argv) {
					t.Errorf("%s does not match %q", p, argv)
				}
			}
			for _, argv := range test.no {
				if p.Match(argv) {
					t.Errorf("%s matches %q", p, argv)
				}
			}
		})
	}
}

// What cannot be told apart: a folder named "node src", and an argument. Without
// a `-c` before it, it counts as a path.
func TestPathThatReadsLikeACommandCounts(t *testing.T) {
	if !pattern(t, "daemon/main.ts").Match([]string{"x", "/bin/node src/daemon/main.ts"}) {
		t.Error("not matched")
	}
}

func TestParsePatternRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "a pattern is empty",
		"  ":                                 "a pattern is empty",
		" a":                                 `an empty word; put one blank between words, none around them, and \ before a blank that belongs to a word`,
		"a ":                                 `an empty word; put one blank between words, none around them, and \ before a blank that belongs to a word`,
		"a  b":                               `an empty word; put one blank between words, none around them, and \ before a blank that belongs to a word`,
		"a\tb":                               "a pattern holds a control character, such as a tab or a line break",
		"a\nb":                               "a pattern holds a control character, such as a tab or a line break",
		"\xff":                               "a pattern is not UTF-8",
		strings.Repeat("x", 4097):            "a pattern is longer than 4096 bytes",
		"a x[":                               `bad glob "x[": a bracket or brace is not closed or is empty, or a \ stands last; put \ before a character that is meant as it is`,
		"[]":                                 `bad glob "[]": a bracket or brace is not closed or is empty, or a \ stands last; put \ before a character that is meant as it is`,
		"{a":                                 `bad glob "{a": a bracket or brace is not closed or is empty, or a \ stands last; put \ before a character that is meant as it is`,
		"a}":                                 `bad glob "a}": a bracket or brace is not closed or is empty, or a \ stands last; put \ before a character that is meant as it is`,
		`a\`:                                 `bad glob "a\\": a bracket or brace is not closed or is empty, or a \ stands last; put \ before a character that is meant as it is`,
		strings.Repeat("{a,b}", 9):           `the braces of "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}" stand for more than 256 texts`,
		"{" + strings.Repeat(",", 256) + "}": `the braces of "{,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,,…" stand for more than 256 texts`,
		"re:":                                "an empty regular expression matches every command; write re:EXPR",
		"re: ":                               "an empty regular expression matches every command; write re:EXPR",
		"re:(":                               "bad regular expression: missing closing ): `(`",
		"re:a{1001}":                         "bad regular expression: invalid repeat count: `{1001}`",
	} {
		p, err := ParsePattern(text)
		if err == nil || err.Error() != want {
			t.Errorf("ParsePattern(%q): %v, want %s", text, err, want)
		}
		if p.Match([]string{"", "a"}) {
			t.Errorf("what is returned with the error for %q matches", text)
		}
	}
}

func TestBracesUpToTheLimit(t *testing.T) {
	for _, text := range []string{strings.Repeat("{a,b}", 8), "{" + strings.Repeat(",", 255) + "}", strings.Repeat(`\{a,b\}`, 50), "{a,b},,,,,"} {
		pattern(t, text)
	}
}

func TestZeroPatternMatchesNothing(t *testing.T) {
	if (Pattern{}).Match([]string{""}) || (Pattern{}).Match(nil) {
		t.Error("it matches")
	}
}

func TestPatternsCompareByTheirText(t *testing.T) {
	if !cmp.Equal(pattern(t, "re:x"), pattern(t, "re:x")) || cmp.Equal(pattern(t, "x"), pattern(t, "y")) {
		t.Error("they do not")
	}
	if got := pattern(t, "a b").String(); got != "a b" {
		t.Errorf("String: %q", got)
	}
}

func TestLiteralWordsDoNotAllocate(t *testing.T) {
	p := pattern(t, "daemon/main.ts --port")
	argv := []string{"node", "/a b/daemon/main.ts", "/x/daemon/main.ts", "--port", "0"}
	if n := testing.AllocsPerRun(100, func() { p.Match(argv) }); n != 0 || !p.Match(argv) {
		t.Errorf("%v allocations", n)
	}
}

// A word without a glob is a comparison and nothing else.
func TestLiteralWordIsComparison(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-c.\-/]{1,4}`).Draw(t, "word")
		argv := rapid.SliceOfN(rapid.StringMatching(`[a-c.\-/]{0,6}`), 0, 3).Draw(t, "argv")
		p, err := ParsePattern(text)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.ContainsFunc(argv, func(arg string) bool {
			return arg == text || text[0] != '/' && text[0] != '-' && strings.HasSuffix(arg, "/"+text)
		})
		if p.Match(argv) != want {
			t.Fatalf("%q on %q: %v", text, argv, !want)
		}
	})
}

// Escaping every character of a text gives a pattern for exactly that text.
func TestEscapedTextIsLiteral(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`-[ -~]{0,8}`).Draw(t, "text") // an option: whole arguments alone
		other := rapid.StringMatching(`-[ -~]{0,8}`).Draw(t, "other")
		var escaped strings.Builder
		for i := range len(text) {
			if i > 0 {
				escaped.WriteByte('\\')
			}
			escaped.WriteByte(text[i])
		}
		p, err := ParsePattern(escaped.String())
		if err != nil {
			t.Fatal(err)
		}
		if !p.Match([]string{text}) || p.Match([]string{other}) != (other == text) {
			t.Fatalf("%s: itself %v, %q %v", p, p.Match([]string{text}), other, p.Match([]string{other}))
		}
	})
}

func FuzzPattern(f *testing.F) {
	for _, seed := range [][2]string{
		{"daemon/main.ts", "node\x00/x/daemon/main.ts"}, {"*/node **", "/x/node\x00a/b"}, {"{a,b}[!c]?", "abc"},
		{"re:^a.*b$", "a\x00b"}, {`a\ b \*`, "a b\x00*"}, {"**/a*/**/b", "/a/a/a/b"}, {"{{a,b},c}*", "cab"}, {`a[ b]{c d,\}} e?`, "a c d\x00e "}, {"sh -c *", "sh\x00-c\x00x y"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, command string) {
		p, err := ParsePattern(text)
		if err != nil {
			return
		}
		argv := strings.Split(command, "\x00")
		began := time.Now()
		matched := p.Match(argv)
		if took := time.Since(began); took > 5*time.Second {
			t.Fatalf("took %v", took)
		}
		if p.Text != text || p.Match(nil) && p.re == nil {
			t.Fatalf("%q is kept as %q", text, p.Text)
		}
		if p.re == nil && matched && !p.Match(append([]string{"before"}, append(argv, "after")...)) {
			t.Fatalf("%q matches %q, and not within a longer line", text, argv)
		}
	})
}
