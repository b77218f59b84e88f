//go:build linux

package test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// becomes starts an orphan that becomes the lab's sleep, by a shell's text that
// ends in `exec`: for bytes and sizes that no list of entries can carry.
func (l *Lab) becomes(n int, format string, a ...any) Proc {
	l.t.Helper()
	l.OrphanLeader(nil, "sh", "-c", strings.ReplaceAll(fmt.Sprintf(format, a...), "SLEEP", "sleep "+l.SleepArg(n)))
	return l.Sleeper(n)
}

// Only a whole entry of the block with exactly this name is the variable.
func TestOnlyWholeEntriesCount(t *testing.T) {
	lab := newLab(t)
	dead := lab.Dead()
	mark := lab.Mark(dead)
	argument := lab.OrphanLeader(nil, "sh", "-c", "sleep "+lab.SleepArg(901)+"; :", "x", mark)
	lab.Cases(
		orphan("the variable", "goes follows", mark),
		orphan("emptied, as an opt-out", "unnamed", lab.Parent+"="),
		orphan("after a line break in another's value", "unnamed", "NOTE=a\n"+mark),
		orphan("after a blank in another's value", "unnamed", "NOTE=x "+mark),
		orphan("another's value", "unnamed", "NOTE="+mark),
		orphan("a value of no name", "unnamed", "="+mark),
		running("an argument", "unnamed", argument),
		orphan("a longer name, in front", "unnamed", "X"+mark),
		orphan("a longer name, behind", "unnamed", fmt.Sprintf("%s_OLD=%d", lab.Parent, dead)),
		orphan("another sign than '='", "unnamed", fmt.Sprintf("%s:%d", lab.Parent, dead)),
		orphan("a shorter name", "unnamed", fmt.Sprintf("%s=%d", lab.Parent[:len(lab.Parent)-1], dead)),
		orphan("another case", "unnamed", strings.ToLower(mark)),
		orphan("a blank before the name", "unnamed", " "+mark),
		orphan("a blank after the name", "unnamed", fmt.Sprintf("%s =%d", lab.Parent, dead)),
		orphan("the name alone", "unnamed", lab.Parent),
		orphan("behind entries without '=' and an empty one", "goes follows", "no entry", "", lab.Parent, "A=b=c", mark),
		orphan("a home with '=' in it", "goes adopted", lab.MarkHome()+"=b=c"),
		orphan("a home of another name", "unnamed", "X"+lab.MarkHome()),
	)
}

// An environment is read to its end.
func TestMarkerDeepInTheEnvironment(t *testing.T) {
	lab := newLab(t)
	deep := func(n, parts int) Proc {
		fill := `B=$(head -c 120000 /dev/zero | tr '\0' x); set --; i=0; while [ $i -lt %d ]; do set -- "$@" V$i=$B; i=$((i+1)); done; `
		return lab.becomes(n, fill+`exec env -i "$@" %s SLEEP`, parts, lab.Mark(lab.Dead()))
	}
	lab.Cases(
		running("360 KB deep", "goes follows", deep(901, 3)),
		running("1.4 MB deep", "goes follows", deep(902, 12)))
}

// One odd process must not end the reading, nor spoil the document.
func TestBytesThatAreNoUTF8(t *testing.T) {
	lab := newLab(t)
	odd := lab.becomes(901, `export BAD="$(printf '\377\376')" %s; exec SLEEP`, lab.Mark(lab.Dead()))
	home := lab.becomes(902, `export %s="/tmp/lab-$(printf '\377\033[2K\nx')"; exec SLEEP`, lab.HomeVar)
	value := lab.becomes(903, `export %s="$(printf '\377%d')"; exec SLEEP`, lab.Parent, lab.Dead())
	lab.OrphanLeader(nil, "sh", "-c", `sleep `+lab.SleepArg(904)+`; : "$(printf '\377')"`, "sh", "\xff\xfe")
	res := lab.Cases(
		running("marked, with such bytes in another's value", "goes follows", odd),
		running("with such bytes in the marker", "goes adopted", home),
		running("with such a byte in a followed variable", "unnamed", value))
	o, _ := res.member(home)
	if got, want := o.Markers[lab.HomeVar], `/tmp/lab-\xff\x1b[2K\nx`; got != want {
		t.Errorf("shown as %q instead of %q", got, want)
	}
}

// Arguments and environment are neighbours in memory: a long title runs over
// into the environment. What it leaves is not to be believed.
func TestTitleOverTheEnvironment(t *testing.T) {
	lab := newLab(t)
	lab.needProgram("perl")
	mark := lab.Mark(lab.Dead())
	perl := func(title string) Proc {
		return lab.OrphanLeader([]string{mark}, "perl", "-e", `$0 = `+title+`; sleep 900`, lab.Tag)
	}
	// perl clears all the room there is behind its title, short or long.
	short, long := perl(`"daemon 0"`), perl(`"title " x 900`)
	for _, p := range []Proc{short, long} {
		lab.eventually("the title", func() bool { return !slices.Contains(readEnviron(p.PID), mark) })
	}
	over := func(title []string, env ...string) Proc {
		return lab.Start(Spec{Role: "overrun", Args: append([]string{mark}, title...), Env: env, Adopted: true, Leader: true})
	}
	titled := func(title string) Proc {
		return lab.Start(Spec{Role: "retitle", Args: []string{title}, Env: []string{mark}, Adopted: true, Leader: true})
	}
	res := lab.Cases(
		running("a title within the arguments", "goes follows", titled("daemon 0")),
		running("a title over the environment too", "unnamed", titled(strings.Repeat("t ", 4000))),
		running("perl's short title", "unnamed", short),
		running("perl's long title", "unnamed", long),
		running("a title up to the middle of an entry", "unnamed", over(nil, "NOTE=see "+mark)),
		running("the same, and a short title after it", "unnamed", over([]string{"x"}, "NOTE=see "+mark)),
		running("a title up to there, and a marker behind", "spared unknown", over(nil, "NOTE=see "+mark, lab.MarkHome())),
		running("a title up to there, and what it follows behind", "goes follows", over(nil, "NOTE=see "+mark, lab.Mark(lab.Dead()))))
	if n := res.Doc.Census.Overwritten; n < 3 {
		t.Errorf("%d counted as overwritten", n)
	}
}

// Guards against judging by what is not there: the variables that a process has
// zeroed may have held anything, what it left is what it says.
func TestZeroedFrontOfTheEnvironment(t *testing.T) {
	lab := newLab(t)
	zeroed := func(upTo string, env ...string) Proc {
		return lab.Start(Spec{Role: "blank", Args: []string{upTo}, Env: env, Adopted: true, Leader: true})
	}
	home := zeroed("HOME=", lab.MarkHome())
	res := lab.Cases(
		running("the first variable", "goes follows", zeroed("HOME=", lab.Mark(lab.Dead()))),
		running("the first variable, and a home is left", "spared unknown", home),
		running("all up to a home", "spared unknown", zeroed("NOTE=", lab.Mark(lab.Live()), "NOTE=1", lab.MarkHome())),
		running("all up to what it follows", "goes follows", zeroed("NOTE=", lab.MarkHome(), "NOTE=1", lab.Mark(lab.Dead()))),
		running("all of it that marks", "unnamed", zeroed("NOTE=", lab.Mark(lab.Dead()), "NOTE=1")))
	if n := res.Doc.Census.Overwritten; n < 5 {
		t.Errorf("%d counted as overwritten", n)
	}
	if r := lab.explain(Run{}, home).Explained[0].Rules[0]; r.Marker.Answer != "yes" {
		t.Errorf("explained as %+v", r)
	}
}

// What shows no environment to its own user is judged by nobody but root.
func TestUnreadableEnvironment(t *testing.T) {
	lab := newLab(t)
	lab.Rules(fmt.Sprintf("rules:\n  - name: marked\n    marker: [%s]\n    orphan: [follows: %[1]s]\n"+
		"  - name: command\n    command: [daemon/main.ts]\n    marker: [%[1]s]\n    orphan: [follows: %[1]s]\n", lab.Parent))
	mark := lab.Mark(lab.Dead())
	start := func(argv ...string) Proc {
		return lab.Start(Spec{Role: "undumpable", Argv: argv, Env: []string{mark}, UID: nobody, Adopted: true, Leader: true})
	}
	matched, silent := start("node", "/x/daemon/main.ts"), start("key-agent")
	readable := lab.Start(Spec{Argv: lab.Sleep(901), Env: []string{mark}, UID: nobody, Adopted: true, Leader: true})
	res := lab.CasesOf(Run{UID: nobody},
		running("its command matches", "spared environment-unreadable", matched),
		running("no command matches", "unnamed", silent),
		running("readable", "goes follows", readable))
	if res.Doc.Census.Unreadable < 2 {
		t.Errorf("unreadable: %d", res.Doc.Census.Unreadable)
	}
	lab.CasesOf(Run{Args: []string{"--all-users"}},
		running("its command matches, read by root", "goes follows", matched),
		running("no command matches, read by root", "goes follows", silent))
}

// A set-gid program hides its environment from the user who started it.
func TestSetGroupProgram(t *testing.T) {
	lab := newLab(t)
	program := filepath.Join(lab.Dir, "key-agent")
	sleep, err := os.ReadFile(lab.needProgram("sleep"))
	lab.must(err)
	lab.must(writeProgram(program, sleep))
	lab.must(os.Chmod(program, 0o755|os.ModeSetgid))
	lab.Rules(fmt.Sprintf("rules:\n  - name: agents\n    command: [key-agent]\n    marker: [%s]\n    orphan: [follows: %[1]s]\n", lab.Parent))
	p := lab.Start(Spec{Exe: program, Argv: []string{"key-agent", lab.SleepArg(901)}, Env: []string{lab.Mark(lab.Dead())}, UID: nobody, Adopted: true, Leader: true})
	lab.eventually("the program", func() bool { return p.Stat().Comm == "key-agent" })
	if st, err := os.Stat(fmt.Sprintf("/proc/%d/environ", p.PID)); err != nil || st.Sys().(*syscall.Stat_t).Uid == nobody {
		t.Skip("set-gid has no effect where the tests are")
	}
	lab.CasesOf(Run{UID: nobody}, running("to its own user", "spared environment-unreadable", p))
	lab.CasesOf(Run{Args: []string{"--all-users"}}, running("to root", "goes follows", p))
}

func TestOtherUsersAreJudgedOnDemand(t *testing.T) {
	lab := newLab(t)
	start := func(n, uid int, env string) Proc {
		return lab.Start(Spec{Argv: lab.Sleep(n), Env: []string{env}, UID: uid, Adopted: true, Leader: true})
	}
	theirs, unmarked := start(901, nobody, lab.Mark(lab.Dead())), start(902, nobody, "A=1")
	lab.Cases(
		running("another user's orphan", "spared other-user", theirs),
		running("another user's, unmarked", "unnamed", unmarked),
		running("one's own", "goes follows", start(903, 0, lab.Mark(lab.Dead()))))
	lab.CasesOf(Run{Args: []string{"--all-users"}},
		running("another user's orphan", "goes follows", theirs),
		running("another user's, unmarked", "unnamed", unmarked))
}
