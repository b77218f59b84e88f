package match

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxProblems = 100 // more are counted, not kept
	maxExcerpt  = 100 // columns of a line that are shown around a mistake
	maxQuoted   = 60  // bytes of a text that a message repeats
)

// Problem is one mistake in a rules file. Line and Column count from 1, columns
// in characters. Message says what is wrong, Hint what to write instead; it may
// be empty.
type Problem struct {
	Line, Column  int
	Message, Hint string
}

// Problems are all mistakes of one rules file, in the order of the file.
type Problems struct {
	Source string
	List   []Problem
	More   int // found beyond those in List

	data []byte
}

// Error shows each mistake as "FILE:LINE:COLUMN: message", with the line, a caret
// under the place, and the hint. Nothing in it can move a terminal's cursor.
func (p *Problems) Error() string {
	var out strings.Builder
	lines := strings.Split(string(p.data), "\n")
	for i, problem := range p.List {
		if i > 0 {
			out.WriteByte('\n')
		}
		fmt.Fprintf(&out, "%s:%d:%d: %s", escaped(p.Source), problem.Line, problem.Column, escaped(problem.Message))
		if problem.Line <= len(lines) {
			writeExcerpt(&out, strings.TrimSuffix(lines[problem.Line-1], "\r"), problem)
		}
		if problem.Hint != "" {
			fmt.Fprintf(&out, "\n  hint: %s", escaped(problem.Hint))
		}
	}
	if p.More > 0 {
		fmt.Fprintf(&out, "\n%s: and %d more", escaped(p.Source), p.More)
	}
	return out.String()
}

// writeExcerpt shows a line, or the part of it around the column, and the caret.
func writeExcerpt(out *strings.Builder, line string, problem Problem) {
	if strings.TrimSpace(line) == "" {
		return
	}
	before, after := splitAtColumn(line, problem.Column)
	if fits(line) {
		before, after = escaped(before), escaped(after)
	} else {
		before, after = lastColumns(before, maxExcerpt/2), firstColumns(after, maxExcerpt/2)
	}
	margin := strconv.Itoa(problem.Line)
	blank := strings.Repeat(" ", len(margin))
	fmt.Fprintf(out, "\n  %s | %s%s", margin, before, after)
	fmt.Fprintf(out, "\n  %s | %s^", blank, strings.Repeat(" ", columns(before)))
}

func fits(line string) bool {
	return len(line) <= 4*maxExcerpt && columns(escaped(line)) <= maxExcerpt
}

func splitAtColumn(line string, column int) (before, after string) {
	at := 0
	for range column - 1 {
		_, size := utf8.DecodeRuneInString(line[at:])
		at += size
	}
	return line[:at], line[at:]
}

// firstColumns escapes a text and cuts what does not fit.
func firstColumns(s string, limit int) string {
	var out strings.Builder
	width := 0
	for _, r := range s {
		shown := escapedRune(r)
		if width += columns(shown); width > limit {
			return out.String() + "…"
		}
		out.WriteString(shown)
	}
	return out.String()
}

// lastColumns is firstColumns from the other end.
func lastColumns(s string, limit int) string {
	var shown []string
	for width := 0; s != ""; {
		r, size := utf8.DecodeLastRuneInString(s)
		piece := escapedRune(r)
		if width += columns(piece); width > limit {
			shown = append(shown, "…")
			break
		}
		shown = append(shown, piece)
		s = s[:len(s)-size]
	}
	slices.Reverse(shown)
	return strings.Join(shown, "")
}

// escaped makes a text safe to print on a terminal, on one line.
func escaped(s string) string {
	var out strings.Builder
	for _, r := range s {
		out.WriteString(escapedRune(r))
	}
	return out.String()
}

// escapedRune leaves what prints, and shows the rest (control and format
// characters, odd spaces, broken UTF-8) as Go would write it.
func escapedRune(r rune) string {
	if unicode.IsPrint(r) {
		return string(r)
	}
	quoted := strconv.QuoteRune(r)
	return quoted[1 : len(quoted)-1]
}

// advised is an error that knows what to write instead.
type advised struct {
	message, advice string
}

func (e *advised) Error() string { return e.message + "; " + e.advice }

// quoted shows a text of the file within a message, cut where it is long.
func quoted(s string) string {
	if len(s) > maxQuoted {
		s = strings.ToValidUTF8(s[:maxQuoted], "") + "…"
	}
	return strconv.Quote(s)
}

// columns is how many columns of a terminal a text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mn, r): // drawn over the character before
		case isWide(r):
			n += 2
		default:
			n++
		}
	}
	return n
}

// isWide knows the blocks of UAX 11 that fill two columns, near enough for a caret.
func isWide(r rune) bool {
	return r >= 0x1100 && r <= 0x115f || r >= 0x2e80 && r <= 0xa4cf || r >= 0xac00 && r <= 0xd7a3 ||
		r >= 0xf900 && r <= 0xfaff || r >= 0xfe30 && r <= 0xfe6f || r >= 0xff00 && r <= 0xff60 ||
		r >= 0xffe0 && r <= 0xffe6 || r >= 0x1f300 && r <= 0x1faff || r >= 0x20000 && r <= 0x3fffd
}

// add keeps a problem, or counts it where there are too many to read.
func (p *Problems) add(problem Problem) {
	if len(p.List) == maxProblems {
		p.More++
		return
	}
	if slices.Contains(p.List, problem) {
		return
	}
	p.List = append(p.List, problem)
}

// err is the problems in the order of the file, or nil if there are none.
func (p *Problems) err() error {
	if len(p.List) == 0 {
		return nil
	}
	slices.SortStableFunc(p.List, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return p
}
