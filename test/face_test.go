//go:build linux

package test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var commandLine = regexp.MustCompile(`(?m)^  ([a-z]+(?: [a-z]+)?)`)

// help is what --help says of each command, the program itself as "".
func (l *Lab) help() map[string]string {
	l.t.Helper()
	say := func(words string) string {
		this, _ := l.launch(Spec{Argv: append(append([]string{reaperBinary(l.t)}, strings.Fields(words)...), "--help"), Env: []string{quickExit}, Leader: true})
		this.Out, this.Err = l.path("stdout"), l.path("stderr")
		return l.Collect(this.Out, this.Err, l.finish(this), nil).Stdout
	}
	all := map[string]string{"": say("")}
	_, commands, _ := strings.Cut(all[""], "\nCommands:\n")
	for _, found := range commandLine.FindAllStringSubmatch(commands, -1) {
		all[found[1]] = say(found[1])
	}
	if len(all) < 10 || all["rules check"] == "" {
		l.t.Fatalf("commands of %s", all[""])
	}
	return all
}

var flagWord = regexp.MustCompile(`(?m)^ +(?:-\w, )?--([a-z-]+)`)

func flagsOf(help string) []string {
	var flags []string
	for _, found := range flagWord.FindAllStringSubmatch(help, -1) {
		flags = append(flags, "--"+found[1])
	}
	return flags
}

// Guards the manual page: man renders it without a warning, and every command
// and flag is in it.
func TestManualPage(t *testing.T) {
	lab := newLab(t)
	lab.needProgram("man")
	page := lab.Run(Run{Command: "man", Text: true, Status: 0}).Stdout
	file := lab.File("reaper.1", page)
	show := exec.Command("man", "--warnings", "--no-hyphenation", "--no-justification", "-E", "UTF-8", "-P", "cat", "-l", file)
	show.Env = append(lab.environ(), "MANWIDTH=200", "MAN_KEEP_FORMATTING=", "GROFF_NO_SGR=")
	var errs strings.Builder
	show.Stderr = &errs
	out, err := show.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("%v: %s", err, &errs)
	}
	text := regexp.MustCompile(`.\x08|\x1b\[[0-9;]*m`).ReplaceAllString(string(out), "")
	text = strings.ReplaceAll(text, "‐", "-")
	for command, help := range lab.help() {
		if !strings.Contains(text, "reaper "+command) && command != "" {
			t.Errorf("the page lacks %s", command)
		}
		for _, flag := range flagsOf(help) {
			if !regexp.MustCompile(flag + `\b`).MatchString(text) {
				t.Errorf("the page lacks %s of %s", flag, command)
			}
		}
	}
	for _, word := range []string{"REAPER_PARENT_PID", "REAPER_RULES", "EXIT STATUS", "130"} {
		if !strings.Contains(text, word) {
			t.Errorf("the page lacks %s: %s", word, text)
		}
	}
}

// completion is the text for a shell, in a file.
func (l *Lab) completion(shell string) string {
	l.t.Helper()
	return l.File("completion", l.Run(Run{Command: "completion", Args: []string{shell}, Text: true, Status: 0}).Stdout)
}

// completed are command lines and what each shell has to offer for the last
// word, which is not finished.
var completed = map[string][]string{
	"reaper sw":                       {"sweep"},
	"reaper rules ":                   {"check", "show", "init", "schema"},
	"reaper rules sh":                 {"show"},
	"reaper sweep --al":               {"--all-users"},
	"reaper sweep --color ":           {"auto", "always", "never"},
	"reaper sweep --color ne":         {"never"},
	"reaper sweep --json --log-level": {"--log-level"},
	"reaper schedule la":              {"launchd"},
	"reaper schedule cron --ev":       {"--every"},
	"reaper explain --verb":           nil,
	"reaper rules init --max":         nil,
	"reaper completion ":              {"bash", "zsh", "fish"},
	"reaper sweep --rules odd":        {"odd-file"},
	"reaper rules check odd":          {"odd-file"},
	"reaper run --gr":                 {"--grace"},
	"reaper run -- lab-comma":         {"lab-command"},
	"reaper run --grace 1s -- lab-co": {"lab-command"},
	"reaper run -- lab-command odd":   {"odd-file"},
	"reaper run -- lab-command --gra": nil,
}

// offers compares what a shell offered with what it should.
func (l *Lab) offers(shell, line string, got []string) {
	l.t.Helper()
	want := slices.Sorted(slices.Values(completed[line]))
	slices.Sort(got)
	if !slices.Equal(got, want) {
		l.t.Errorf("%s: %q has %q, not %q", shell, line, got, want)
	}
}

// shellHome is a folder with one file to complete.
func (l *Lab) shellHome() string {
	l.t.Helper()
	dir := l.path("home")
	l.must(os.Mkdir(dir, 0o755))
	l.must(os.WriteFile(filepath.Join(dir, "odd-file"), nil, 0o644))
	l.withPath()
	l.must(os.WriteFile(filepath.Join(l.Dir, "bin", "lab-command"), []byte("#!/bin/sh\n"), 0o755))
	return dir
}

func TestFishCompletes(t *testing.T) {
	lab := newLab(t)
	fish, file, home := lab.needProgram("fish"), lab.completion("fish"), lab.shellHome()
	for line := range completed {
		cmd := exec.Command(fish, "--no-config", "-c", `source $argv[1]; complete -C $argv[2]`, file, line)
		cmd.Dir, cmd.Env = home, append(lab.withPath(), "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+lab.Dir)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var got []string
		for row := range strings.Lines(string(out)) {
			word, _, _ := strings.Cut(strings.TrimSpace(row), "\t")
			got = append(got, word)
		}
		lab.offers("fish", line, got)
	}
}

// bashTries completes each line as readline would, by the words that bash itself
// makes of it, in a shell whose completion is on.
const bashTries = `
source "$1"
compopt() { [[ "$1 $2" = "-o default" ]] && files=1; }
complete -p reaper >/dev/null || exit 3
read -ra COMP_WORDS <<<"$2"
[[ $2 = *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
files= ; _reaper
printf '%s\n' "${COMPREPLY[@]}"
if [[ $files && ! $COMPREPLY ]]; then compgen -f -- "${COMP_WORDS[COMP_CWORD]}"; fi
true
`

func TestBashCompletes(t *testing.T) {
	lab := newLab(t)
	bash, file, home := lab.needProgram("bash"), lab.completion("bash"), lab.shellHome()
	for line := range completed {
		cmd := exec.Command(bash, "--norc", "-c", bashTries, "bash", file, line)
		cmd.Dir, cmd.Env = home, lab.withPath()
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		lab.offers("bash", line, strings.Fields(string(out)))
	}
}

// zshTries completes each line in an interactive zsh on a terminal of its own.
// The widget lists what compadd was given; a word ends what is one line's.
const zshTries = `
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PROMPT=; autoload -Uz compinit; compinit -D -u; source $1; stty -echo"
zpty -w shell 'compadd() { local -a got; builtin compadd -A got "$@"; print -rl -- "${(@)got/#/offer }" >>$LAB_OFFERS; builtin compadd "$@" }'
zpty -w shell 'all() { _main_complete; print -r -- end >$LAB_END; compstate[insert]= ; compstate[list]= }; zle -C all complete-word all; bindkey "^X" all; print -r -- ready >$LAB_END'
read -r word <$LAB_END
shift
for line; do
	zpty -w -n shell $'\x15'"$line"$'\x18'
	read -r word <$LAB_END
	print -r -- "line $line" >>$LAB_OFFERS
done
`

func TestZshCompletes(t *testing.T) {
	lab := newLab(t)
	end, offers, lines := lab.fifo(), lab.path("offers"), slices.Sorted(maps.Keys(completed))
	cmd := exec.Command(lab.needProgram("zsh"), append([]string{"-f", "-c", zshTries, "zsh", lab.completion("zsh")}, lines...)...)
	cmd.Dir, cmd.Env = lab.shellHome(), append(lab.withPath(), "TERM=xterm", "LAB_END="+end.path, "LAB_OFFERS="+offers)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	got := map[string]bool{}
	for row := range strings.Lines(string(readAll(t, offers))) {
		kind, text, _ := strings.Cut(strings.TrimSuffix(row, "\n"), " ")
		if kind == "offer" && text != "" {
			got[text] = true
		}
		if kind == "line" {
			lab.offers("zsh", text, slices.Collect(maps.Keys(got)))
			lines = slices.DeleteFunc(lines, func(line string) bool { return line == text })
			clear(got)
		}
	}
	if len(lines) > 0 {
		t.Errorf("not tried: %q", lines)
	}
}
