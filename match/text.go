package match

import (
	"strings"
	"unicode/utf8"
)

// Texts are pieces of which every command line that a rule without a marker may
// match holds one, as it stands in memory. It is nil where a pattern promises none,
// so that every command line must be looked at. Without such a rule it is empty.
func (r *Rules) Texts() []string {
	texts := []string{}
	for _, rule := range r.Rules {
		if len(rule.Marker) > 0 {
			continue
		}
		if len(rule.Command) == 0 {
			return nil
		}
		for _, p := range rule.Command {
			text := p.text()
			if text == "" {
				return nil
			}
			texts = append(texts, text)
		}
	}
	return texts
}

// text is the longest piece that stands in one argument wherever the pattern
// matches, "" where there is none.
func (p Pattern) text() string {
	longest := ""
	for _, w := range p.words {
		if text := w.certain(); len(text) > len(longest) {
			longest = text
		}
	}
	return longest
}

// certain is what an argument that the word matches begins with or holds.
func (w word) certain() string {
	text := w.text
	if w.kind != literal {
		for strings.HasPrefix(text, "**/") {
			text = text[len("**/"):]
		}
		if end := strings.IndexAny(text, `*?[{\`); end >= 0 {
			text = text[:end]
		}
		text = strings.TrimSuffix(text, "/") // a/** matches a
	}
	if strings.ContainsRune(text, utf8.RuneError) {
		return "" // stands for any byte that is not UTF-8
	}
	return text
}
