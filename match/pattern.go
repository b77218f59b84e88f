package match

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

const (
	maxText         = 4096 // bytes of a pattern or glob; also the longest path there is (PATH_MAX)
	maxAlternatives = 256  // that the braces of one glob may stand for
)

// Pattern matches a command line. It is compiled once, by ParsePattern; the zero
// Pattern matches nothing.
//
// A pattern is words separated by single blanks, of which those in `[ ]` and `{ }`
// are none that separate. The words must stand as consecutive arguments. The first word may match a whole argument or the tail of a path
// after a '/': `daemon/main.ts` matches `/x/daemon/main.ts`, and neither
// `xdaemon/main.ts` nor `/x/daemon/main.ts.d/job`. Where it begins with '/' or
// '-' it matches whole arguments alone. The other words match whole arguments.
//
// Each word is a glob: `*`, `?`, `[a-z]`, `{a,b}`; a `\` takes the meaning from
// the next character, so that `\ ` is a blank within a word. `*` and `?` stop at
// a '/', as in a shell, and `**` between slashes stands for any number of
// folders. In a word without '/' that names no path's tail (an option such as
// `--resume=*`, and every word after the first) there is no path to stop in, and
// `*` is any text.
//
// An argument with a blank in it may be a path, or text for a shell that only
// mentions one: `sh -c "exec /x/daemon/main.ts"`. The first word matches it only
// if no `-c` stands before it, and if it is written like one path (see isOnePath)
// or the word matches all of it and says where a blank may be: `\ `, `[ ]`, `?`.
//
// `re:EXPR` is a regular expression (RE2) over the arguments joined by one space,
// and matches none that are longer than 128 KiB together: a command line has up to
// 2 MiB, and 60 such ones kept the rules of the example busy for 75 s.
type Pattern struct {
	Text string // as written in the rules file

	words []word
	re    *regexp.Regexp
}

func (p Pattern) String() string { return p.Text }

// Equal says whether two patterns are written alike, and so match alike.
func (p Pattern) Equal(q Pattern) bool { return p.Text == q.Text }

// word is one word of a pattern.
type word struct {
	text string // a literal without its escapes, or a glob
	kind wordKind
	tail bool // the first word: a path's tail will do
	// blank: it may match the blanks of what is no path, too.
	blank bool
}

type wordKind int8

const (
	literal  wordKind = iota
	pathGlob          // * stops at a '/'
	textGlob          // * is any text
)

// ParsePattern compiles a pattern. The error says what to write instead.
func ParsePattern(text string) (Pattern, error) {
	if err := checkText(text); err != nil {
		return Pattern{}, fmt.Errorf("a pattern %w", err)
	}
	if expr, ok := strings.CutPrefix(text, "re:"); ok {
		return parseExpression(text, expr)
	}
	parts, err := splitWords(text)
	if err != nil {
		return Pattern{}, err
	}
	p := Pattern{Text: text}
	for i, part := range parts {
		if err := checkGlob(part); err != nil {
			return Pattern{}, err
		}
		p.words = append(p.words, newWord(part, i == 0))
	}
	return p, nil
}

func parseExpression(text, expr string) (Pattern, error) {
	if strings.TrimSpace(expr) == "" {
		return Pattern{}, &advised{"an empty regular expression matches every command", "write re:EXPR"}
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return Pattern{}, fmt.Errorf("bad regular expression: %s", strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return Pattern{Text: text, re: re}, nil
}

// checkText refuses what no pattern, glob or name holds.
func checkText(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return errors.New("is empty")
	case len(text) > maxText:
		return fmt.Errorf("is longer than %d bytes", maxText)
	case !utf8.ValidString(text):
		return errors.New("is not UTF-8")
	case strings.ContainsFunc(text, unicode.IsControl):
		return errors.New("holds a control character, such as a tab or a line break")
	}
	return nil
}

// splitWords splits at blanks that no `\` stands before and that are in no
// brackets or braces.
func splitWords(text string) ([]string, error) {
	var words []string
	begin := 0
	for i := 0; i <= len(text); i++ {
		switch {
		case i < len(text) && text[i] == '\\':
			i++
		case i < len(text) && (text[i] == '[' || text[i] == '{'):
			i = max(i, closing(text, i))
		case i == len(text) || text[i] == ' ':
			if i == begin {
				return nil, &advised{"an empty word", `put one blank between words, none around them, and \ before a blank that belongs to a word`}
			}
			words = append(words, text[begin:i])
			begin = i + 1
		}
	}
	if begin <= len(text) { // a trailing `\` skipped the end
		words = append(words, text[begin:])
	}
	return words, nil
}

// closing is where the bracket or brace at this place is closed, -1 if it is not.
func closing(text string, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case text[at] == '[' && text[i] == ']', text[at] == '{' && text[i] == '}':
			return i
		case text[at] == '{' && (text[i] == '[' || text[i] == '{'):
			if i = closing(text, i); i < 0 {
				return -1
			}
		}
	}
	return -1
}

// checkGlob refuses what doublestar cannot match, or not in reasonable time.
func checkGlob(glob string) error {
	if !doublestar.ValidatePattern(glob) {
		return &advised{"bad glob " + quoted(glob) + `: a bracket or brace is not closed or is empty, or a \ stands last`, `put \ before a character that is meant as it is`}
	}
	if alternatives(glob) > maxAlternatives {
		return fmt.Errorf("the braces of %s stand for more than %d texts", quoted(glob), maxAlternatives)
	}
	return nil
}

// alternatives is how many texts the braces of a valid glob stand for, or more:
// doublestar tries them one by one.
func alternatives(glob string) int {
	total, open := 1, []int{}
	for i := 0; i < len(glob) && total <= maxAlternatives; i++ {
		switch glob[i] {
		case '\\':
			i++
		case '{':
			open = append(open, 1)
		case ',':
			if len(open) > 0 {
				open[len(open)-1]++
			}
		case '}':
			if len(open) > 0 {
				total *= open[len(open)-1]
				open = open[:len(open)-1]
			}
		}
	}
	return total
}

func newWord(part string, first bool) word {
	w := word{text: part, kind: pathGlob, tail: first && part[0] != '/' && part[0] != '-', blank: strings.ContainsAny(part, " ?")}
	text, isLiteral := unescape(part)
	switch {
	case isLiteral:
		w.text, w.kind = text, literal
	case !w.tail && !strings.Contains(part, "/"):
		w.kind = textGlob
	case w.tail:
		w.text = "**/" + part
	}
	return w
}

// unescape takes the `\` away and says whether no glob is left.
func unescape(part string) (text string, isLiteral bool) {
	var out strings.Builder
	for i := 0; i < len(part); i++ {
		switch part[i] {
		case '*', '?', '[', '{':
			return part, false
		case '\\':
			i++
		}
		out.WriteByte(part[i])
	}
	return out.String(), true
}

// maxJoined is how many bytes of arguments a regular expression looks at.
const maxJoined = 128 << 10

func joinedLen(argv []string) int {
	n := len(argv)
	for _, arg := range argv {
		n += len(arg)
	}
	return n
}

// Match says whether the pattern matches a command line. Words without a glob
// are compared in place, without an allocation.
func (p Pattern) Match(argv []string) bool {
	if p.re != nil {
		return joinedLen(argv) <= maxJoined && p.re.MatchString(strings.Join(argv, " "))
	}
	if len(p.words) == 0 {
		return false
	}
	for i := 0; i+len(p.words) <= len(argv); i++ {
		if p.matchFrom(argv, i) {
			return true
		}
	}
	return false
}

func (p Pattern) matchFrom(argv []string, at int) bool {
	if !p.words[0].match(argv[at]) {
		return false
	}
	if p.words[0].tail && isText(argv, at) && !(p.words[0].blank && !afterCommandOption(argv, at) && p.words[0].matchAll(argv[at])) {
		return false
	}
	for i := 1; i < len(p.words); i++ {
		if !p.words[i].match(argv[at+i]) {
			return false
		}
	}
	return true
}

func (w word) match(arg string) bool {
	switch w.kind {
	case literal:
		return arg == w.text || w.tail && hasTail(arg, w.text)
	case pathGlob:
		return doublestar.MatchUnvalidated(w.text, arg)
	}
	// Doublestar's * stops at a '/' alone; a byte that no argument holds stands for it.
	return doublestar.MatchUnvalidated(w.text, strings.ReplaceAll(arg, "/", "\x00"))
}

// matchAll is match where a path's tail will not do.
func (w word) matchAll(arg string) bool {
	if w.kind != literal {
		w.text = strings.TrimPrefix(w.text, "**/")
	}
	w.tail = false
	return w.match(arg)
}

func hasTail(path, tail string) bool {
	at := len(path) - len(tail)
	return at > 0 && path[at-1] == '/' && path[at:] == tail
}

// isText says whether an argument is text that mentions paths, not a path: it
// holds blanks and is not written like one path, or it follows a `-c` and is more
// to a shell than one plain word.
func isText(argv []string, at int) bool {
	if afterCommandOption(argv, at) {
		return strings.ContainsAny(argv[at], shellBlanks+"|&;<>()$`\"'")
	}
	return strings.ContainsAny(argv[at], shellBlanks) && !isOnePath(argv[at])
}

const shellBlanks = " \t\n"

// afterCommandOption knows the option after which shells, su and others take a
// command as one argument: -c, or letters that end in it such as -lc.
func afterCommandOption(argv []string, at int) bool {
	if at == 0 {
		return false
	}
	arg := argv[at-1]
	return len(arg) > 1 && arg[0] == '-' && arg[1] != '-' && arg[len(arg)-1] == 'c'
}

// isOnePath says whether an argument with blanks is written like one path: it
// starts like one (`/`, `./`, `../`, `~`) and nothing in it reads like a command
// line, such as a second path after a blank, an option, a quote or what a shell
// takes for its own. `/Users/a b/x.ts` is one path; `/bin/node x/y.ts`, which
// cannot be told from it, counts as one too.
func isOnePath(arg string) bool {
	if !startsPath(arg) || strings.ContainsAny(arg, ";|<>`\"\n\t") || strings.Contains(arg, "&&") || strings.Contains(arg, "$(") {
		return false
	}
	for rest := arg; ; {
		_, after, found := strings.Cut(rest, " ")
		if !found {
			return true
		}
		if startsPath(after) || len(after) > 1 && after[0] == '-' && after[1] != ' ' {
			return false
		}
		rest = after
	}
}

func startsPath(s string) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") || strings.HasPrefix(s, "~")
}
