//go:build linux

package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// withPath is an environment in which reaper is on the path, and what else the
// tests' own path has.
func (l *Lab) withPath() []string {
	l.t.Helper()
	dir := filepath.Join(l.Dir, "bin")
	if err := os.Mkdir(dir, 0o755); err == nil {
		l.must(os.Symlink(reaperBinary(l.t), filepath.Join(dir, "reaper")))
	}
	return []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "HOME=" + l.Dir, "LANG=C.UTF-8", tagVar + "=" + l.Tag, quickExit}
}

// goTest is a run of two packages in gotest/ by the real go command.
func (l *Lab) goTest(env ...string) launch {
	l.t.Helper()
	return l.goRun([]string{"go", "test", "-count=1", "-p=2", "-v", "./first", "./second"}, env...)
}

// goRun is a command in the folder of gotest/'s module.
func (l *Lab) goRun(argv []string, env ...string) launch {
	l.t.Helper()
	files, err := filepath.Glob("gotest/*/*.go")
	l.must(err)
	for _, file := range files {
		_, err := os.ReadFile(file) // so that the go command sees what the result hangs on
		l.must(err)
	}
	dir, err := filepath.Abs("gotest")
	l.must(err)
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	l.must(err)
	env = append(append(l.withPath(), "GOCACHE="+strings.TrimSpace(string(cache)), "GOTOOLCHAIN=local"), env...)
	argv[0] = l.needProgram(argv[0])
	this, _ := l.launch(Spec{Bare: true, Argv: argv, Env: env, Dir: dir, Leader: true})
	this.Out, this.Err = l.path("stdout"), l.path("stderr")
	return this
}

type goTestRun struct {
	this   launch
	goes   Proc // the go command
	tests  []Proc
	all    []Proc // with their servers
	orders *fifo
}

// beginGoTest starts a run of two packages at once and returns when both have
// their servers up.
func (l *Lab) beginGoTest() *goTestRun {
	l.t.Helper()
	says := l.fifo()
	r := &goTestRun{orders: l.fifo()}
	r.this = l.goTest("LAB_SERVERS="+says.path, "LAB_TOLD="+r.orders.path)
	child, err := r.this.start()
	l.must(err)
	l.children[child.Pid] = child
	r.goes = l.list(child.Pid, "go test")
	for range 2 {
		pids := decodePIDs(l.t, l.line(says, "a package's servers"))
		for i, what := range []string{"test binary", "child", "daemon"} {
			p := l.list(pids[i], what)
			if owner := l.followedBy(p); owner.PID != r.goes.PID {
				l.t.Fatalf("%s follows %s, not the go command", p, owner)
			}
			if r.all = append(r.all, p); i == 0 {
				r.tests = append(r.tests, p)
			}
		}
	}
	return r
}

// Guards the TestMain of the README under the real go command: it was killed,
// its test binaries run on with their servers. The next run, whose packages
// sweep at the same time, removes all of it and nothing of a live run's.
func TestGoTestRunsRemoveWhatAKilledOneLeft(t *testing.T) {
	lab := newSerialLab(t)
	live, killed := lab.beginGoTest(), lab.beginGoTest()
	unmarked := lab.OrphanLeader(nil, lab.Sleep(900)...)
	lab.must(killed.goes.Signal(syscall.SIGKILL))
	lab.AwaitExit(killed.goes)
	for _, p := range killed.all {
		if !p.Running() {
			t.Fatalf("%s ended with go test, which proves nothing", p)
		}
	}
	next := lab.goTest()
	res := lab.Collect(next.Out, next.Err, lab.finish(next), nil)
	if res.Exit != 0 || !strings.Contains(res.Stdout, " stopped") || strings.Contains(res.Stdout, "the tests run all the same") {
		t.Errorf("the next run: status %d: %s%s", res.Exit, res.Stdout, res.Stderr)
	}
	for _, p := range killed.all {
		if p.Running() {
			t.Errorf("%s is still there: %s", p, res.Stdout)
		}
	}
	for _, p := range append(live.all, live.goes, unmarked) {
		if !p.Running() {
			t.Errorf("%s was ended by the next run: %s", p, res.Stdout)
		}
	}
	lab.tell(live.orders, "end")
	lab.tell(live.orders, "end")
	state, err := lab.children[live.goes.PID].Wait()
	lab.must(err)
	delete(lab.children, live.goes.PID)
	if res := lab.Collect(live.this.Out, live.this.Err, state.ExitCode(), nil); res.Exit != 0 || strings.Count(res.Stdout, "--- PASS: TestServers") != 2 {
		t.Errorf("the live run: status %d: %s%s", res.Exit, res.Stdout, res.Stderr)
	}
}

// Guards a run from its set-up: it warns and passes where there is no program.
func TestGoTestGoesOnWithoutASweep(t *testing.T) {
	lab := newLab(t)
	this := lab.goTest()
	lab.must(os.Remove(filepath.Join(lab.Dir, "bin", "reaper")))
	lab.must(os.Symlink(filepath.Join(lab.Dir, "gone"), filepath.Join(lab.Dir, "bin", "reaper")))
	res := lab.Collect(this.Out, this.Err, lab.finish(this), nil)
	if res.Exit != 0 || !strings.Contains(res.Stdout, "the tests run all the same") {
		t.Errorf("status %d: %s%s", res.Exit, res.Stdout, res.Stderr)
	}
}

// Guards a test binary that runs itself (or go test), with or without its
// environment: all of it is one live run, whose daemons neither its own next
// helper nor another run that starts meanwhile stops.
func TestGoTestThatRunsItself(t *testing.T) {
	lab := newSerialLab(t)
	binary := lab.path("again.test")
	build := lab.goRun([]string{"go", "test", "-c", "-o", binary, "./again"})
	if status := lab.finish(build); status != 0 {
		t.Fatalf("go test -c: status %d: %s", status, readAll(t, build.Err))
	}
	goTest := []string{"go", "test", "-count=1", "-v", "-run=^TestRunsItself$", "./again"}
	for _, run := range []struct {
		helper string
		argv   []string
	}{
		{"itself", goTest},
		{"bare", goTest},
		{"go test", goTest},
		{"itself", []string{binary, "-test.v", "-test.run=^TestRunsItself$"}},
		{"bare", []string{binary, "-test.v", "-test.run=^TestRunsItself$"}},
	} {
		for _, beside := range []bool{false, true} {
			says, orders := lab.fifo(), lab.fifo()
			this := lab.goRun(slices.Clone(run.argv), "LAB_HELPER="+run.helper, "LAB_PID="+lab.path("pid"), "LAB_SERVERS="+says.path, "LAB_TOLD="+orders.path)
			child, err := this.start()
			lab.must(err)
			lab.children[child.Pid] = child
			pid, err := strconv.Atoi(lab.line(says, "the daemon's pid"))
			lab.must(err)
			daemon := lab.list(pid, "the first helper's daemon")
			if beside {
				other := lab.goTest()
				if status := lab.finish(other); status != 0 || !daemon.Running() {
					t.Errorf("%s, %s: another run: status %d, %s is %s: %s", run.argv[0], run.helper, status, daemon, daemon.State(), readAll(t, other.Out))
				}
			}
			lab.tell(orders, "end")
			state, err := child.Wait()
			lab.must(err)
			delete(lab.children, child.Pid)
			if res := lab.Collect(this.Out, this.Err, state.ExitCode(), nil); res.Exit != 0 || !strings.Contains(res.Stdout, "--- PASS: TestRunsItself") {
				t.Errorf("%s, %s: status %d: %s%s", run.argv[0], run.helper, res.Exit, res.Stdout, res.Stderr)
			}
			lab.AwaitExit(daemon)
		}
	}
}
