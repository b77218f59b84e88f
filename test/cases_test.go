//go:build linux

package test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
)

// Case is one process and what becomes of it: "goes", "goes TEST" with the test
// that proves it, "spared REASON" or "spared REASON|REASON", or "unnamed" where the document is silent.
type Case struct {
	What, Want string
	Env        []string
	Proc       Proc
}

// orphan is a case whose process is to be started: adopted by pid 1, the leader
// of its own session and group.
func orphan(what, want string, env ...string) Case { return Case{What: what, Want: want, Env: env} }

// running is a case about a process that is there.
func running(what, want string, p Proc) Case {
	p.What = what
	return Case{What: what, Want: want, Proc: p}
}

// Cases starts what is to be started, demands each answer first of a dry run and
// then of the sweep, and returns what that said.
func (l *Lab) Cases(cases ...Case) Result {
	l.t.Helper()
	return l.CasesOf(Run{}, cases...)
}

// CasesOf has the sweep run in a certain way.
func (l *Lab) CasesOf(r Run, cases ...Case) Result {
	l.t.Helper()
	l.startCases(cases)
	dry := r
	dry.Args = append([]string{"--dry-run"}, r.Args...)
	plan := l.Run(dry)
	for _, c := range cases {
		l.demand(plan, c, l.WouldStop)
	}
	res := l.Run(r)
	for _, c := range cases {
		l.demand(res, c, l.Stopped)
	}
	return res
}

func (l *Lab) startCases(cases []Case) {
	l.t.Helper()
	var all []launch
	var at []int
	for i, c := range cases {
		if c.Proc.PID == 0 {
			this, _ := l.launch(Spec{Argv: l.Sleep(8000 + i), Env: c.Env, Leader: true})
			all, at = append(all, this), append(at, i)
		}
	}
	if len(all) == 0 {
		return
	}
	for i, pid := range l.abandon(all...) {
		cases[at[i]].Proc = l.list(pid, cases[at[i]].What)
	}
}

func (l *Lab) demand(res Result, c Case, goes func(Result, Proc, ...How)) {
	l.t.Helper()
	switch verb, more, _ := strings.Cut(c.Want, " "); {
	case verb == "goes" && more != "":
		goes(res, c.Proc, Through(more))
	case verb == "goes":
		goes(res, c.Proc)
	case verb == "spared" && more != "":
		l.Spared(res, c.Proc, strings.Split(more, "|")...)
	case c.Want == "unnamed":
		l.Untouched(res, c.Proc)
	default:
		l.t.Fatalf("%s: what does %q mean?", c.What, c.Want)
	}
}

// needProgram is the path of a program of the system's, or skips the test.
func (l *Lab) needProgram(name string) string {
	l.t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		l.t.Skip(name + " is not installed")
	}
	return path
}

// mentions demands that a text holds all of these words.
func (l *Lab) mentions(text string, words ...string) {
	l.t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			l.t.Errorf("%q does not mention %q", text, word)
		}
	}
}

// shell is a text for a shell, with SLEEP901 for the lab's sleep of that number.
func (l *Lab) shell(text string) string {
	return sleepWord.ReplaceAllStringFunc(text, func(word string) string {
		return "sleep " + word[len("SLEEP"):] + "." + l.Tag
	})
}

var sleepWord = regexp.MustCompile(`SLEEP[0-9]+`)

// writeProgram writes a file that can be executed right away. A process that is
// forked meanwhile would have it open for writing until its own exec: ETXTBSY.
func writeProgram(path string, text []byte) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, text, 0o755)
}
