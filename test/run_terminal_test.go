//go:build linux

package test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// desk is an interactive shell on a terminal, which says at each prompt the status
// of the line before.
type desk struct {
	lab        *Lab
	keyboard   *os.File
	shell      Proc
	said, gate *fifo
	words      *strings.Replacer
}

// desk is for a script of bash and for lines in which REAPER is the program, SLEEPn
// a sleeper, SCRIPT the script, SAY the start of a line for the test and WAIT is for
// one from it.
func (l *Lab) desk(script string) desk {
	l.t.Helper()
	d := desk{lab: l, said: l.fifo(), gate: l.fifo()}
	path := l.path("script")
	d.words = strings.NewReplacer("REAPER", reaperBinary(l.t), "SAY", "echo >"+d.said.path, "WAIT", "read -r line <"+d.gate.path, "SCRIPT", path)
	l.must(os.WriteFile(path, []byte(d.words.Replace(l.shell(script))), 0o644))
	var tty string
	tty, d.keyboard = l.console()
	d.shell = l.Start(Spec{Argv: []string{l.needProgram("bash"), "--norc", "--noprofile", "--noediting", "-i"},
		Env: []string{quickExit, "HISTFILE=/dev/null", "TERM=dumb", "PROMPT_COMMAND=echo $? >" + d.said.path}, TTY: tty, Leader: true})
	d.hears("0", "the first prompt")
	return d
}

// enters types a line.
func (d desk) enters(line string) {
	d.lab.t.Helper()
	d.types(d.words.Replace(d.lab.shell(line)) + "\n")
}

func (d desk) types(keys string) {
	d.lab.t.Helper()
	_, err := d.keyboard.WriteString(keys)
	d.lab.must(err)
}

func (d desk) hears(want, what string) {
	d.lab.t.Helper()
	if got := d.lab.line(d.said, what); got != want {
		d.lab.t.Errorf("%s: %q instead of %q", what, got, want)
	}
}

// together demands that these are in the foreground, in one group.
func (d desk) together(all ...Proc) {
	d.lab.t.Helper()
	for _, p := range all {
		d.lab.eventually(p.String()+" in the foreground's group", func() bool { s := p.Stat(); return s.PGID == s.ForegroundG && s.PGID == all[0].Stat().PGID })
	}
}

const (
	ctrlC    = "\x03"
	ctrlZ    = "\x1a"
	ctrlD    = "\x04"
	ctrlQuit = "\x1c"
)

// Guards the terminal of a script: a run in its background does not take it, though
// it is in the foreground's group. The script reads on.
func TestRunInAScriptsBackground(t *testing.T) {
	lab := newLab(t)
	d := lab.desk("REAPER run -- SLEEP901 </dev/null >/dev/null 2>&1 &\nWAIT; read x; SAY got $x; kill $!; wait $!; SAY ended $?\n")
	d.enters("bash SCRIPT")
	command := lab.Sleeper(901)
	d.together(command, lab.list(command.Stat().PPID, "reaper run"), lab.list(lab.list(command.Stat().PPID, "").Stat().PPID, "the script"))
	lab.tell(d.gate, "go on")
	d.types("typed\n")
	d.hears("got typed", "what the script reads")
	d.hears("ended 143", "the run")
	d.hears("0", "the script")
	lab.gone(command)
}

// The same for a program without a shell.
func TestRunBelowNode(t *testing.T) {
	lab := newLab(t)
	node := lab.needProgram("node")
	d := lab.desk(`const run = require("child_process").spawn("REAPER", ["run", "--", "sleep", "` + lab.SleepArg(901) + `"], {stdio: "ignore"})
process.stdin.once("data", text => { process.stdin.destroy(); run.on("exit", (code, signal) => process.exit(String(text) === "typed\n" && code === 143 ? 7 : 8)); run.kill() })
`)
	d.enters("node SCRIPT")
	command := lab.Sleeper(901)
	d.together(command, lab.list(command.Stat().PPID, "reaper run"), lab.list(lab.list(command.Stat().PPID, "").Stat().PPID, node))
	d.types("typed\n")
	d.hears("7", "node")
}

// Guards the keys in a script: one Ctrl-C ends all of it, as with env in reaper's
// place; Ctrl-Z stops all of it and fg continues it.
func TestRunInAScript(t *testing.T) {
	lab := newLab(t)
	turns := lab.path("turns")
	d := lab.desk("for i in 1 2 3; do echo $i >>" + turns + "; REAPER run -- SLEEP901; done")
	d.enters("bash SCRIPT")
	command := lab.Sleeper(901)
	run := lab.list(command.Stat().PPID, "reaper run")
	script := lab.list(run.Stat().PPID, "the script")
	d.together(command, run, script)
	d.types(ctrlZ)
	d.hears("148", "the stop")
	for _, p := range []Proc{command, run, script} {
		lab.eventually("the stop of "+p.String(), func() bool { return p.Stat().State == 'T' })
	}
	d.enters("fg")
	d.together(command, run, script)
	lab.eventually("all continued", func() bool {
		return command.Stat().State == 'S' && run.Stat().State == 'S' && script.Stat().State == 'S'
	})
	d.types(ctrlC)
	d.hears("130", "the end")
	if raw, _ := os.ReadFile(turns); string(raw) != "1\n" {
		t.Errorf("turns %q", raw)
	}
	lab.gone(command, run, script)
}

// Guards how often a key reaches a command that shares the terminal's group: once
// for each key, and a signal for the run itself once.
func TestRunPassesNoKeyTwice(t *testing.T) {
	lab := newLab(t)
	notes := lab.path("notes")
	canary, ready := lab.launch(Spec{Role: "canary", Args: []string{notes}})
	var env []string
	for _, entry := range canary.Env {
		env = append(env, "'"+entry+"'")
	}
	d := lab.desk("env " + strings.Join(env, " ") + " REAPER run -- " + canary.Exe + " " + lab.Tag + "\nexit")
	d.enters("bash SCRIPT")
	lab.line(ready, "the command")
	command := lab.Find(canary.Exe, lab.Tag)
	run := lab.list(command.Stat().PPID, "reaper run")
	d.together(command, run)
	want := ""
	for _, step := range []struct {
		name string
		send func()
	}{
		{"SIGQUIT", func() { d.types(ctrlQuit) }},
		{"SIGUSR1", func() { lab.must(run.Signal(syscall.SIGUSR1)) }},
		{"SIGINT", func() { d.types(ctrlC) }},
		{"SIGTSTP", func() { d.types(ctrlZ) }},
		{"SIGCONT", func() { d.hears("148", "the stop"); d.enters("fg") }},
		{"SIGQUIT", func() { d.types(ctrlQuit) }},
		{"SIGHUP", func() { lab.must(run.Signal(syscall.SIGHUP)) }},
		{"SIGTERM", func() { lab.must(run.Signal(syscall.SIGTERM)) }},
	} {
		step.send()
		want += step.name + "\n"
		lab.eventually(step.name, func() bool { raw, _ := os.ReadFile(notes); return len(raw) >= len(want) })
		if raw, _ := os.ReadFile(notes); string(raw) != want {
			t.Fatalf("%q instead of %q", raw, want)
		}
	}
	lab.must(command.Signal(syscall.SIGKILL))
	lab.AwaitExit(run)
}

// Guards what is sent to a run alone that shares a group, where the terminal has
// sent nothing: in the background.
func TestRunInABackgroundScript(t *testing.T) {
	lab := newLab(t)
	d := lab.desk("REAPER run -- SLEEP901; SAY ended $?")
	d.enters("bash SCRIPT &")
	d.hears("0", "the shell")
	command := lab.Sleeper(901)
	run := lab.list(command.Stat().PPID, "reaper run")
	if command.Stat().PGID != run.Stat().PGID {
		t.Errorf("%s is not in the group of %s", command, run)
	}
	lab.must(run.Signal(syscall.SIGINT))
	d.hears("ended 130", "the script")
}

// Guards a run whose command alone is stopped, by somebody who will continue it
// alone: the run goes on, in whatever group the command is.
func TestRunOfAStoppedCommand(t *testing.T) {
	for line, sig := range map[string]syscall.Signal{"bash SCRIPT": syscall.SIGTSTP, "REAPER run -- SLEEP901 &": syscall.SIGSTOP} {
		t.Run(line, func(t *testing.T) {
			lab := newLab(t)
			d := lab.desk("REAPER run -- SLEEP901; SAY ended $?")
			d.enters(line)
			command := lab.Sleeper(901)
			run := lab.list(command.Stat().PPID, "reaper run")
			for range 5 {
				lab.must(command.Signal(sig))
				lab.eventually("its stop", func() bool { return command.Stat().State == 'T' })
				lab.must(command.Signal(syscall.SIGCONT))
				lab.eventually("its going on", func() bool { return command.Stat().State == 'S' })
			}
			lab.must(run.Signal(syscall.SIGTERM))
			lab.AwaitExit(run)
			lab.gone(command)
		})
	}
}

// Guards the end of a command that answers SIGTERM by stopping: the run does not
// stop with it, but kills it.
func TestRunKillsWhatStopsInstead(t *testing.T) {
	lab := newLab(t)
	owner := lab.Live()
	d := lab.desk("trap 'while :; do kill -TSTP $$; done' TERM\nSLEEP901 &\nwhile :; do wait; done")
	d.enters("REAPER run --grace 1s --follow " + itoa(owner.PID) + " -- bash SCRIPT")
	command := lab.list(lab.Sleeper(901).Stat().PPID, "the command")
	lab.Kill(owner)
	d.hears("137", "the run")
	lab.gone(command)
}

// Guards a pipeline's keys: each of them reaches all members, and a member reads.
func TestRunInAPipeline(t *testing.T) {
	for name, c := range map[string]struct{ line, keys, says string }{
		"one key stops both":     {"REAPER run -- SLEEP901 | SLEEP902", ctrlZ, "148"},
		"the last one stops too": {"SLEEP901 | REAPER run -- SLEEP902", ctrlZ, "148"},
		"one key ends both":      {"REAPER run -- SLEEP901 | SLEEP902", ctrlC, "130"},
		"both are runs":          {"REAPER run -- SLEEP901 | REAPER run -- SLEEP902", ctrlC, "130"},
	} {
		t.Run(name, func(t *testing.T) {
			lab := newLab(t)
			d := lab.desk("")
			d.enters(c.line)
			all := lab.sleepers(901, 902)
			d.together(all...)
			d.types(c.keys)
			d.hears(c.says, "the shell")
			if c.keys == ctrlC {
				lab.gone(all...)
			}
		})
	}
	t.Run("it reads", func(t *testing.T) {
		lab := newLab(t)
		d := lab.desk("")
		out := lab.path("out")
		d.enters("REAPER run -- cat | REAPER run -- cat >" + out)
		d.types("a line\n" + ctrlD)
		d.hears("0", "the shell")
		if raw, _ := os.ReadFile(out); string(raw) != "a line\n" {
			t.Errorf("%q", raw)
		}
	})
	t.Run("from the background", func(t *testing.T) {
		lab := newLab(t)
		d := lab.desk("")
		d.enters("REAPER run -- bash -c 'SLEEP901; read x; exit $x' | SLEEP902 &")
		d.hears("0", "the shell")
		all := lab.sleepers(901, 902)
		d.enters("fg")
		d.together(all...)
		lab.must(all[0].Signal(syscall.SIGTERM))
		d.types("41\n")
		lab.eventually("the end of the reader", func() bool { return len(childrenOf(d.shell.PID)) == 1 })
		lab.must(all[1].Signal(syscall.SIGTERM))
		d.hears("143", "the shell")
	})
}

// Guards fg of a job that runs: the shell does not continue it, and the command
// reads the terminal all the same.
func TestRunBroughtToTheForeground(t *testing.T) {
	lab := newLab(t)
	d := lab.desk("")
	d.enters("REAPER run -- sh -c 'SLEEP901; read x; exit $x' &")
	d.hears("0", "the shell")
	sleeper := lab.Sleeper(901)
	command := lab.list(sleeper.Stat().PPID, "the command")
	run := lab.list(command.Stat().PPID, "reaper run")
	if s := command.Stat(); s.PGID != command.PID || s.ForegroundG == s.PGID {
		t.Errorf("%+v", s)
	}
	d.enters("fg")
	lab.eventually("the run in the foreground", func() bool { return run.Stat().ForegroundG == run.PID })
	lab.must(sleeper.Signal(syscall.SIGTERM))
	lab.eventually("the command in the foreground", func() bool { return command.Stat().ForegroundG == command.PID })
	d.types("42\n")
	d.hears("42", "the command's status")
}

// Guards a job with its input from elsewhere, and one whose output goes through a
// pipe: the terminal is not theirs alone, and stays with their group.
func TestRunSharesTheGroup(t *testing.T) {
	for line, shares := range map[string]bool{
		"REAPER run -- SLEEP901": false, "REAPER run -- SLEEP901 </dev/null": true, "REAPER run -- SLEEP901 >/dev/null": false,
		"REAPER run -- SLEEP901 | cat": true, "(REAPER run -- SLEEP901; :)": true,
	} {
		t.Run(line, func(t *testing.T) {
			lab := newLab(t)
			d := lab.desk("")
			d.enters(line)
			command := lab.Sleeper(901)
			d.together(command)
			if s := lab.list(command.Stat().PPID, "reaper run").Stat(); (s.PGID == command.Stat().PGID) != shares {
				t.Errorf("group %d of the run, %d of the command", s.PGID, command.Stat().PGID)
			}
			d.types(ctrlC)
			d.hears("130", "the shell")
		})
	}
}

// Guards the second Ctrl-C of those in a hurry, on a terminal: when the command has
// ended the terminal is the run's, in whatever group the command was.
func TestRunHurriedByKeys(t *testing.T) {
	for _, place := range []string{"RUN", "(RUN; :)"} {
		t.Run(place, func(t *testing.T) {
			lab := newLab(t)
			d := lab.desk("trap '' TERM\n(trap '' INT; SLEEP901) &\nexec SLEEP902")
			d.enters(strings.ReplaceAll(place, "RUN", "REAPER run --grace 1h -- bash SCRIPT"))
			stubborn, command := lab.Sleeper(901), lab.Sleeper(902)
			run := lab.list(command.Stat().PPID, "reaper run")
			d.types(ctrlC)
			lab.AwaitExit(command)
			lab.eventually("the run in the foreground", func() bool { s := run.Stat(); return s.ForegroundG == s.PGID })
			lab.eventually("its end", func() bool {
				d.types(ctrlC)
				return !stubborn.Running()
			})
			d.hears("130", "the shell")
		})
	}
}

// Guards a shell's job: the terminal is the command's; Ctrl-Z stops both, fg
// continues both, Ctrl-C ends the command, and the terminal is the shell's again.
func TestRunOnATerminal(t *testing.T) {
	lab := newLab(t)
	d := lab.desk("")
	d.enters("REAPER run -- SLEEP901")
	command := lab.Sleeper(901)
	run := lab.list(command.Stat().PPID, "reaper run")
	d.together(command)
	if run.Stat().PGID == command.PID || command.Stat().PGID != command.PID {
		t.Errorf("%s is in the command's group", run)
	}
	d.types(ctrlZ)
	if got := d.lab.line(d.said, "the stop"); got != "149" && got != "148" {
		t.Errorf("%q", got)
	}
	if command.Stat().State != 'T' || run.Stat().State != 'T' || d.shell.Stat().ForegroundG != d.shell.PID {
		t.Errorf("command %c, run %c, foreground %d", command.Stat().State, run.Stat().State, d.shell.Stat().ForegroundG)
	}
	d.enters("fg")
	d.together(command)
	lab.eventually("both continued", func() bool { return command.Stat().State == 'S' && run.Stat().State != 'T' })
	d.types(ctrlC)
	d.hears("130", "the end")
	if d.shell.Stat().ForegroundG != d.shell.PID {
		t.Errorf("foreground %d instead of %d", d.shell.Stat().ForegroundG, d.shell.PID)
	}
}
