package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"reaper/match"
	"reaper/platform"
)

// grammar is what a command line may hold where the mistake is.
type grammar struct {
	path     string // "reaper rules check"
	commands []string
	flags    []choice // with -- and the placeholder as help
	args     []choice
	owners   map[string]string // of a line without a command: the command that has a flag
}

// The parser has no types for what is wrong, only these sentences. They are compiled where one is made: every start would pay for it.
const (
	unknownFlag   = `^unknown flag (.*?)(?:, did you mean .*)?$`
	oneTooMany    = `(?s)^unexpected argument (.*?)(?:, did you mean .*)?$`
	noChoice      = `(?s)^(\S+) must be one of .* but got (".*")$`
	noValue       = `^(--\S+): (?:missing value|expected \S+ value but got "EOL")`
	flagForValue  = `(?s)^(--\S+): expected \S+ value but got (".*") \(.*`
	valueForNone  = `(?s)^(--\S+): bool value must be .* but got (".*")$`
	lacksCommand  = `^expected one of `
	lacksArgument = `^expected "<(\w+)>`
)

// inWords says what is wrong with a command line and what to write instead.
func (g *grammar) inWords(mistake string) string {
	said := func(of string) []string { return regexp.MustCompile(of).FindStringSubmatch(mistake) }
	if m := said(unknownFlag); m != nil {
		return g.noFlag(m[1])
	}
	if m := said(oneTooMany); m != nil {
		return g.noArgument(m[1])
	}
	if m := said(noChoice); m != nil {
		values := g.find(m[1]).values
		return fmt.Sprintf("%s %s is none of %s%s", m[1], m[2], either(values), meant(unquoted(m[2]), values))
	}
	if m := said(noValue); m != nil {
		if values := g.find(m[1]).values; len(values) > 0 {
			return fmt.Sprintf("%s needs a value: %s", m[1], either(values))
		}
		return fmt.Sprintf("%s needs a value: %[1]s %s", m[1], g.find(m[1]).help)
	}
	if m := said(flagForValue); m != nil {
		return fmt.Sprintf("%s needs a value, and %s begins with a dash: write %[1]s %[3]s, or %[1]s=%[2]s if that is meant", m[1], m[2], g.find(m[1]).help)
	}
	if m := said(valueForNone); m != nil {
		return fmt.Sprintf("%s takes no value, and was given %s", m[1], m[2])
	}
	if said(lacksCommand) != nil && g.path == "reaper" {
		return "no command: reaper sweep --dry-run shows what a sweep would stop"
	}
	if said(lacksCommand) != nil {
		return fmt.Sprintf("%s needs a command: %s", g.name(), either(g.commands))
	}
	if m := said(lacksArgument); m != nil {
		return g.needs(m[1])
	}
	return mistake
}

// name is the command without the program.
func (g *grammar) name() string { return strings.TrimPrefix(g.path, "reaper ") }

func (g *grammar) find(name string) choice {
	for _, c := range slices.Concat(g.flags, g.args) {
		if c.word == name || "<"+c.word+">" == name {
			return c
		}
	}
	return choice{}
}

// usual are what commands are called with.
var usual = map[string]string{"explain": "4711", "stop": "4711", "id": "$$", "alive": "4711", "rules check": "rules.yaml",
	"run": "-- make test", "schedule": "cron", "completion": "bash"}

func (g *grammar) needs(argument string) string {
	what := "a " + argument
	if values := g.find("<" + argument + ">").values; len(values) > 0 {
		what += " (" + either(values) + ")"
	}
	return fmt.Sprintf("%s needs %s, as in: %s %s", g.name(), what, g.path, usual[g.name()])
}

func (g *grammar) noFlag(name string) string {
	if owner := g.owners[name]; owner != "" {
		return fmt.Sprintf("%s comes after a command, as in: %s %s %[1]s", name, g.path, owner)
	}
	said := fmt.Sprintf("%s has no flag %q", g.name(), name)
	words := wordList(g.flags)
	if len(name) == 2 { // a letter
		var begin []string
		for _, word := range words {
			if strings.HasPrefix(word, "-"+name) || name == "-n" && word == "--dry-run" {
				begin = append(begin, word)
			}
		}
		if len(begin) > 0 {
			return said + ": did you mean " + either(begin) + "?"
		}
		return said
	}
	return said + meant(name, words)
}

// synonyms are first words that others have, and commands that are below one.
var synonyms = map[string]string{
	"check": `"rules check" or "sweep --check"`, "show": `"rules show"`, "init": `"rules init"`, "schema": `"rules schema"`,
	"validate": `"rules check"`, "lint": `"rules check"`, "kill": `"stop"`, "terminate": `"stop"`, "why": `"explain"`, "inspect": `"explain"`,
	"list": `"sweep --dry-run"`, "status": `"sweep --dry-run"`, "scan": `"sweep --dry-run"`, "dry-run": `"sweep --dry-run"`,
	"reap": `"sweep"`, "clean": `"sweep"`, "start": `"run"`, "exec": `"run"`, "install": `"schedule"`,
	"cron": `"schedule cron"`, "launchd": `"schedule launchd"`, "systemd": `"schedule systemd"`,
	"bash": `"completion bash"`, "zsh": `"completion zsh"`, "fish": `"completion fish"`,
}

// noArgument is for a word too many: a command that there is not, or an argument.
func (g *grammar) noArgument(word string) string {
	if g.path == "reaper" {
		return fmt.Sprintf("there is no command %q%s", word, g.command(word))
	}
	if len(g.commands) > 0 {
		return fmt.Sprintf("%s has no command %q%s", g.name(), word, orElse(meant(word, g.commands), ": it has "+strings.Join(g.commands, ", ")))
	}
	if len(g.args) > 0 {
		return fmt.Sprintf("%s takes one %s, and %q is one too many", g.name(), g.args[0].word, word)
	}
	said := fmt.Sprintf("%s takes no argument, and was given %q", g.name(), word)
	_, isPID := match.ParseIdentity(word)
	switch ext := filepath.Ext(word); {
	case isPID:
		return said + fmt.Sprintf(": reaper explain %s says what becomes of that process, reaper stop %[1]s stops it", word)
	case ext == ".yaml" || ext == ".yml":
		return said + fmt.Sprintf(": did you mean --rules %s?", word)
	}
	return said + meant("--"+word, wordList(g.flags))
}

// command guesses which one was meant by the first word of a line.
func (g *grammar) command(word string) string {
	if _, isPID := platform.ParsePID(word); isPID {
		return fmt.Sprintf(": reaper explain %s says what becomes of that process, reaper stop %[1]s stops it", word)
	}
	known := slices.Clone(g.commands)
	for other := range synonyms {
		known = append(known, other)
	}
	slices.Sort(known)
	guess := match.DidYouMean(word, known)
	for _, c := range g.commands {
		if guess == "" && len(word) > 1 && strings.HasPrefix(c, word) {
			guess = c
		}
	}
	switch {
	case synonyms[guess] != "":
		return ": did you mean " + synonyms[guess] + "?"
	case guess != "":
		return fmt.Sprintf(": did you mean %q?", guess)
	}
	return ""
}

// meant is the known word that is near, as the end of a sentence.
func meant(word string, known []string) string {
	if guess := match.DidYouMean(word, known); guess != "" {
		return fmt.Sprintf(": did you mean %q?", guess)
	}
	return ""
}

func orElse(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

func wordList(choices []choice) []string {
	var words []string
	for _, c := range choices {
		words = append(words, c.word)
	}
	return words
}

func unquoted(s string) string {
	if text, err := strconv.Unquote(s); err == nil {
		return text
	}
	return s
}

// either joins words to choose from.
func either(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// number reads the value of a flag that counts.
func number(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s is too large a number", text)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is no number; write digits, as in 20", text)
	}
	return n, nil
}
