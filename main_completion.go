package main

import (
	_ "embed" // the manual page
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"

	"reaper/sweep"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`

	model *kong.Application
}

type manCmd struct{}

//go:embed reaper.1
var manualPage []byte

func (manCmd) run(stdout io.Writer, _ zerolog.Logger) (int, error) {
	_, err := stdout.Write(manualPage)
	return written(sweep.ExitDone, err)
}

func (c *completionCmd) run(stdout io.Writer, _ zerolog.Logger) (int, error) {
	write := map[string]func([]place) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell]
	_, err := io.WriteString(stdout, write(places("", c.model.Node)))
	return written(sweep.ExitDone, err)
}

// place is a command, by its words, and what may follow it. The program itself
// has no words.
type place struct {
	words string
	next  []choice // commands, or the values of its argument
	flags []choice
	files bool // its argument is a file
	runs  bool // after -- its arguments are a command's
}

// choice is a word to choose, and for a flag what its value may be.
type choice struct {
	word, help string
	value      bool
	values     []string
	files      bool
}

// places are a command and all below it.
func places(words string, n *kong.Node) []place {
	p := place{words: words}
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		file := f.PlaceHolder == "FILE" || f.PlaceHolder == "DIR"
		p.flags = append(p.flags, choice{"--" + f.Name, brief(f.Help), !f.IsBool(), enum(f.Enum), file})
	}
	for _, arg := range n.Positional {
		for _, value := range enum(arg.Enum) {
			p.next = append(p.next, choice{word: value})
		}
		p.runs = arg.Passthrough
		p.files = p.files || arg.Name == "file" || p.runs
	}
	var below []place
	for _, child := range n.Children {
		if child.Hidden {
			continue
		}
		p.next = append(p.next, choice{word: child.Name, help: brief(child.Help)})
		below = append(below, places(strings.TrimSpace(words+" "+child.Name), child)...)
	}
	return append([]place{p}, below...)
}

func enum(list string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, ",")
}

// brief is a help's first sentence, in words that no shell gives a meaning to
// within single quotes.
func brief(help string) string {
	first, _, _ := strings.Cut(help, ". ")
	return strings.ReplaceAll(strings.TrimSuffix(first, "."), "'", "’")
}

func wordsOf(choices []choice) string {
	words := make([]string, len(choices))
	for i, c := range choices {
		words[i] = c.word
	}
	return strings.Join(words, " ")
}

// paths are the words of all commands, quoted and joined.
func paths(all []place, sep string) string {
	var quoted []string
	for _, p := range all[1:] {
		quoted = append(quoted, "'"+p.words+"'")
	}
	return strings.Join(quoted, sep)
}

// commandHeads are the words after which another command's begin, quoted and joined.
func commandHeads(all []place, sep string) string {
	var quoted []string
	for _, p := range all {
		if p.runs {
			quoted = append(quoted, "'"+p.words+" --'")
		}
	}
	return strings.Join(quoted, sep)
}

func bashCompletion(all []place) string {
	var b strings.Builder
	b.WriteString(`# Completion of reaper for bash: source <(reaper completion bash)
_reaper() {
	local at= word i cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=
	if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${COMP_WORDS[COMP_CWORD-2]}; fi
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		case ${at:+$at }$word in
		` + paths(all, " | ") + `) at=${at:+$at }$word ;;
		` + commandHeads(all, " | ") + `)
			COMPREPLY=()
			if ((i < COMP_CWORD - 1)); then compopt -o default; else COMPREPLY=($(compgen -c -- "$cur")); fi
			return
			;;
		esac
	done
	COMPREPLY=()
	case "$at $prev" in
`)
	for _, p := range all {
		for _, f := range p.flags {
			if f.value && len(f.values) > 0 {
				fmt.Fprintf(&b, "\t'%s %s') COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", p.words, f.word, strings.Join(f.values, " "))
			} else if f.value {
				fmt.Fprintf(&b, "\t'%s %s') %sreturn ;;\n", p.words, f.word, map[bool]string{true: "compopt -o default; "}[f.files])
			}
		}
	}
	b.WriteString("\tesac\n\tcase $at in\n")
	for _, p := range all {
		fmt.Fprintf(&b, "\t'%s')\n\t\twords='%s'\n", p.words, wordsOf(p.next))
		fmt.Fprintf(&b, "\t\tif [[ $cur == -* ]]; then words='%s'; fi%s ;;\n", wordsOf(p.flags), map[bool]string{true: "\n\t\tcompopt -o default"}[p.files])
	}
	b.WriteString("\tesac\n\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n}\ncomplete -F _reaper reaper\n")
	return b.String()
}

func zshCompletion(all []place) string {
	var b strings.Builder
	b.WriteString(`#compdef reaper
# Completion of reaper for zsh: source <(reaper completion zsh), or as _reaper in a folder of $fpath
_reaper() {
	local at= word i prev=$words[CURRENT-1]
	local -a choices
	for (( i = 2; i < CURRENT; i++ )); do
		word=$words[i]
		case ${at:+$at }$word in
		(` + paths(all, "|") + `) at=${at:+$at }$word ;;
		(` + commandHeads(all, "|") + `)
			shift $i words
			(( CURRENT -= i ))
			_normal
			return
			;;
		esac
	done
	if [[ $words[CURRENT] == --*=* ]]; then
		prev=${words[CURRENT]%%=*}
		compset -P '*='
	fi
	case "$at $prev" in
`)
	for _, p := range all {
		for _, f := range p.flags {
			if f.value && len(f.values) > 0 {
				fmt.Fprintf(&b, "\t('%s %s') compadd %s; return ;;\n", p.words, f.word, strings.Join(f.values, " "))
			} else if f.value {
				fmt.Fprintf(&b, "\t('%s %s') %s; return ;;\n", p.words, f.word, map[bool]string{true: "_files", false: "_message value"}[f.files])
			}
		}
	}
	b.WriteString("\tesac\n\tcase $at in\n")
	for _, p := range all {
		fmt.Fprintf(&b, "\t('%s')\n", p.words)
		for _, list := range []struct {
			test    string
			choices []choice
		}{{"!=", p.next}, {"==", p.flags}} {
			fmt.Fprintf(&b, "\t\tif [[ $words[CURRENT] %s -* ]]; then\n\t\t\tchoices=(\n", list.test)
			for _, c := range list.choices {
				fmt.Fprintf(&b, "\t\t\t\t'%s'\n", strings.TrimSuffix(c.word+":"+c.help, ":"))
			}
			b.WriteString("\t\t\t)\n\t\tfi\n")
		}
		if p.files {
			b.WriteString("\t\t_files\n")
		}
		b.WriteString("\t\t;;\n")
	}
	b.WriteString("\tesac\n\t_describe reaper choices\n}\nif [[ $funcstack[1] == _reaper ]]; then _reaper \"$@\"; else compdef _reaper reaper; fi\n")
	return b.String()
}

func fishCompletion(all []place) string {
	var b strings.Builder
	b.WriteString(`# Completion of reaper for fish: reaper completion fish | source
function __reaper_at
	set -l at
	for word in (commandline -opc)[2..-1]
		set -l next (string trim -- "$at $word")
		if contains -- $next ` + paths(all, " ") + `
			set at $next
		end
	end
	test "$at" = "$argv"
end
function __reaper_at_command
	__reaper_at $argv; and test (commandline -opc)[-1] = --
end
complete -c reaper -f
`)
	for _, p := range all {
		line := func(format string, args ...any) {
			fmt.Fprintf(&b, "complete -c reaper -n '__reaper_at %s' "+format+"\n", append([]any{p.words}, args...)...)
		}
		for _, c := range p.next {
			line("-a %s -d '%s'", c.word, c.help)
		}
		for _, f := range p.flags {
			value := ""
			switch {
			case len(f.values) > 0:
				value = "-x -a '" + strings.Join(f.values, " ") + "' "
			case f.files:
				value = "-r -F "
			case f.value:
				value = "-x "
			}
			line("-l %s %s-d '%s'", strings.TrimPrefix(f.word, "--"), value, f.help)
		}
		if p.files {
			line("-F")
		}
		if p.runs {
			fmt.Fprintf(&b, "complete -c reaper -n '__reaper_at_command %s' -a '(__fish_complete_command)'\n", p.words)
		}
	}
	return b.String()
}
