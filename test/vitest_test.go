//go:build linux

package test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// vitestRun is one run of the project in vitest/ by the real vitest.
type vitestRun struct {
	l       *Lab
	this    launch
	main    Proc   // vitest's own process
	servers []Proc // that its test has started
	orders  *fifo
}

// vitest is the program, or the test is skipped.
func (l *Lab) vitest() []string {
	l.t.Helper()
	l.needProgram("node")
	program, err := filepath.Abs("vitest/node_modules/vitest/vitest.mjs")
	l.must(err)
	if _, err := os.Stat(program); err != nil {
		l.t.Skip("no vitest: npm ci --prefix test/vitest")
	}
	for _, file := range []string{"reaper.mjs", "vitest.config.ts", "servers.test.ts", "server.mjs"} {
		_, err := os.ReadFile(filepath.Join("vitest", file)) // so that the go command sees what the result hangs on
		l.must(err)
	}
	return []string{"node", program, "run", "--no-color"}
}

// runVitest runs it to its end, with nothing to start.
func (l *Lab) runVitest(env ...string) Result {
	l.t.Helper()
	this := l.vitestLaunch(l.vitest(), env...)
	return l.Collect(this.Out, this.Err, l.finish(this), this.Argv)
}

func (l *Lab) vitestLaunch(argv []string, env ...string) launch {
	l.t.Helper()
	dir, err := filepath.Abs("vitest")
	l.must(err)
	env = append(env, binVar+"="+reaperBinary(l.t), quickExit) // getenv(3) finds the first
	this, _ := l.launch(Spec{Argv: argv, Env: env, Dir: dir, Leader: true})
	this.Out, this.Err = l.path("stdout"), l.path("stderr")
	return this
}

// beginVitest starts a run and returns once its servers are up; the wrapper is
// given vitest's command line.
func (l *Lab) beginVitest(wrapper ...string) *vitestRun {
	l.t.Helper()
	says, orders := l.fifo(), l.fifo()
	r := &vitestRun{l: l, orders: orders}
	r.this = l.vitestLaunch(append(wrapper, l.vitest()...), "LAB_SERVERS="+says.path, "LAB_TOLD="+orders.path)
	child, err := r.this.start()
	l.must(err)
	l.children[child.Pid] = child
	for range 3 {
		pid, err := strconv.Atoi(l.line(says, "a server of the run"))
		l.must(err)
		r.servers = append(r.servers, l.list(pid, "server"))
	}
	r.main = l.followedBy(r.servers[0])
	return r
}

// followedBy is the process that the marker of another names. One that is within
// its exec shows no environment, and is waited for.
func (l *Lab) followedBy(p Proc) Proc {
	l.t.Helper()
	var environ []string
	poll(patience, func() bool {
		environ = readEnviron(p.PID)
		return len(environ) > 0 || !p.Running()
	})
	for _, entry := range environ {
		if value, ok := strings.CutPrefix(entry, "REAPER_PARENT_PID="); ok {
			pid, start, told := strings.Cut(value, "@")
			n, err := strconv.Atoi(pid)
			l.must(err)
			owner := l.list(n, "the marker's "+value)
			if told && start != strconv.FormatUint(owner.Start, 10) {
				l.t.Fatalf("%s is marked %s", p, value)
			}
			return owner
		}
	}
	l.t.Fatalf("%s is not marked: %q", p, environ)
	return Proc{}
}

// all are the run's processes: all that carries its marker, and itself.
func (r *vitestRun) all() []Proc {
	found := []Proc{r.main}
	mark := "REAPER_PARENT_PID=" + strconv.Itoa(r.main.PID) + "@" + strconv.FormatUint(r.main.Start, 10)
	for _, p := range r.l.running() {
		if slices.Contains(readEnviron(p.PID), mark) {
			found = append(found, p)
		}
	}
	return found
}

// Guards the set-up file of the README on the real vitest: what a killed run
// leaves is removed by the next run's set-up, and a live run in parallel keeps
// all its processes and passes.
func TestVitestRunsRemoveWhatKilledOnesLeft(t *testing.T) {
	lab := newSerialLab(t)
	live := lab.beginVitest()
	unmarked := lab.OrphanLeader(nil, lab.Sleep(900)...)
	for _, end := range []struct {
		name    string
		wrapper []string
		kill    func(r *vitestRun)
	}{
		{"by SIGKILL", nil, func(r *vitestRun) { lab.must(r.main.Signal(syscall.SIGKILL)) }},
		{"by SIGINT", nil, func(r *vitestRun) { lab.must(r.main.Signal(syscall.SIGINT)) }},
		{"by its closing pipe", []string{"sh", "-c", `"$@" | head -n 1`, "sh"}, func(r *vitestRun) { lab.tell(r.orders, "text for a pipe that nobody reads") }},
	} {
		run := lab.beginVitest(end.wrapper...)
		end.kill(run)
		lab.AwaitExit(run.main)
		left, lived := run.all()[1:], live.all()
		for _, p := range run.servers {
			if !p.Running() {
				t.Fatalf("%s: ended with its run, which proves nothing", end.name)
			}
		}
		res := lab.runVitest()
		if res.Exit != 0 || !strings.Contains(res.Stderr, " stopped") {
			t.Errorf("%s: the next run has status %d: %s%s", end.name, res.Exit, res.Stdout, res.Stderr)
		}
		for _, p := range append(left, run.servers...) {
			if p.Running() {
				t.Errorf("%s: %s is still there after the next run: %s", end.name, p, res.Stderr)
			}
		}
		for _, p := range append(lived, unmarked) {
			if !p.Running() {
				t.Errorf("%s: %s was ended by the next run: %s", end.name, p, res.Stderr)
			}
		}
	}
	lab.tell(live.orders, "end")
	state, err := lab.children[live.main.PID].Wait()
	lab.must(err)
	delete(lab.children, live.main.PID)
	if res := lab.Collect(live.this.Out, live.this.Err, state.ExitCode(), nil); res.Exit != 0 || !strings.Contains(res.Stdout, "2 passed") {
		t.Errorf("the live run: status %d: %s%s", res.Exit, res.Stdout, res.Stderr)
	}
	for _, p := range live.servers {
		lab.AwaitExit(p)
	}
}

// Guards a run from its set-up: one that cannot sweep warns and passes, one with
// nothing to sweep says nothing.
func TestVitestGoesOnWithoutASweep(t *testing.T) {
	lab := newSerialLab(t)
	for _, test := range []struct {
		name, env string
		warns     string
	}{
		{"nothing to do", "A=1", ""},
		{"no program", binVar + "=" + filepath.Join(lab.Dir, "gone"), "ENOENT; the tests run all the same"},
		{"rules that are wrong", "REAPER_RULES=" + lab.File("wrong.yaml", "version: 2\n"), "status 2; the tests run all the same"},
	} {
		res := lab.runVitest(test.env)
		if res.Exit != 0 || !strings.Contains(res.Stderr, test.warns) || test.warns == "" && res.Stderr != "" {
			t.Errorf("%s: status %d: %s%s", test.name, res.Exit, res.Stdout, res.Stderr)
		}
	}
}
