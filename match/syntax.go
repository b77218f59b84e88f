package match

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxRepaired bounds in bytes what is parsed again to find further mistakes
// behind one of syntax.
const maxRepaired = 4 << 20

func withoutBOM(data []byte) []byte {
	return bytes.TrimPrefix(data, []byte("\ufeff"))
}

// place is a line and a column.
type place [2]int

// parse returns the one document of a file, or nil and problems.
//
// An unquoted `*/node` ends the YAML parser, and what is wrong after it would
// only show in the next run. So its first character is replaced, the file parsed
// again, and the rest judged; with a problem noted nothing of it is ever used.
// Repaired are the places where that was done.
func parse(data []byte, problems *Problems) (root *yaml.Node, repaired map[place]bool) {
	if !checkBytes(data, problems) {
		return nil, nil
	}
	repaired = map[place]bool{}
	for budget := maxRepaired; ; budget -= len(data) {
		var documents []yaml.Node
		err := yaml.Load(data, &documents, yaml.WithAllDocuments())
		if err == nil {
			return onlyDocument(documents, problems), repaired
		}
		problem, at := syntaxProblem(err, data)
		problems.add(problem)
		if at < 0 || budget < len(data) || len(problems.List) == maxProblems {
			return nil, nil
		}
		repaired[place{problem.Line, problem.Column}] = true
		data = bytes.Clone(data)
		data[at] = 'x'
	}
}

func onlyDocument(documents []yaml.Node, problems *Problems) *yaml.Node {
	if len(documents) == 0 || isEmpty(&documents[0]) && len(documents) == 1 {
		problems.add(Problem{Line: 1, Column: 1, Message: "no rules: the file is empty", Hint: "`reaper rules init` writes one to begin with"})
		return nil
	}
	if len(documents) > 1 {
		problems.add(Problem{
			Line: documents[1].Line, Column: documents[1].Column,
			Message: "a second document", Hint: "a rules file is one document: remove the `---`, or write two files",
		})
	}
	return documents[0].Content[0]
}

func isEmpty(document *yaml.Node) bool {
	return len(document.Content) == 0 || document.Content[0].Tag == "!!null" && document.Content[0].Value == ""
}

// checkBytes refuses what is no text before YAML sees it: it would be refused
// without a place.
func checkBytes(data []byte, problems *Problems) bool {
	if len(data) > MaxFile {
		problems.data = nil
		problems.add(Problem{Line: 1, Column: 1, Message: fmt.Sprintf("%d bytes are too many for a rules file, the limit is %d", len(data), MaxFile)})
		return false
	}
	line, column := 1, 1
	for at := 0; at < len(data); {
		r, size := utf8.DecodeRune(data[at:])
		if message, hint := badRune(r, size, data[at:]); message != "" {
			problems.add(Problem{Line: line, Column: column, Message: message, Hint: hint})
			return false
		}
		at += size
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return true
}

// badRune says what is wrong with a character at the beginning of rest, if anything.
// U+0085, U+2028 and U+2029 end a line for YAML and for nobody else.
func badRune(r rune, size int, rest []byte) (message, hint string) {
	switch {
	case r == utf8.RuneError && size == 1:
		return fmt.Sprintf("byte %#02x is not UTF-8", rest[0]), "save the file as UTF-8"
	case r == '\r' && !bytes.HasPrefix(rest, []byte("\r\n")):
		return "a carriage return that ends no line", "end lines with a line feed"
	case r == 0x85 || r == 0x2028 || r == 0x2029:
		return fmt.Sprintf("%U, which ends a line without showing it", r), "write a plain line break"
	case r < ' ' && r != '\n' && r != '\t' && r != '\r', r >= 0x7f && r < 0xa0, r == 0xfeff, r == 0xfffe, r == 0xffff:
		return fmt.Sprintf("%U is not allowed in a rules file", r), "rules are plain text"
	}
	return "", ""
}

// syntaxProblem translates an error of the YAML parser, and gives the byte to
// replace for another try, or -1.
func syntaxProblem(err error, data []byte) (problem Problem, repair int) {
	var load *yaml.LoadError
	if !errors.As(err, &load) {
		return Problem{Line: 1, Column: 1, Message: "not YAML: " + err.Error()}, -1
	}
	problem = Problem{Line: load.Mark.Line, Column: load.Mark.Column, Message: "not YAML: " + load.Message}
	if beginsEarlier(load) {
		problem.Line, problem.Column = load.ContextMark.Line, load.ContextMark.Column
	}
	at := placeInFile(&problem, data)
	explain(&problem, load, data[at:])
	if at == len(data) || strings.IndexByte("*@`%", data[at]) < 0 || data[at] == '%' && problem.Column == 1 {
		return problem, -1
	}
	return problem, at
}

// beginsEarlier says whether the mistake is better shown where its construct
// begins: an open quote ends with the file.
func beginsEarlier(load *yaml.LoadError) bool {
	switch load.ContextMsg {
	case "while scanning an alias", "while scanning an anchor", "while scanning a tag", "while scanning a quoted scalar":
		return load.ContextMark.Line > 0
	}
	return false
}

// placeInFile moves a problem to a place that is there, and returns its byte.
func placeInFile(problem *Problem, data []byte) int {
	problem.Line, problem.Column = max(problem.Line, 1), max(problem.Column, 1)
	begin := 0
	for line := 1; line < problem.Line; line++ {
		next := bytes.IndexByte(data[begin:], '\n')
		if next < 0 || begin+next+1 == len(data) { // past the end: the last line
			problem.Line, problem.Column = line, 1+utf8.RuneCount(bytes.TrimRight(data[begin:], "\r\n"))
			break
		}
		begin += next + 1
	}
	for range problem.Column - 1 {
		_, size := utf8.DecodeRune(data[begin:])
		begin += size
	}
	return begin
}

// explain says in the words of a rules file what YAML makes of a place.
func explain(problem *Problem, load *yaml.LoadError, rest []byte) {
	word := firstWord(rest)
	switch {
	case len(rest) > 0 && rest[0] == '%' && problem.Column == 1, strings.Contains(load.ContextMsg, "directive"):
		problem.Message = "YAML directives are not supported"
		problem.Hint = "remove the line"
	case len(rest) > 0 && rest[0] == '*':
		problem.Message = fmt.Sprintf("%s without quotes is a YAML alias", quoted(word))
		problem.Hint = "quote the pattern: '" + word + "'"
	case len(rest) > 0 && rest[0] == '\t', strings.Contains(load.Message, "tab character"):
		problem.Message = "a tab indents nothing in YAML"
		problem.Hint = "indent with blanks"
	case strings.Contains(load.Message, "cannot start any token"):
		problem.Message = fmt.Sprintf("a value cannot begin with %s", quoted(word[:min(len(word), 1)]))
		problem.Hint = "quote it: '" + word + "'"
	case strings.Contains(load.Message, "max depth"):
		problem.Message = "nested too deeply"
	case strings.Contains(load.Message, "mapping values are not allowed"):
		problem.Hint = "quote a value that has ': ' in it, and mind the indentation"
	case strings.Contains(load.Message, "unexpected end of stream"):
		problem.Hint = "a quote or bracket is not closed"
	case strings.HasPrefix(load.Message, "did not find expected"):
		problem.Hint = "mind the indentation, and the quotes and brackets before this place"
	}
}

// firstWord is what stands at the beginning, up to a blank or what ends a word in a list.
func firstWord(rest []byte) string {
	if end := bytes.IndexAny(rest, " \t\r\n,]}"); end >= 0 {
		rest = rest[:end]
	}
	return strings.ToValidUTF8(string(rest[:min(len(rest), maxQuoted)]), "")
}
