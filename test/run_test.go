//go:build linux

package test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// What reaper run starts, passes on, follows and stops.

// follower is one reaper run that a test has started.
type follower struct {
	lab    *Lab
	proc   Proc
	finish func() Result
}

// follower starts reaper run with these flags, as a child of the test.
func (l *Lab) follower(env, flags []string, command ...string) follower {
	l.t.Helper()
	child, finish := l.begin(Run{Command: "run", Env: env, Args: slices.Concat(flags, []string{"--"}, command)})
	return follower{l, l.list(child.Pid, "reaper run"), finish}
}

// ends demands how it ends: its status, and the words of its only line, none: it is silent.
func (f follower) ends(status int, words ...string) {
	f.lab.t.Helper()
	f.lab.AwaitExit(f.proc)
	res := f.finish()
	if res.Exit != status || res.Stdout != "" || strings.Count(res.Stderr, "\n") != min(len(words), 1) {
		f.lab.t.Errorf("status %d instead of %d, %q, %q", res.Exit, status, res.Stdout, res.Stderr)
	}
	if len(words) > 0 {
		f.lab.saysErrors(res, words...)
	}
}

// gone demands that all of these have exited.
func (l *Lab) gone(all ...Proc) {
	l.t.Helper()
	for _, p := range all {
		if p.Running() {
			l.t.Errorf("%s runs", p)
		}
	}
}

// runText is a shell's text for reaper run, which the shell stays the parent of.
func (l *Lab) runText(flags string, command string) string {
	return l.Argv(Run{Command: "run"})[0] + " run " + flags + " -- " + command + "; :"
}

// Guards the status: the command's own, whatever it is, and silence.
func TestRunExitStatus(t *testing.T) {
	lab := newLab(t)
	plain := lab.path("plain")
	lab.must(os.WriteFile(plain, []byte("no program"), 0o644))
	for _, c := range []struct {
		status  int
		says    string
		command []string
	}{
		{0, "", []string{"true"}},
		{1, "", []string{"false"}},
		{7, "", []string{"sh", "-c", "exit 7"}},
		{255, "", []string{"sh", "-c", "exit 255"}},
		{143, "", []string{"sh", "-c", "kill -TERM $$"}},
		{137, "", []string{"sh", "-c", "kill -KILL $$"}},
		{129, "", []string{"sh", "-c", "kill -HUP $$"}},
		{3, "", []string{"sh", "-c", `test "$1" = -x && test "$2" = -- && test $# = 2 && exit 3`, "sh", "-x", "--"}},
		{127, "command not found", []string{"there-is-no-such-program"}},
		{127, "no such file", []string{"/there/is/no/such/program"}},
		{126, "permission denied", []string{plain}},
		{126, "", []string{"/"}},
	} {
		res := lab.Run(Run{Command: "run", Args: append([]string{"--"}, c.command...), Status: c.status})
		if res.Stdout != "" || c.status < 126 && res.Stderr != "" || !strings.Contains(res.Stderr, c.says) {
			t.Errorf("%q: %q, %q", c.command, res.Stdout, res.Stderr)
		}
	}
}

// Guards what a command sees: its own process group, streams, and the run as the
// process that it follows.
func TestRunEnvironment(t *testing.T) {
	lab := newLab(t)
	input := lab.File("input", "from the outside\n")
	res := lab.through([]string{"sh", "-c", `"$@" <` + input, "sh"}, Run{Command: "run", Env: []string{"REAPER_PARENT_PID=1@1", "X=a b"},
		Args: []string{"--", "sh", "-c", `read a b; echo "$b|$X|$REAPER_PARENT_PID|$PPID|$$"; ps -o pgid= -p $$ >/dev/null; cut -d' ' -f5 /proc/$$/stat; echo loud >&2`}, Status: 0})
	lines := strings.Split(res.Stdout, "\n")
	fields := strings.Split(lines[0], "|")
	if len(fields) != 5 || fields[0] != "the outside" || fields[1] != "a b" || !strings.HasPrefix(fields[2], fields[3]+"@") || fields[4] != lines[1] || res.Stderr != "loud\n" {
		t.Errorf("%q, %q", res.Stdout, res.Stderr)
	}
}

// Guards signals: each reaches the command once, and only its group.
func TestRunPassesSignals(t *testing.T) {
	lab := newLab(t)
	notes := lab.path("notes")
	canary, ready := lab.launch(Spec{Role: "canary", Args: []string{notes}})
	run := lab.follower(canary.Env, nil, canary.Exe, lab.Tag)
	lab.line(ready, "the command")
	command := lab.Find(canary.Exe, lab.Tag)
	var want []string
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT} {
		want = append(want, unix.SignalName(s))
		lab.must(run.proc.Signal(s))
		lab.eventually(unix.SignalName(s), func() bool {
			raw, _ := os.ReadFile(notes)
			return slices.Equal(strings.Fields(string(raw)), want)
		})
	}
	lab.must(command.Signal(syscall.SIGKILL))
	run.ends(137)
}

// A run that was started with hangups and Ctrl-Z ignored lets its command ignore them.
func TestRunInheritsIgnored(t *testing.T) {
	lab := newLab(t)
	shell := lab.Child(nil, "sh", "-c", "trap '' HUP TSTP; "+lab.runText("", strings.Join(lab.Sleep(901), " ")))
	command := lab.Sleeper(901)
	ignored := signalBit(syscall.SIGHUP) | signalBit(syscall.SIGTSTP)
	if signalSet(command.PID, "SigIgn")&ignored != ignored || signalSet(command.PID, "SigBlk") != 0 {
		t.Errorf("ignores %x, blocks %x", signalSet(command.PID, "SigIgn"), signalSet(command.PID, "SigBlk"))
	}
	if set := signalSet(command.PID, "SigIgn") &^ ignored; set != 0 {
		t.Errorf("ignores %x too", set)
	}
	lab.Kill(shell)
	lab.AwaitExit(command)
}

// Guards a command that reads the terminal from its first instruction on, as a job
// and in a script, which has no job control and reads in turns with it.
func TestRunReadsTheTerminal(t *testing.T) {
	lab := newLab(t)
	path, keyboard := lab.console()
	said := lab.fifo()
	// The first one is stopped as by a read before the terminal was its own.
	text := fmt.Sprintf(`set -m; %[1]s run -- sh -c 'kill -TTIN $$; exit 39'; echo $? >%[2]s; set +m; for i in 1 2 3 4 5; do %[1]s run -- sh -c 'read x; exit $x'; echo $? >%[2]s; read y; done`, reaperBinary(t), said.path)
	shell := lab.Start(Spec{Argv: []string{"sh", "-c", text}, Env: []string{quickExit}, TTY: path, Leader: true})
	if got := lab.line(said, "the first one's status"); got != "39" {
		t.Errorf("status %s", got)
	}
	for i := range 5 {
		_, err := fmt.Fprintf(keyboard, "%d\n", 40+i)
		lab.must(err)
		if got := lab.line(said, "its status"); got != fmt.Sprint(40+i) {
			t.Errorf("status %s", got)
		}
		_, err = keyboard.WriteString("on\n")
		lab.must(err)
	}
	lab.AwaitExit(shell)
}

// Guards the background: a run that the terminal is not given to does not take it.
func TestRunInTheBackground(t *testing.T) {
	for _, input := range []string{"", "</dev/null"} {
		t.Run("sleep "+input, func(t *testing.T) {
			lab := newLab(t)
			path, _ := lab.console()
			shell := lab.Start(Spec{Argv: []string{"sh", "-c", fmt.Sprintf("set -m; %s run -- sleep %s %s & wait; :", reaperBinary(t), lab.SleepArg(901), input)}, TTY: path, Leader: true})
			command := lab.Sleeper(901)
			if s := command.Stat(); s.ForegroundG != shell.PID || s.PGID != command.PID {
				t.Errorf("%+v", s)
			}
			lab.must(lab.list(command.Stat().PPID, "reaper run").Signal(syscall.SIGTERM))
			lab.AwaitExit(command)
			lab.AwaitExit(shell)
		})
	}
}

// escapers is a shell's text that starts 902 double-forked in a session of its own
// and 903 so with nothing in its environment, and then does the rest.
func (l *Lab) escapers(rest string) string {
	return l.shell(`(setsid SLEEP902 & env -i setsid SLEEP903 &); ` + rest)
}

// Guards what the command leaves behind: nothing of it stays, the command's status does.
func TestRunLeavesNothing(t *testing.T) {
	lab := newLab(t)
	gate := lab.fifo()
	run := lab.follower(nil, nil, "sh", "-c", lab.escapers("read x <"+gate.path+"; exit 4"))
	left := lab.sleepers(902, 903)
	for _, p := range left {
		lab.eventually("adopted by the run", func() bool { return p.Stat().PPID == run.proc.PID })
	}
	lab.tell(gate, "end")
	run.ends(4, "sh left something behind: stopped 2 processes")
	lab.gone(left...)
}

// Guards those that do not end when they are asked to.
func TestRunKillsAfterGrace(t *testing.T) {
	lab := newLab(t)
	run := lab.follower(nil, []string{"--grace", "200ms"}, "sh", "-c", `trap "" TERM; sleep `+lab.SleepArg(901)+" & exit 0")
	run.ends(0, "stopped 1 process")
	if left := lab.search(lab.Sleep(901)); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// Guards those that it inherits: each is waited for, and the command's status is
// still the command's. Nothing is kept of a thousand of them.
func TestRunWaitsForWhatItInherits(t *testing.T) {
	lab := newLab(t)
	said, gate := lab.fifo(), lab.fifo()
	text := fmt.Sprintf(`i=0; while [ $i -lt 1000 ]; do (exit 9 &); i=$((i+1)); done; echo done >%s; read x <%s; exit 5`, said.path, gate.path)
	run := lab.follower(nil, nil, "sh", "-c", "read x <"+gate.path+"; "+text)
	files := func() int {
		names, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", run.proc.PID))
		return len(names)
	}
	lab.eventually("the command", func() bool { return len(childrenOf(run.proc.PID)) == 1 })
	before := files()
	lab.tell(gate, "begin")
	lab.line(said, "a thousand")
	lab.eventually("no zombie", func() bool { return len(childrenOf(run.proc.PID)) == 1 })
	if after := files(); after > before+8 { // some come and go; a thousand would stay
		t.Errorf("%d descriptors, %d before", after, before)
	}
	lab.tell(gate, "end")
	run.ends(5)
}

func childrenOf(pid int) []int {
	var children []int
	for _, p := range pids() {
		if s, ok := readStat(p); ok && s.PPID == pid {
			children = append(children, p)
		}
	}
	return children
}

// Guards the parent's end, whatever ended it: the command is asked first, and all
// that it started goes.
func TestRunEndsWithItsParent(t *testing.T) {
	lab := newLab(t)
	said := lab.fifo()
	command := lab.File("command", "#!/bin/sh\ntrap 'echo asked >"+said.path+"; exit 0' TERM\n"+lab.escapers("SLEEP901; :")+"\n")
	parent := lab.Child(nil, "sh", "-c", lab.runText("--grace 60s", command))
	all := lab.sleepers(901, 902, 903)
	run := lab.list(lab.list(all[0].Stat().PPID, "the command").Stat().PPID, "reaper run")
	lab.Kill(parent)
	if word := lab.line(said, "SIGTERM"); word != "asked" {
		t.Errorf("%q", word)
	}
	lab.AwaitExit(run)
	lab.gone(all...)
}

// Guards --follow: that process and no other, by its identity where that is given.
func TestRunFollows(t *testing.T) {
	lab := newLab(t)
	for _, named := range []func(Proc) string{func(p Proc) string { return itoa(p.PID) }, Proc.identity} {
		owner := lab.Live()
		run := lab.follower(nil, []string{"--follow", named(owner)}, lab.Sleep(901)...)
		command := lab.Sleeper(901)
		lab.Kill(owner)
		run.ends(143, fmt.Sprintf("%d, which was followed, has exited: stopped 1 process", owner.PID))
		lab.gone(command)
	}
}

// Guards the start: where there is nothing to follow, nothing is started.
func TestRunDoesNotStart(t *testing.T) {
	lab := newLab(t)
	live := lab.Live()
	other := live
	other.Start++
	_, zombie := lab.Zombie()
	file := lab.File("no-folder", "")
	witness := lab.path("witness")
	for what, c := range map[string]struct {
		flags []string
		says  string
	}{
		"a dead process":              {[]string{"--follow", itoa(lab.Dead())}, "is not running: touch was not started"},
		"another start":               {[]string{"--follow", other.identity()}, "is not running"},
		"a zombie":                    {[]string{"--follow", itoa(zombie.PID)}, "is not running"},
		"no home":                     {[]string{"--home", lab.path("home")}, "does not exist"},
		"a home that is a file":       {[]string{"--home", file}, "not a directory"},
		"a home below what is a file": {[]string{"--home", file + "/home"}, "does not exist"},
	} {
		res := lab.Run(Run{Command: "run", Args: append(c.flags, "--", "touch", witness), Status: 125})
		lab.saysErrors(res, c.says)
		if _, err := os.Stat(witness); err == nil {
			t.Errorf("%s: it was started", what)
		}
	}
}

// Guards a run whose parent has exited before it could be followed.
func TestRunWithoutAParent(t *testing.T) {
	lab := newLab(t)
	gate, said, witness := lab.fifo(), lab.path("stderr"), lab.path("witness")
	orphan := lab.Orphan([]string{quickExit}, "sh", "-c", fmt.Sprintf("exec 2>%s; read x <%s; exec %s run -- touch %s", said, gate.path, reaperBinary(t), witness))
	lab.tell(gate, "go on")
	lab.AwaitExit(orphan)
	text, err := os.ReadFile(said)
	lab.must(err)
	lab.mentions(string(text), "reaper: the parent has exited", "--follow", "touch was not started")
	if _, err := os.Stat(witness); err == nil {
		t.Error("it was started")
	}
}

// Guards the home: what runs in it ends when it is removed.
func TestRunEndsWithItsHome(t *testing.T) {
	lab := newLab(t)
	home := lab.path("home")
	lab.must(os.Mkdir(home, 0o755))
	run := lab.follower(nil, []string{"--home", home}, "sh", "-c", lab.escapers("SLEEP901; :"))
	all := lab.sleepers(901, 902, 903)
	lab.must(os.Rename(home, home+"-moved"))
	run.ends(143, "the home "+home+" is gone: stopped 4 processes")
	lab.gone(all...)
}

// Guards what stays by design: a server that the command happened to start, and
// its children, without a word.
func TestRunLeavesServers(t *testing.T) {
	lab := newLab(t)
	bash := lab.needProgram("bash")
	gate := lab.fifo()
	run := lab.follower(nil, nil, bash, "-c", lab.shell(`(setsid bash -c 'exec -a tmux bash -c "SLEEP901; :"' &); read x <`+gate.path+`; exit 0`))
	pane := lab.Sleeper(901)
	server := lab.list(pane.Stat().PPID, "tmux")
	lab.eventually("adopted by the run", func() bool { return server.Stat().PPID == run.proc.PID })
	lab.tell(gate, "end")
	run.ends(0)
	if !server.Running() || !pane.Running() {
		t.Errorf("%s, %s", server.State(), pane.State())
	}
}

// Guards the children that a shell had before it became the run.
func TestRunSparesWhatItDidNotStart(t *testing.T) {
	lab := newLab(t)
	said := lab.path("stderr")
	lab.Child([]string{quickExit}, "sh", "-c", lab.shell("SLEEP901 & exec 2>"+said+"; exec "+reaperBinary(t)+" run -- sh -c 'SLEEP902 & exit 0'"))
	before := lab.Sleeper(901)
	lab.eventually("the end of the run", func() bool { return before.Stat().PPID == 1 })
	if left := lab.search(lab.Sleep(902)); !before.Running() || len(left) > 0 {
		t.Errorf("%s is %s, left %v", before, before.State(), left)
	}
	text, err := os.ReadFile(said)
	lab.must(err)
	lab.mentions(string(text), "sh left something behind: stopped 1 process")
}

// Guards the last resort: nothing ends with a run that was killed, and the next
// sweep finds all of it by the default rules.
func TestRunKilledThenSwept(t *testing.T) {
	lab := newSerialLab(t)
	run := lab.follower(nil, nil, "sh", "-c", lab.shell(`(setsid SLEEP902 &); SLEEP901; :`))
	all := lab.sleepers(901, 902)
	command := lab.list(all[0].Stat().PPID, "the command")
	lab.must(run.proc.Signal(syscall.SIGKILL))
	run.finish()
	this, _ := lab.launch(Spec{Argv: []string{reaperBinary(t), "sweep", "--json"}, Env: []string{quickExit}, Leader: true})
	this.Out, this.Err = lab.path("stdout"), lab.path("stderr")
	res := lab.Collect(this.Out, this.Err, lab.finish(this), this.Argv[2:])
	lab.decode(&res)
	lab.allStopped(res, append(all, command))
	lab.Stopped(res, command, Through("follows"))
	if res.Doc.Rules != "built-in default" || len(res.Doc.Orphans) != 2 {
		t.Errorf("%s: %s", res.Doc.Rules, res.Stdout)
	}
}

// Guards runs within runs: the inner one ends what is its own, the outer one the rest.
func TestRunWithinRun(t *testing.T) {
	lab := newLab(t)
	inner := reaperBinary(t) + " run -- sh -c '" + lab.shell("(setsid SLEEP902 &); SLEEP901; :") + "'"
	parent := lab.Child([]string{quickExit}, "sh", "-c", lab.runText("", "sh -c \""+inner+"; :\""))
	all := lab.sleepers(901, 902)
	for p := lab.list(all[0].Stat().PPID, ""); p.PID != parent.PID; p = lab.list(p.Stat().PPID, "") {
		all = append(all, p)
	}
	if len(all) != 6 {
		t.Fatalf("%v", all)
	}
	lab.Kill(parent)
	for _, p := range all {
		lab.AwaitExit(p)
	}
}

// Guards those in a hurry: the first signal while it stops is waited out, the
// second one kills.
func TestRunKillsAtTheSecondSignal(t *testing.T) {
	for name, hurry := range map[string]bool{"one": false, "two": true} {
		t.Run(name, func(t *testing.T) {
			lab := newLab(t)
			said, gate, owner := lab.fifo(), lab.fifo(), lab.Live()
			run := lab.follower(nil, []string{"--grace", "1h", "--follow", itoa(owner.PID)}, "sh", "-c",
				fmt.Sprintf(`trap 'echo asked >%[1]s' TERM; echo up >%[1]s; while :; do read x <%[2]s && case $x in end) exit 6;; *) echo $x >%[1]s;; esac; done`, said.path, gate.path))
			lab.line(said, "the command")
			lab.Kill(owner)
			if word := lab.line(said, "SIGTERM"); word != "asked" {
				t.Fatalf("%q", word)
			}
			lab.must(run.proc.Signal(syscall.SIGTERM))
			if !hurry {
				for i := range 50 { // it would have been killed by then
					lab.tell(gate, itoa(i))
					lab.line(said, "the command, which runs on")
				}
				lab.tell(gate, "end")
				run.ends(6, "stopped 1 process")
				return
			}
			lab.must(run.proc.Signal(syscall.SIGINT))
			run.ends(137, "stopped 1 process")
		})
	}
}

// Guards the README's lines.
func TestReadmeRun(t *testing.T) {
	lab := newLab(t)
	dir, log := lab.path("bin"), lab.path("log")
	lab.must(os.Mkdir(dir, 0o755))
	lab.must(os.Symlink(reaperBinary(t), dir+"/reaper"))
	lab.must(os.WriteFile(dir+"/my-server", []byte("#!/bin/sh\necho \"$REAPER_PARENT_PID $@\" >>"+log+"\n"), 0o755))
	text := strings.Join(readme(t), "")
	this, _ := lab.launch(Spec{Argv: []string{"sh", "-e", "-c", text}, Env: []string{quickExit, "DIR=" + dir}, Leader: true})
	for i, entry := range this.Env {
		if path, ok := strings.CutPrefix(entry, "PATH="); ok {
			this.Env[i] = "PATH=" + dir + ":" + path
		}
	}
	if status := lab.finish(this); status != 0 {
		t.Errorf("status %d", status)
	}
	said, err := os.ReadFile(log)
	lab.must(err)
	if lines := strings.Split(string(said), "\n"); len(lines) != strings.Count(text, "reaper run")+1 || !strings.HasSuffix(lines[0], " --port 0") {
		t.Errorf("%q", said)
	}
}
