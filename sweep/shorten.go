package sweep

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// What is shown has been made printable in the report. What is not a line's last
// cell must have a width that all terminals agree on, so only the last holds
// what processes say of themselves.

// narrow takes what is ambiguous (East Asian Width A) as one column wide, as
// terminals do unless they are told otherwise.
var narrow = runewidth.Condition{StrictEmojiNeutral: true}

// columns is the number of columns that s takes, rather more than less.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

// runeColumns looks nothing up for what the layout itself draws with, which
// would build a table of two megabytes.
func runeColumns(r rune) int {
	switch {
	case r < 0x7f, r == '…', r == '×', r == '≤', r >= 0x2500 && r < 0x2580:
		return 1
	case r == 0xfe0f: // shows the character before it as an emoji, which may be wider
		return 1
	}
	return narrow.RuneWidth(r)
}

// most bytes that a text of so many columns has: characters of no width can pile
// up on another without end.
func most(columns int) int { return 8*columns + 8 }

// shorten cuts s in its middle to at most max columns.
func shorten(s string, max int) string {
	if len(s) <= max || len(s) <= most(max) && columns(s) <= max {
		return s
	}
	head := (max - 1) * 2 / 5
	return start(s, head) + "…" + end(s, max-1-head)
}

// start is the beginning of s that is at most max columns wide.
func start(s string, max int) string {
	n := 0
	for i, r := range s {
		if n += runeColumns(r); n > max || i+utf8.RuneLen(r) > most(max) {
			return s[:i]
		}
	}
	return s
}

// end is the end of s that is at most max columns wide; it does not begin with a
// character that would combine with what stands before it.
func end(s string, max int) string {
	at, n := len(s), 0
	for i := len(s); i > 0; {
		r, size := utf8.DecodeLastRuneInString(s[:i])
		width := runeColumns(r)
		if n += width; n > max || len(s)-i+size > most(max) {
			break
		}
		if i -= size; width > 0 {
			at = i
		}
	}
	return s[at:]
}

// wrap breaks a sentence at its blanks into lines of at most width columns, the
// first after an indent of so many, the others after two more, and shortens what
// would take more than four of them. 0: one line.
func wrap(s string, indent, width int) []string {
	blanks := strings.Repeat(" ", indent)
	if width == 0 {
		return []string{blanks + shorten(s, 600)}
	}
	room := max(width-indent, commandLeast) - 2
	var lines []string
	line, used, limit := "", 0, room+2
	for word := range strings.FieldsSeq(shorten(s, 4*room)) {
		word = shorten(word, room)
		wide := columns(word)
		if used > 0 && used+1+wide > limit {
			lines, line, used = append(lines, blanks+line), "", 0
			blanks, limit = strings.Repeat(" ", indent+2), room
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used = line+word, used+wide
	}
	return append(lines, blanks+line)
}

// shortCommand is an argument list in at most max columns, so that one knows it
// again: the program, and the word that tells most with what follows it.
func shortCommand(argv []string, max int) string {
	if whole, fits := joined(argv, max); fits && strings.TrimSpace(whole) != "" {
		return whole
	} else if fits {
		return "(blank)"
	}
	words := make([]string, min(len(argv), 2*max)) // each takes two columns at least
	for i := range words {
		words[i] = shortPath(argv[i], i == 0)
	}
	if len(words) == len(argv) {
		if whole, fits := joined(words, max); fits {
			return whole
		}
	}
	telling := tellingWord(argv[:len(words)])
	keep := make([]bool, len(words))
	keep[0], keep[telling] = true, true
	if telling > 1 && oneProgram(words[telling-1]) {
		keep[telling-1] = true
	}
	cut := len(words) < len(argv)
	fits := func() bool { return columns(kept(words, keep, cut)) <= max }
	if len(words[0]) > most(max) || len(words[telling]) > most(max) || !fits() {
		return squeeze(words, telling, max)
	}
	for i := telling + 1; i < len(words) && len(words[i]) <= most(max); i++ {
		if keep[i] = true; !fits() {
			keep[i] = false
			break
		}
	}
	// All of the words before it, or none: an option and its value belong together.
	without := slices.Clone(keep)
	for i := range telling {
		keep[i] = true
	}
	if _, small := joined(words[:telling], max); !small || !fits() {
		keep = without
	}
	return kept(words, keep, cut)
}

// squeeze is for a word that is too long by itself.
func squeeze(words []string, telling, max int) string {
	if telling == 0 && len(words) > 1 {
		return shorten(words[0], max-2) + " …"
	}
	if telling == 0 {
		return shorten(words[0], max)
	}
	program := shorten(words[0], max/3)
	text := program + " "
	switch {
	case telling == 2 && oneProgram(words[1]):
		text += words[1] + " "
	case telling > 1:
		text += "… "
	}
	return text + shorten(words[telling], max-columns(text))
}

// joined joins the words if that is at most max columns wide.
func joined(words []string, max int) (string, bool) {
	size := len(words) - 1
	for _, w := range words {
		if size += len(w); size > most(max) {
			return "", false
		}
	}
	whole := strings.Join(words, " ")
	return whole, columns(whole) <= max
}

// kept joins the words that are kept, with an ellipsis for each gap.
func kept(words []string, keep []bool, cut bool) string {
	var b strings.Builder
	gap := false
	for i, word := range words {
		if !keep[i] {
			gap = true
			continue
		}
		if gap && !strings.HasPrefix(word, "…") {
			b.WriteString(" …")
		}
		if gap = false; i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
	}
	if gap || cut {
		b.WriteString(" …")
	}
	return b.String()
}

// tellingWord is the index of the argument by which one knows the process: what
// -c or -m is given, a script or another file, else the first that is no flag.
func tellingWord(argv []string) int {
	first := 0
	for i := 1; i < len(argv); i++ {
		word := argv[i]
		switch {
		case oneProgram(argv[i-1]) && i <= 3:
			return i
		case strings.HasPrefix(word, "-"), slices.Contains(loaders, argv[i-1]):
		case strings.ContainsAny(word, "/."):
			return i
		case first == 0:
			first = i
		}
	}
	return first
}

// oneProgram says whether what follows the option is what is run.
func oneProgram(option string) bool { return option == "-c" || option == "-m" }

// loaders are options whose file is not what is run.
var loaders = []string{"-cp", "-classpath", "--class-path", "--import", "-r", "--require", "--loader", "--experimental-loader"}

// shortPath keeps of a long path, or a flag's, the last two parts, of a
// program's the last.
func shortPath(word string, program bool) string {
	if program {
		if at := strings.LastIndexByte(word, '/'); at >= 0 && at < len(word)-1 && !strings.Contains(word, " ") {
			return word[at+1:]
		}
		return word
	}
	flag, path := "", word
	if name, value, ok := strings.Cut(word, "="); ok && strings.HasPrefix(word, "-") {
		flag, path = name+"=", value
	}
	if strings.Contains(path, " ") || strings.Contains(path, "://") {
		return word
	}
	last := strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/')
	if last <= 0 {
		return word
	}
	before := strings.LastIndexByte(path[:last], '/')
	if before <= len("…") {
		return word
	}
	return flag + "…" + path[before:]
}
