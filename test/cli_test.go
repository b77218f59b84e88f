//go:build linux

package test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScripts runs what the program says and how it exits where nothing is to be
// stopped: testdata/script.
func TestScripts(t *testing.T) {
	needNamespace(t)
	t.Parallel()
	bin := reaperBinary(t)
	example, err := filepath.Abs("../rules.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                map[string]func(*testscript.TestScript, bool, []string){"exits": exits},
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", strings.TrimPrefix(quickExit, "GORACE="))
			env.Setenv("EXAMPLE", example)
			env.Setenv("PATH", filepath.Join(env.WorkDir, ".bin")+":"+env.Getenv("PATH"))
			return errors.Join(onlyOwnersWrite(env.WorkDir), os.Mkdir(filepath.Join(env.WorkDir, ".bin"), 0o755),
				os.Symlink(bin, filepath.Join(env.WorkDir, ".bin", "reaper")))
		},
	})
}

// onlyOwnersWrite makes of a script's files such as root may use, whatever the umask.
func onlyOwnersWrite(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&^0o022)
	})
}

// exits STATUS COMMAND ARG… demands the exit status; as after exec, stdout and
// stderr can be looked at.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND ARG…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("status %d instead of %d", got, want)
	}
}

// through runs the program by way of another command, which is given the
// program's command line as its last arguments.
func (l *Lab) through(wrapper []string, r Run) Result {
	l.t.Helper()
	argv := l.Argv(r)
	this, _ := l.launch(Spec{Argv: append(append([]string{}, wrapper...), argv...), Env: append([]string{quickExit}, r.Env...), UID: r.UID, Leader: true})
	this.Out, this.Err = l.path("stdout"), l.path("stderr")
	res := l.Collect(this.Out, this.Err, l.finish(this), argv[2:])
	if r.Status != nil && r.Status != res.Exit {
		l.t.Fatalf("status %d instead of %v\nstdout: %s\nstderr: %s", res.Exit, r.Status, res.Stdout, res.Stderr)
	}
	return res
}

// begin starts the program without waiting for it.
func (l *Lab) begin(r Run) (running *os.Process, finish func() Result) {
	l.t.Helper()
	this, _ := l.launch(Spec{Argv: l.Argv(r), Env: append([]string{quickExit}, r.Env...), UID: r.UID, Leader: true})
	this.Out, this.Err = l.path("stdout"), l.path("stderr")
	child, err := this.start()
	l.must(err)
	return child, func() Result {
		l.t.Helper()
		state, err := child.Wait()
		l.must(err)
		return l.Collect(this.Out, this.Err, state.ExitCode(), this.Argv[2:])
	}
}

// saysErrors demands that stderr is lines of "reaper: " in lower case, which
// each of these is in, and nothing else.
func (l *Lab) saysErrors(res Result, parts ...string) {
	l.t.Helper()
	said := res.Stderr
	for raceEnabled && strings.HasPrefix(said, "==") { // the race detector's own, where there is no /proc
		_, said, _ = strings.Cut(said, "\n")
	}
	first := strings.TrimPrefix(said, "reaper: ")
	if first == said || !strings.HasSuffix(first, "\n") || strings.ToUpper(first[:1]) == first[:1] && strings.ToLower(first[:1]) != first[:1] {
		l.t.Errorf("not an error in this program's manner: %q", res.Stderr)
	}
	for _, part := range parts {
		if !strings.Contains(res.Stderr, part) {
			l.t.Errorf("%q is not in: %s", part, res.Stderr)
		}
	}
	for _, word := range []string{"panic", "goroutine", "failed to", "0x"} {
		if strings.Contains(res.Stderr, word) {
			l.t.Errorf("%q is in: %s", word, res.Stderr)
		}
	}
}

// A check finds and does nothing; its status tells a script.
func TestCheckTellsByItsStatus(t *testing.T) {
	lab := newLab(t)
	owned := lab.OrphanLeader([]string{lab.Mark(lab.Live())}, lab.Sleep(900)...)
	lab.Spared(lab.Run(Run{Args: []string{"--check"}, Status: 0}), owned, "parent-running")
	orphan := lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(901)...)
	res := lab.Run(Run{Args: []string{"--check"}, Status: 1})
	lab.WouldStop(res, orphan)
	if !res.Doc.DryRun {
		t.Error("a check is no dry run")
	}
	lab.WouldStop(lab.Run(Run{Args: []string{"--dry-run"}, Status: 0}), orphan)
	lab.Stopped(lab.Run(Run{Status: 0}), orphan)
	lab.Run(Run{Args: []string{"--check"}, Status: 0})
}

// More orphans than --max: nothing is stopped, the status and one line say so.
func TestMaxRefuses(t *testing.T) {
	lab := newLab(t)
	mark := lab.Mark(lab.Dead())
	first, second := lab.OrphanLeader([]string{mark}, lab.Sleep(900)...), lab.OrphanLeader([]string{mark}, lab.Sleep(901)...)
	res := lab.Run(Run{Args: []string{"--max", "1"}, Status: 3})
	for _, p := range []Proc{first, second} {
		if !p.Running() {
			t.Errorf("%s", res.fate(p))
		}
	}
	if !strings.Contains(res.Doc.Refused, "2 orphans are more than --max 1") {
		t.Errorf("refused %q", res.Doc.Refused)
	}
	text := lab.Run(Run{Args: []string{"--max", "1", "--quiet"}, Text: true, Status: 3})
	if !strings.Contains(text.Stdout, "nothing was stopped") {
		t.Errorf("%q", text.Stdout)
	}
	res = lab.Run(Run{Args: []string{"--max", "2"}, Status: 0})
	lab.Stopped(res, first)
	lab.Stopped(res, second)
}

// Ctrl-C while a sweep waits: status 130, and what was signalled is reported as
// what it is, not as stopped.
func TestInterruptedSweepReports(t *testing.T) {
	lab := newLab(t)
	held, termed, release := lab.Held(Spec{Env: []string{lab.Mark(lab.Dead())}, Leader: true, Adopted: true})
	sweep, finish := lab.begin(Run{Args: []string{"--grace", "1h"}})
	termed()
	lab.must(sweep.Signal(syscall.SIGINT))
	res := finish()
	doc, err := decodeDoc([]byte(res.Stdout))
	if err != nil || res.Exit != 130 || doc.Exit != 130 {
		t.Fatalf("status %d, %v: %s%s", res.Exit, err, res.Stdout, res.Stderr)
	}
	res.Doc = doc
	if _, m := res.member(held); m == nil || m.Outcome != "stop-unconfirmed" || len(m.Signals) == 0 || !held.Running() {
		t.Errorf("%s", res.fate(held))
	}
	release()
	lab.AwaitExit(held)
}

// Quiet is silent where there is nothing to do, with spared processes or such as
// are only reported, and only there; of what is spared it never says a word.
func TestQuiet(t *testing.T) {
	lab := newLab(t)
	kept := lab.OrphanLeader([]string{lab.Mark(lab.Live())}, lab.Sleep(900)...)
	for _, args := range [][]string{{"--quiet"}, {"--quiet", "--dry-run"}, {"--quiet", "--check"}, {"--quiet", "--verbose"}} {
		if res := lab.Run(Run{Args: args, Text: true, Status: 0}); res.Stdout+res.Stderr != "" {
			t.Errorf("%v: %q %q", args, res.Stdout, res.Stderr)
		}
	}
	orphan := lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(901)...)
	lab.Rules(strings.Replace(lab.DefaultRule(), "name: lab\n", "name: lab\n    action: report\n", 1))
	if res := lab.Run(Run{Args: []string{"--quiet"}, Text: true, Status: 0}); res.Stdout+res.Stderr != "" || !orphan.Running() {
		t.Errorf("action report: %q %q", res.Stdout, res.Stderr)
	}
	if res := lab.Run(Run{Args: []string{"--quiet", "--check"}, Text: true, Status: 1}); !strings.Contains(res.Stdout, itoa(orphan.PID)) {
		t.Errorf("action report, --check: %q", res.Stdout)
	}
	lab.Rules(lab.DefaultRule())
	res := lab.Run(Run{Args: []string{"--quiet"}, Text: true, Status: 0})
	if !strings.Contains(res.Stdout, itoa(orphan.PID)) || strings.Contains(res.Stdout, "\nspared") || strings.Contains(res.Stdout, " "+itoa(kept.PID)+" ") || res.Stderr != "" {
		t.Errorf("%q %q", res.Stdout, res.Stderr)
	}
}

// Guards that each process is one line, with its own age and memory in the
// document: a member that is like no other is there by its pid, four that are
// alike are a line of their number, and --verbose has each of them.
func TestVerboseShowsMembers(t *testing.T) {
	lab := newLab(t)
	alike := []Spec{{Argv: lab.Sleep(900)}, {Argv: lab.Sleep(900)}, {Argv: lab.Sleep(900)}, {Argv: lab.Sleep(900)}, {Argv: []string{"cat", lab.fifo().path}}}
	forker, below := lab.Forker(Spec{Env: []string{lab.Mark(lab.Dead())}, Adopted: true, Leader: true}, "once", alike...)
	lines := func(args ...string) (of []int, folded int) {
		of = make([]int, len(below)+1)
		res := lab.Run(Run{Args: append(args, "--dry-run"), Text: true, Status: 0})
		for line := range strings.Lines(res.Stdout) {
			fields := strings.Fields(line)
			for i, p := range append([]Proc{forker}, below...) {
				if len(fields) > 2 && fields[2] == itoa(p.PID) {
					of[i]++
				}
			}
			if strings.HasPrefix(line, "would stop ") && strings.Contains(line, " 4 × ") {
				folded++
			}
		}
		return of, folded
	}
	if plain, folded := lines(); !slices.Equal(plain, []int{1, 0, 0, 0, 0, 1}) || folded != 1 {
		t.Errorf("lines of the orphan and its members: %v, folded %d", plain, folded)
	}
	if verbose, folded := lines("--verbose"); !slices.Equal(verbose, []int{1, 1, 1, 1, 1, 1}) || folded != 0 {
		t.Errorf("--verbose: lines of the orphan and its members: %v, folded %d", verbose, folded)
	}
	res := lab.DryRun()
	for _, p := range below {
		if _, m := res.member(p); m == nil || m.RSSBytes == 0 || m.RSSBytes >= res.Doc.Orphans[0].Members[0].RSSBytes {
			t.Errorf("%s: %+v", p, m)
		}
	}
}

var ageAndSize = regexp.MustCompile(`(?m) +(?:\d+[dhms] ?)+ +[\d.]+ (?:B|[KMG]iB)`)

// Guards that a plan and its outcome can be laid side by side: the same lines in
// the same order with the same trees, also where a parent exits before its child,
// which then has another one.
func TestPlanAndOutcomeStandSideBySide(t *testing.T) {
	lab := newLab(t)
	slow := Spec{Argv: []string{lab.needProgram("perl"), "-e", `$SIG{TERM} = sub { select(undef, undef, undef, 0.4); exit }; sleep 900`, lab.Tag}}
	head, below := lab.Forker(Spec{Env: []string{lab.Mark(lab.Dead())}, Adopted: true, Leader: true}, "once", Spec{Argv: lab.Sleep(900)}, slow)
	lab.OrphanLeader([]string{lab.MarkHome()}, lab.Sleep(901)...)
	lab.OrphanLeader([]string{lab.Mark(lab.Live())}, lab.Sleep(902)...)
	plan := lab.Run(Run{Args: []string{"--dry-run"}, Text: true, Status: 0}).Stdout
	outcome := lab.Run(Run{Text: true, Status: 0}).Stdout
	want := strings.NewReplacer("would stop", "stopped   ", " would be stopped;", " stopped;").Replace(plan)
	if want, outcome = ageAndSize.ReplaceAllString(want, ""), ageAndSize.ReplaceAllString(outcome, ""); want != outcome {
		t.Errorf("planned:\n%s\nended:\n%s", want, outcome)
	}
	for _, p := range append(below, head) {
		if p.Running() || !strings.Contains(outcome, " "+itoa(p.PID)+" ") {
			t.Errorf("%s: %s", p, p.State())
		}
	}
}

// Colour is for a terminal, unless the environment or the flag says otherwise;
// JSON never has any.
func TestColour(t *testing.T) {
	lab := newLab(t)
	terminal := []string{"sh", "-c", `exec script -qec "$*" /dev/null`, "sh"}
	file := []string{"env"}
	if _, err := exec.LookPath("script"); err != nil {
		t.Skip("no script(1) to give the program a terminal")
	}
	for _, test := range []struct {
		name    string
		wrapper []string
		env     []string
		args    []string
		want    bool
	}{
		{"a file", file, nil, nil, false},
		{"a terminal", terminal, []string{"TERM=xterm"}, nil, true},
		{"dumb", terminal, []string{"TERM=dumb"}, nil, false},
		{"NO_COLOR", terminal, []string{"TERM=xterm", "NO_COLOR=1"}, nil, false},
		{"NO_COLOR empty", terminal, []string{"TERM=xterm", "NO_COLOR="}, nil, true},
		{"NO_COLOR and a force", file, []string{"NO_COLOR=1", "CLICOLOR_FORCE=1"}, nil, false},
		{"CLICOLOR_FORCE", file, []string{"CLICOLOR_FORCE=1"}, nil, true},
		{"CLICOLOR_FORCE=0", file, []string{"CLICOLOR_FORCE=0"}, nil, false},
		{"always", file, []string{"NO_COLOR=1", "TERM=dumb"}, []string{"--color", "always"}, true},
		{"never", terminal, []string{"TERM=xterm", "CLICOLOR_FORCE=1"}, []string{"--color", "never"}, false},
		{"json", file, []string{"CLICOLOR_FORCE=1"}, []string{"--color", "always", "--json"}, false},
	} {
		orphan := lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(900)...)
		res := lab.through(test.wrapper, Run{Args: test.args, Env: test.env, Text: true, Status: 0})
		if orphan.Running() || !strings.Contains(res.Stdout, "stopped") {
			t.Errorf("%s: %s, %q", test.name, orphan.State(), res.Stdout)
		}
		if got := strings.Contains(res.Stdout, "\x1b["); got != test.want {
			t.Errorf("%s: coloured %t: %q", test.name, got, res.Stdout)
		}
	}
}
