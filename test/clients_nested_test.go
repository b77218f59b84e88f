//go:build linux

package test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// leftover is an orphan by the built-in rule.
func (l *Lab) leftover(n int) Proc {
	l.t.Helper()
	return l.OrphanLeader([]string{"REAPER_PARENT_PID=" + itoa(l.Dead())}, l.Sleep(n)...)
}

// runsAll runs the client, which starts a server by one part of it, looks for it
// by the next and prints its pid, once with an orphan left by another run and
// once more.
func (c client) runsAll() {
	c.l.t.Helper()
	var before Proc
	for n := 901; n <= 902; n++ {
		orphan := c.l.leftover(n)
		this := c.launch(c.l.SleepArg(n+10), "0")
		res := c.l.Collect(this.Out, this.Err, c.l.finish(this), nil)
		said := strings.Fields(res.Stdout)
		if res.Exit != 0 || len(said) == 0 {
			c.l.t.Fatalf("status %d: %s%s", res.Exit, res.Stdout, res.Stderr)
		}
		pid, err := strconv.Atoi(said[len(said)-1])
		c.l.must(err)
		server := c.l.list(pid, "server")
		if orphan.Running() || !server.Running() || strings.Count(res.Stderr, " stopped") == 0 {
			c.l.t.Errorf("%s is %s, %s is %s: %s%s", orphan, orphan.State(), server, server.State(), res.Stdout, res.Stderr)
		}
		if n == 902 && before.Running() {
			c.l.t.Errorf("%s of the run before is still there: %s", before, res.Stderr)
		}
		before = server
	}
}

// leaves runs a command of the client's folder that must not sweep.
func (c client) leaves(env []string, argv ...string) {
	c.l.t.Helper()
	orphan := c.l.leftover(920)
	argv[0] = c.l.needProgram(argv[0])
	other := client{c.l, c.dir, argv}
	this := other.launch("0", "0", env...)
	c.l.finish(this)
	if !orphan.Running() {
		c.l.t.Errorf("%q swept: %s%s", argv, readAll(c.l.t, this.Out), readAll(c.l.t, this.Err))
	}
	c.l.Kill(orphan)
}

// Guards the mark alone.
func TestShellMark(t *testing.T) {
	lab := newSerialLab(t)
	c := lab.client(map[string]string{"job.sh": readme(t)[0] + `setsid sleep "$LAB_SERVER" & sleep "$LAB_HOLD"` + "\n"}, "sh", "job.sh")
	child, err := c.launch(lab.SleepArg(901), lab.SleepArg(902)).start()
	lab.must(err)
	lab.children[child.Pid] = child
	server, hold := lab.Sleeper(901), lab.Sleeper(902)
	if !slices.Contains(readEnviron(server.PID), "REAPER_PARENT_PID="+itoa(child.Pid)) || !hold.Running() {
		t.Errorf("%s: %q", server, readEnviron(server.PID))
	}
}

// Guards scripts that call each other, all with the head: the outermost is the
// run. What a script prints is its own.
func TestScriptInScript(t *testing.T) {
	lab := newSerialLab(t)
	head := "set -eu\n" + readme(t)[0]
	c := lab.client(map[string]string{
		"all.sh":   head + "server=$(sh start.sh)\nsh check.sh \"$server\"\n",
		"start.sh": head + "setsid sleep \"$LAB_SERVER\" >/dev/null 2>&1 &\necho $!\n",
		"check.sh": head + "kill -0 \"$1\"\necho \"$1\"\n",
	}, "sh", "all.sh")
	c.runsAll()
	live := lab.Live()
	c.leaves([]string{"REAPER_PARENT_PID=" + itoa(live.PID) + "@" + strconv.FormatUint(live.Start, 10)}, "sh", "check.sh", itoa(live.PID))
}

// Guards make below make: the outermost is the run. What only asks make for
// something sweeps nothing.
func TestMakeInMake(t *testing.T) {
	lab := newSerialLab(t)
	c := lab.client(map[string]string{"Makefile": readme(t)[0] + `
all:
	$(MAKE) up
	$(MAKE) check
up:
	@setsid sleep $(LAB_SERVER) >/dev/null 2>&1 & echo $$! >pid
check:
	@kill -0 $$(cat pid); cat pid
`}, "make", "-s", "all")
	c.runsAll()
	c.leaves(nil, "make", "-n", "all")
	c.leaves(nil, "make", "--dry-run", "--no-print-directory")
	c.leaves(nil, "make", "-q", "all")
	c.leaves(nil, "make", "-npq", ".DEFAULT") // bash's completion
	sweeps := lab.leftover(930)
	this := client{lab, c.dir, []string{c.argv[0], "--no-print-directory", "-j2", "A=nq", "-f", "Makefile", "up"}}.launch(lab.SleepArg(931), "0")
	lab.finish(this)
	if sweeps.Running() {
		t.Errorf("flags that are neither keep it from sweeping: %s", readAll(t, this.Err))
	}
}
