//go:build linux

package test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Run is one call of the program.
type Run struct {
	Command string   // default: sweep
	Args    []string // after --rules, --grace, --confirm and --json, which are there unless given
	Env     []string
	UID     int
	Text    bool     // without --json
	Plain   bool     // without --grace and --confirm: the rules' own
	Via     []string // a command that runs it
	Status  any      // an int that is expected; nil: whatever the document says
	inside  *Namespace
}

// Result is what a call left.
type Result struct {
	Exit           int
	Doc            *Doc // nil without --json
	Stdout, Stderr string
	Args           []string
	Inner          bool // numbers are those of a nested namespace
}

// Rules are the lab's from here on; the text begins with "rules:" and may add
// other keys but version and adopters.
func (l *Lab) Rules(text string) {
	l.t.Helper()
	l.rules = l.File("rules.yaml", "version: 1\nadopters: ["+strings.Join(append(l.Adopters, initName), ", ")+"]\n"+text)
}

// DefaultRule is about whatever carries one of the lab's two markers.
func (l *Lab) DefaultRule() string {
	return fmt.Sprintf("rules:\n  - name: lab\n    marker: [%s, %s=<tmp>/lab-*]\n    orphan: [follows: %s, adopted]\n", l.Parent, l.HomeVar, l.Parent)
}

// Sweep runs a sweep by the lab's rules.
func (l *Lab) Sweep(args ...string) Result {
	l.t.Helper()
	return l.Run(Run{Args: args})
}

// DryRun runs a sweep that does nothing.
func (l *Lab) DryRun(args ...string) Result {
	l.t.Helper()
	return l.Run(Run{Args: append([]string{"--dry-run"}, args...)})
}

// Argv is the command line of a run, for a script.
func (l *Lab) Argv(r Run) []string {
	l.t.Helper()
	if r.Command == "" {
		r.Command = "sweep"
	}
	argv := []string{reaperBinary(l.t), r.Command}
	if r.Command != "sweep" {
		return append(argv, r.Args...)
	}
	if l.rules == "" {
		l.Rules(l.DefaultRule())
	}
	for _, flag := range [][2]string{{"--rules", l.rules}, {"--grace", "10s"}, {"--confirm", "10s"}} {
		if r.Plain && flag[0] != "--rules" {
			continue
		}
		if !slices.ContainsFunc(r.Args, func(a string) bool { return a == flag[0] || strings.HasPrefix(a, flag[0]+"=") }) {
			argv = append(argv, flag[:]...)
		}
	}
	if !r.Text {
		argv = append(argv, "--json")
	}
	return append(argv, r.Args...)
}

// Run calls the program, waits for it and checks what it says.
func (l *Lab) Run(r Run) Result {
	l.t.Helper()
	this, _ := l.launch(Spec{Argv: append(slices.Clone(r.Via), l.Argv(r)...), Env: append([]string{quickExit}, r.Env...), UID: r.UID, Leader: true})
	this.Out, this.Err = l.path("stdout"), l.path("stderr")
	exit := 0
	if r.inside != nil && r.inside.requests != nil {
		exit = r.inside.ask(request{this, true})
	} else {
		exit = l.finish(this)
	}
	res := l.Collect(this.Out, this.Err, exit, this.Argv[2:])
	res.Inner = r.inside != nil
	if r.Status != nil && r.Status != exit {
		l.t.Fatalf("status %d instead of %v: %s", exit, r.Status, res.Stderr)
	}
	if !r.Text && (r.Command == "" || r.Command == "sweep") {
		l.decode(&res)
	}
	return res
}

func (l *Lab) finish(this launch) int {
	l.t.Helper()
	child, err := this.start()
	l.must(err)
	slow := time.AfterFunc(2*patience, func() { child.Kill() })
	defer slow.Stop()
	state, err := child.Wait()
	l.must(err)
	return state.ExitCode()
}

// Collect reads what a run of the program wrote to files.
func (l *Lab) Collect(stdout, stderr string, exit int, args []string) Result {
	l.t.Helper()
	out, err := os.ReadFile(stdout)
	l.must(err)
	said, err := os.ReadFile(stderr)
	l.must(err)
	return Result{Exit: exit, Stdout: string(out), Stderr: string(said), Args: args}
}

func (l *Lab) decode(res *Result) {
	l.t.Helper()
	doc, err := decodeDoc([]byte(res.Stdout))
	if err != nil {
		l.t.Fatalf("status %d, %v\nstdout: %s\nstderr: %s", res.Exit, err, res.Stdout, res.Stderr)
	}
	res.Doc = doc
	bad := doc.complaints(res.Exit, res.Args)
	invalid := bySchema([]byte(res.Stdout))
	bad.unless(invalid == nil, "not by the schema: %v", invalid)
	for _, m := range doc.members() {
		ended := m.Outcome == "stopped" || m.Outcome == "vanished"
		now := Proc{PID: m.PID, Start: m.Start}
		bad.unless(!ended || res.Inner || !now.Running(), "%q of %d, which runs", m.Outcome, m.PID)
	}
	for _, pid := range l.dead {
		_, taken := readStat(pid)
		bad.unless(!taken, "the test is spoilt: dead pid %d was taken", pid)
	}
	if len(bad) > 0 {
		l.t.Errorf("the document:\n  %s\n%s", strings.Join(bad, "\n  "), res.Stdout)
	}
}
