//go:build linux

package test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// copyOf is the sleep program under another path of the lab's.
func (l *Lab) copyOf(name string) string {
	l.t.Helper()
	program, err := os.ReadFile(l.needProgram("sleep"))
	l.must(err)
	dir := l.path("bin")
	l.must(os.Mkdir(dir, 0o755))
	path := filepath.Join(dir, name)
	l.must(writeProgram(path, program))
	return path
}

// A name can be made to look like any part of the line that it stands in.
func TestOddProgramNames(t *testing.T) {
	lab := newLab(t)
	live, dead := lab.Mark(lab.Live()), lab.Mark(lab.Dead())
	var cases []Case
	for i, name := range []string{
		"a) R 1 1", ") S 1 1 1", "x y (z", "((((", "))))", " ", ") Z 1 1 1 0 -1 ", "a\nb", "\t", "1", "(sd-pam)", "[kworker/0:1]", "Ünïcödé-name-of-30-bytes", "\x1b[2K", "sleep (deleted)",
	} {
		path := lab.copyOf(strings.ReplaceAll(name, "/", "-"))
		start := func(n int, env ...string) Proc {
			return lab.Start(Spec{Exe: path, Argv: []string{path, lab.SleepArg(n)}, Env: env, Adopted: true, Leader: true})
		}
		cases = append(cases,
			running(fmt.Sprintf("%q, follows what runs", name), "spared parent-running", start(100+i, live)),
			running(fmt.Sprintf("%q, follows nothing", name), "goes follows", start(200+i, dead)),
			running(fmt.Sprintf("%q, adopted", name), "goes adopted", start(300+i, lab.MarkHome())),
			running(fmt.Sprintf("%q, unmarked", name), "unnamed", start(400+i)))
	}
	lab.Cases(cases...)
}

// One process is one line, and no byte of it moves a cursor.
func TestControlCharactersInACommandLine(t *testing.T) {
	lab := newLab(t)
	lab.Rules("rules:\n  - name: lab\n    command: [\"re:main\"]\n    marker: [" + lab.Parent + "]\n    orphan: [follows: " + lab.Parent + "]\n")
	argv0 := "daemon/main.ts\x1b[2K\r\nstopped 1 innocent\x07\u202egnp\u009b31m\x7f"
	odd := Spec{Exe: lab.needProgram("sleep"), Argv: []string{argv0, lab.SleepArg(901)}, Env: []string{lab.Mark(lab.Dead())}, Adopted: true, Leader: true}
	left := lab.Start(odd)
	odd.Argv, odd.Env = []string{argv0, lab.SleepArg(902)}, []string{lab.Mark(lab.Live())}
	kept := lab.Start(odd)
	for _, args := range [][]string{{"--dry-run"}, {"--dry-run", "--verbose"}, {"--dry-run", "--color=always"}} {
		res := lab.Run(Run{Args: args, Text: true, Status: 0})
		lines := strings.Split(res.Stdout+res.Stderr, "\n")
		mentions := 0
		for _, line := range lines {
			if strings.Contains(line, "main.ts") {
				mentions++
			}
			if strings.HasPrefix(strings.TrimSpace(line), "stopped 1 innocent") {
				t.Errorf("a forged line: %q", line)
			}
		}
		colour := strings.Contains(args[len(args)-1], "color")
		if mentions == 0 || strings.ContainsAny(res.Stdout, "\r\x07\x7f\u202e\u009b") || !colour && strings.Contains(res.Stdout, "\x1b") || strings.Contains(res.Stdout, "\x1b[2K") {
			t.Errorf("%v: %q", args, res.Stdout)
		}
	}
	res := lab.Cases(
		running("follows nothing", "goes follows", left),
		running("follows what runs", "spared parent-running", kept))
	o, _ := res.member(left)
	want := `daemon/main.ts\x1b[2K\r\nstopped 1 innocent\x07\u202egnp\u009b31m\x7f`
	if o.Command[0] != want {
		t.Errorf("%q instead of %q", o.Command[0], want)
	}
	if got := res.spared(kept)[0].Command[0]; got != want {
		t.Errorf("%q instead of %q", got, want)
	}
}

// A command line is read to its end, and shown in a line that one can read.
func TestLongCommandLine(t *testing.T) {
	lab := newLab(t)
	lab.Rules("rules:\n  - name: lab\n    command: [daemon/main.ts]\n    marker: [" + lab.Parent + "]\n    orphan: [follows: " + lab.Parent + "]\n")
	start := func(n, parts, size int) Proc {
		fill := fmt.Sprintf(`B=$(head -c %d /dev/zero | tr '\0' x); set --; i=0; while [ $i -lt %d ]; do set -- "$@" $B; i=$((i+1)); done; `, size, parts)
		lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, "sh", "-c", fill+lab.shell(fmt.Sprintf(`exec sh -c 'SLEEP%d & wait' sh "$@" /x/daemon/main.ts`, n)))
		return lab.list(lab.Sleeper(n).Stat().PPID, "")
	}
	long, longest := start(901, 1, 10_000), start(902, 12, 100_000)
	res := lab.Cases(
		running("10 KB in", "goes follows", long),
		running("1.2 MB in", "goes follows", longest))
	for line := range strings.Lines(lab.Run(Run{Args: []string{"--dry-run"}, Text: true, Status: 0}).Stdout) {
		if len(line) > 400 || strings.HasPrefix(line, "would stop") && strings.Contains(line, "xxx") && !strings.Contains(line, "/x/daemon/main.ts") {
			t.Errorf("%d bytes, or without what tells most: %.400q", len(line), line)
		}
	}
	for p, size := range map[Proc]int{long: 10_000, longest: 1_200_000} {
		o, _ := res.member(p)
		if o.Command[len(o.Command)-1] != "/x/daemon/main.ts" || len(strings.Join(o.Command, "")) < size {
			t.Errorf("%d words, %d bytes", len(o.Command), len(strings.Join(o.Command, "")))
		}
	}
}

// An identity is pid and start: what the program was called on disk is no part of it.
func TestProgramThatIsNoLongerThere(t *testing.T) {
	lab := newLab(t)
	dead := lab.Mark(lab.Dead())
	start := func(path string, n int, dir string) Proc {
		return lab.Start(Spec{Exe: path, Argv: []string{path, lab.SleepArg(n)}, Env: []string{dead}, Dir: dir, Adopted: true, Leader: true})
	}
	deleted, replaced, worktree := lab.copyOf("slp"), lab.copyOf("slp"), filepath.Dir(lab.copyOf("slp"))
	cases := []Case{
		running("its program was deleted", "goes follows", start(deleted, 901, "")),
		running("its program was replaced", "goes follows", start(replaced, 902, "")),
		running("its folder was deleted with it", "goes follows", start(worktree+"/slp", 903, worktree)),
	}
	lab.must(os.Remove(deleted))
	lab.must(writeProgram(replaced+".new", []byte("#!/bin/sh\n")))
	lab.must(os.Rename(replaced+".new", replaced))
	lab.must(os.RemoveAll(worktree))
	lab.Cases(cases...)
}

// answers is what a document says of each process, in any order.
func (d *Doc) answers() []string {
	var all []string
	for _, m := range d.members() {
		all = append(all, fmt.Sprintf("%d %s", m.PID, m.Outcome))
	}
	for _, s := range d.Spared {
		all = append(all, fmt.Sprintf("%d %s", s.PID, s.Reason))
	}
	slices.Sort(all)
	return all
}

// No other program and no variable of the caller's has a say.
func TestSameAnswersInAnyEnvironment(t *testing.T) {
	lab := newLab(t)
	bin := lab.path("bin")
	lab.must(os.Mkdir(bin, 0o755))
	for _, name := range []string{"ps", "pgrep", "kill", "pkill", "lsof", "id"} {
		lab.must(os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexit 1\n"), 0o755))
	}
	var cases []Case
	cases = append(cases,
		orphan("follows nothing", "goes follows", lab.Mark(lab.Dead())),
		orphan("follows what runs", "spared parent-running", lab.Mark(lab.Live())),
		orphan("adopted", "goes adopted", lab.MarkHome()))
	lab.startCases(cases)
	want := lab.DryRun().Doc.answers()
	for what, via := range map[string][]string{
		"a ps that fails":    {"env", "PATH=" + bin + ":/usr/bin:/bin"},
		"no program at all":  {"env", "PATH=" + bin},
		"a narrow terminal":  {"env", "COLUMNS=20", "LINES=5", "TERM=dumb"},
		"another language":   {"env", "LC_ALL=de_DE.UTF-8", "LANG=de_DE.UTF-8", "LANGUAGE=de"},
		"a time zone":        {"env", "TZ=Pacific/Kiritimati"},
		"cron":               {"env", "-i", "HOME=/root", "SHELL=/bin/sh", "PATH=/usr/bin:/bin"},
		"nothing":            {"env", "-i"},
		"a HOME of its own":  {"env", "-i", "HOME=relative"},
		"a closed input":     {"sh", "-c", `exec "$@" <&-`, "sh"},
		"another directory":  {"env", "-C", bin},
		"a root of its own":  {"env", "-i", "PATH=.", "XDG_CONFIG_HOME=" + bin},
		"few descriptors":    {"sh", "-c", `ulimit -n 32; exec "$@"`, "sh"},
		"a PROC_ROOT":        {"env", "HOST_PROC=/nonexistent", "PROC_ROOT=/nonexistent"},
		"options in GODEBUG": {"env", "GODEBUG=madvdontneed=1", "GOMAXPROCS=1"},
	} {
		if got := lab.Run(Run{Via: via, Args: []string{"--dry-run"}, Status: 0}).Doc.answers(); !slices.Equal(got, want) {
			t.Errorf("%s: %v instead of %v", what, got, want)
		}
	}
	lab.CasesOf(Run{Via: []string{"env", "-i"}}, cases...)
}

// With no environment there is no rules file, and the rule that is built in.
func TestBuiltInRuleWithoutAnEnvironment(t *testing.T) {
	lab := newSerialLab(t)
	mark := func(v any) []string { return []string{fmt.Sprintf("REAPER_PARENT_PID=%v", v)} }
	left, owned := lab.OrphanLeader(mark(lab.Dead()), lab.Sleep(901)...), lab.OrphanLeader(mark(lab.Live().PID), lab.Sleep(902)...)
	emptied := lab.OrphanLeader(mark(""), lab.Sleep(903)...)
	sweep := func(more ...string) Result {
		argv := append([]string{"env", "-i", reaperBinary(t), "sweep", "--json", "--grace=10s"}, more...)
		this, _ := lab.launch(Spec{Argv: argv, Leader: true})
		this.Out, this.Err = lab.path("stdout"), lab.path("stderr")
		res := lab.Collect(this.Out, this.Err, lab.finish(this), argv[3:])
		lab.decode(&res)
		return res
	}
	check := func(res Result, goes func(Result, Proc, ...How)) {
		goes(res, left, Through("follows"))
		lab.Spared(res, owned, "parent-running")
		lab.Untouched(res, emptied)
		if res.Exit != 0 {
			t.Errorf("status %d", res.Exit)
		}
	}
	check(sweep("--dry-run"), lab.WouldStop)
	check(sweep(), lab.Stopped)
}
