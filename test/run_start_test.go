//go:build linux

package test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

// Guards a home that is another one now, although its path is there again.
func TestRunEndsWithAReplacedHome(t *testing.T) {
	for name, replace := range map[string]func(home string) error{
		"made anew":      func(home string) error { return firstOf(os.RemoveAll(home), os.Mkdir(home, 0o755)) },
		"moved and anew": func(home string) error { return firstOf(os.Rename(home, home+"-old"), os.Mkdir(home, 0o755)) },
		"now a file":     func(home string) error { return firstOf(os.RemoveAll(home), os.WriteFile(home, nil, 0o644)) },
		"another's now":  func(home string) error { return firstOf(os.RemoveAll(home), os.Symlink("/", home)) },
	} {
		t.Run(name, func(t *testing.T) {
			lab := newLab(t)
			home := lab.path("home")
			lab.must(os.MkdirAll(home+"/full", 0o755))
			run := lab.follower(nil, []string{"--home", home}, lab.Sleep(901)...)
			command := lab.Sleeper(901)
			lab.must(replace(home))
			run.ends(143, "the home "+home+" is gone: stopped 1 process")
			lab.gone(command)
		})
	}
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Guards the signals beyond the ones that people send: what can be caught is passed.
func TestRunPassesRareSignals(t *testing.T) {
	lab := newLab(t)
	rare := []syscall.Signal{syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGIO, syscall.SIGPWR, syscall.SIGXCPU,
		syscall.SIGXFSZ, syscall.SIGABRT, 35, 50, 64}
	said := lab.fifo()
	text := "for s in " + strings.Trim(fmt.Sprint(signalNumbers(rare)), "[]") + "; do trap \"echo $s >" + said.path + "\" $s; done; echo up >" + said.path + "; while :; do SLEEP901 & wait; kill $!; done"
	run := lab.follower(nil, nil, lab.needProgram("bash"), "-c", lab.shell(text))
	lab.line(said, "the command")
	for _, s := range rare {
		lab.must(run.proc.Signal(s))
		if got := lab.line(said, s.String()); got != itoa(int(s)) {
			t.Errorf("%q instead of %d", got, s)
		}
	}
	lab.must(run.proc.Signal(syscall.SIGTERM))
	run.finish()
}

func signalNumbers(signals []syscall.Signal) []int {
	var all []int
	for _, s := range signals {
		all = append(all, int(s))
	}
	return all
}

// Guards a program that names no interpreter: the shell runs it, as from a shell or env.
func TestRunScriptWithoutAnInterpreter(t *testing.T) {
	lab := newLab(t)
	dir := lab.path("bin")
	lab.must(os.Mkdir(dir, 0o755))
	lab.must(writeProgram(dir+"/plain", []byte(`echo "$0|$*|${REAPER_PARENT_PID%@*}|$PPID"; exit 9`)))
	for _, name := range []string{dir + "/plain", "plain"} {
		res := lab.Run(Run{Command: "run", Via: []string{"env", "PATH=" + dir + ":/usr/bin:/bin"}, Args: []string{"--", name, "a", "b c"}, Status: 9})
		fields := strings.Split(strings.TrimSpace(res.Stdout), "|")
		if len(fields) != 4 || fields[0] != dir+"/plain" || fields[1] != "a b c" || fields[2] != fields[3] {
			t.Errorf("%s: %q, %q", name, res.Stdout, res.Stderr)
		}
	}
}

// Guards the status of a run that a mistake in the rules keeps from starting: a
// command's own 2 is another thing.
func TestRunWithWrongRules(t *testing.T) {
	lab := newLab(t)
	rules, witness := lab.File("rules.yaml", "version: 1\nrulez: []\n"), lab.path("witness")
	lab.must(os.Chmod(rules, 0o644))
	res := lab.Run(Run{Command: "run", Env: []string{"REAPER_RULES=" + rules}, Args: []string{"--", "touch", witness}, Status: 125})
	lab.saysErrors(res, "rulez", "touch was not started")
	if _, err := os.Stat(witness); err == nil {
		t.Error("it was started")
	}
}

// Guards a container's entrypoint, and what a container's init runs: nobody is
// followed, and what the command leaves behind is stopped.
func TestRunAsAnEntrypoint(t *testing.T) {
	for name, init := range map[string][]string{"pid 1": nil, "tini": {"tini", "--"}, "dumb-init": {"dumb-init", "--"}, "a shell": {"sh", "-c", `"$@"; exit $?`, "sh"}} {
		t.Run(name, func(t *testing.T) {
			lab := newLab(t)
			via := []string{lab.needProgram("unshare"), "--pid", "--fork", "--mount-proc"}
			if len(init) > 0 {
				via = append(via, lab.needProgram(init[0]))
				via = append(via, init[1:]...)
			}
			res := lab.Run(Run{Command: "run", Via: via, Args: []string{"--", "sh", "-c", lab.shell("(setsid SLEEP901 &); exit 6")}, Status: 6})
			lab.mentions(res.Stderr, "sh left something behind: stopped 1 process")
		})
	}
}

// Guards a run whose parent is in another pid namespace, in which it has no number.
func TestRunEntered(t *testing.T) {
	lab := newLab(t)
	ns, witness := lab.Namespace(Spec{Argv: []string{"/sbin/init"}}), lab.path("witness")
	enter := []string{lab.needProgram("nsenter"), "-t", itoa(ns.Init.PID), "-m", "-p"}
	res := lab.Run(Run{Command: "run", Via: enter, Args: []string{"--", "touch", witness}, Status: 125})
	lab.saysErrors(res, "the parent is in another pid namespace", "touch was not started")
	if _, err := os.Stat(witness); err == nil {
		t.Error("it was started")
	}
	lab.Run(Run{Command: "run", Via: enter, Args: []string{"--follow", "1", "--", "touch", witness}, Status: 0})
	_, err := os.Stat(witness)
	lab.must(err)
}

// Guards many short runs, one after the other and at once: each has its command's
// status, its command none of its descriptors, and of none a process or zombie is left.
func TestRunOften(t *testing.T) {
	lab := newLab(t)
	const text = `cd / && i=0
while [ $i -lt 30 ]; do i=$((i+1)); "$1" run -- sh -c "exit $i"; s=$?; [ $s = $i ] || echo $i ended with $s; done
seq 20 | xargs -P 20 -I{} sh -c '"$1" run -- sh -c "exit {}"; s=$?; [ $s = {} ] || echo {} ended with $s' sh "$1"
files='cd /proc/$$/fd && echo *'
[ "$("$1" run --home / -- sh -c "$files")" = "$(sh -c "$files")" ] || echo descriptors
echo /proc/[0-9]*`
	res := lab.through([]string{lab.needProgram("unshare"), "-pf", "--mount-proc", "sh", "-c", text, "sh"}, Run{Command: "run"})
	if res.Exit != 0 || res.Stdout != "/proc/1\n" || res.Stderr != "" {
		t.Errorf("status %d, %q, %q", res.Exit, res.Stdout, res.Stderr)
	}
}

// Guards a service: its manager has started it, and is not followed. Only the
// service's own process is meant, not what inherited the variable.
func TestRunAsAService(t *testing.T) {
	for mine, starts := range map[string]bool{"$$": true, "1": false} {
		t.Run(mine, func(t *testing.T) {
			lab := newLab(t)
			gate, witness := lab.fifo(), lab.path("witness")
			service := lab.OrphanLeader([]string{quickExit}, "sh", "-c",
				fmt.Sprintf("read x <%s; export SYSTEMD_EXEC_PID=%s; exec %s run -- touch %s", gate.path, mine, reaperBinary(t), witness))
			lab.tell(gate, "go on")
			lab.AwaitExit(service)
			if _, err := os.Stat(witness); (err == nil) != starts {
				t.Errorf("started: %v", err == nil)
			}
		})
	}
}
