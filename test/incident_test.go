//go:build linux

package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// The incident: runs were killed before their clean-up code, and left daemons,
// hosts with workers, and agents by the hundred, beside a live run of the same
// programs. At real size; the programs are cat and sh, which take the place of
// node and note what reaches them.

// incident is the machine of that day.
type incident struct {
	*Lab
	dir  string
	spec Spec // how all of it is started

	left      []Proc // all that the sweep is for, trees included
	orphans   []Proc // those of them that the rule matches
	bystander []Proc // must not notice
	spared    map[Proc]string
	untouched []Proc // bystanders that the rule does not match
}

const incidentRule = `rules:
  - name: roost-tests
    command: [daemon/main.ts, host/main.ts, stress/agent.ts]
    marker: [%s, HOME=<tmp>/%s-*]
    orphan: [follows: %s, adopted]
protect: [mine/daemon/main.ts]
`

func newIncident(t *testing.T, spec Spec) *incident {
	lab := newLab(t)
	in := &incident{Lab: lab, dir: lab.Dir, spec: spec, spared: map[Proc]string{}}
	lab.Rules(fmt.Sprintf(incidentRule, lab.Parent, lab.Tag, lab.Parent))
	never := lab.fifo().path // what opens it to read waits for ever
	for _, name := range []string{"daemon/main.ts", "stress/agent.ts", "dist/daemon/main.js", "mine/daemon/main.ts", "child"} {
		lab.must(linkInto(in.dir, name, never))
	}
	lab.must(linkInto(in.dir, "host/main.ts", lab.File("host", "setsid sh "+in.dir+"/worker & wait\n")))
	lab.must(linkInto(in.dir, "worker", lab.File("worker", "cat "+in.dir+"/child & wait\n")))
	return in
}

// linkInto gives a file another name below a folder.
func linkInto(dir, name, to string) error {
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.Symlink(to, path)
}

// node is a process that shows as a node program.
func (in *incident) node(exe, script string, env ...string) Spec {
	s := in.spec
	path, err := exec.LookPath(exe)
	in.must(err)
	s.Exe, s.Argv, s.Env, s.Leader = path, []string{"node", filepath.Join(in.dir, script)}, env, script != "stress/agent.ts"
	return s
}

// run starts a run with 2 daemons, 5 hosts and 5 agents. Every other process is
// marked by its temporary HOME alone.
func (in *incident) run(marked bool) (run Proc, all, hosts []Proc) {
	var specs []Spec
	for i, script := range strings.Fields(strings.Repeat("daemon/main.ts ", 2) + strings.Repeat("host/main.ts ", 5) + strings.Repeat("stress/agent.ts ", 5)) {
		exe, env := "cat", []string(nil)
		if script == "host/main.ts" {
			exe = "sh"
		}
		if marked {
			env = []string{in.Mark(launcherPID)}
		}
		if marked && i%2 == 1 {
			env = []string{fmt.Sprintf("HOME=/tmp/%s-%d", in.Tag, i)}
		}
		specs = append(specs, in.node(exe, script, env...))
	}
	run, all = in.Forker(Spec{Leader: true}, "once", specs...)
	return run, all, all[2:7]
}

// below waits for each host's worker and the worker's child.
func (in *incident) below(hosts []Proc) []Proc {
	var found []Proc
	in.eventually("workers with their children", func() bool {
		found = nil
		children := map[int][]int{}
		for _, pid := range pids() {
			if s, ok := readStat(pid); ok {
				children[s.PPID] = append(children[s.PPID], pid)
			}
		}
		for _, host := range hosts {
			for _, worker := range children[host.PID] {
				for _, child := range children[worker] {
					if slices.Equal(readArgs(child), []string{"cat", in.dir + "/child"}) {
						found = append(found, in.list(worker, "worker"), in.list(child, "worker's child"))
					}
				}
			}
		}
		return len(found) == 2*len(hosts)
	})
	return found
}

// happen starts everything and kills the runs.
func (in *incident) happen(runs int) {
	var hosts []Proc
	for range runs {
		run, all, its := in.run(true)
		in.left, hosts = append(in.left, all...), append(hosts, its...)
		in.Kill(run)
	}
	in.orphans = slices.Clone(in.left)
	in.left = append(in.left, in.below(hosts)...)
	for range 3 {
		_, live, its := in.run(true)
		for i, p := range live {
			in.spared[p] = [2]string{"parent-running", "not-adopted"}[i%2]
		}
		in.untouched = append(in.untouched, in.below(its)...)
		run, unmarked, its := in.run(false)
		in.Kill(run)
		in.untouched = append(in.untouched, append(unmarked, in.below(its)...)...)
	}
	in.mine()
	in.bystander = slices.Clone(in.untouched)
	for p := range in.spared {
		in.bystander = append(in.bystander, p)
	}
}

// mine is the user's own daemon, with the markers of a run that has ended: one
// that no command matches and one that is protected by name.
func (in *incident) mine() {
	stale := []string{in.Mark(in.Dead()), "HOME=/tmp/" + in.Tag + "-mine"}
	own := in.node("cat", "dist/daemon/main.js", stale...)
	named := in.node("cat", "mine/daemon/main.ts", stale...)
	own.Adopted, named.Adopted = true, true
	in.untouched = append(in.untouched, in.Start(own))
	in.spared[in.Start(named)] = "protected"
}

// names demands that the document holds exactly what was left, and what is
// spared with its reason.
func (in *incident) names(res Result, outcome string) {
	in.t.Helper()
	var bad complaints
	for _, p := range in.left {
		_, m := res.member(p)
		bad.unless(m != nil && m.Outcome == outcome, "%s is not %s: %s", p, outcome, res.fate(p))
	}
	bad.unless(len(res.Doc.members()) == len(in.left), "%d members instead of %d", len(res.Doc.members()), len(in.left))
	bad.unless(len(res.Doc.Orphans) == len(in.orphans), "%d orphans instead of %d", len(res.Doc.Orphans), len(in.orphans))
	in.spares(res, &bad)
	in.complain(bad)
}

func (in *incident) spares(res Result, bad *complaints) {
	for p, reason := range in.spared {
		list := res.spared(p)
		bad.unless(len(list) == 1 && list[0].Reason == reason, "%s is not spared as %s: %s", p, reason, res.fate(p))
	}
	bad.unless(len(res.Doc.Spared) == len(in.spared), "%d spared instead of %d", len(res.Doc.Spared), len(in.spared))
	bad.unless(len(res.Doc.LeftBehind) == 0, "left behind: %v", res.Doc.LeftBehind)
}

func (in *incident) complain(bad complaints) {
	in.t.Helper()
	if len(bad) > 0 {
		in.t.Errorf("%d complaints, the first:\n  %s", len(bad), strings.Join(bad[:min(10, len(bad))], "\n  "))
	}
}

// swept demands of each that was left that it has exited by these signals.
func (in *incident) swept(res Result, signals ...string) {
	in.t.Helper()
	var bad complaints
	for _, p := range in.left {
		_, m := res.member(p)
		bad.unless(!p.Running(), "%s runs", p)
		bad.unless(m != nil && slices.Equal(m.Signals, signals) && m.TookMS != nil, "%s: %s", p, res.fate(p))
	}
	in.complain(bad)
	again := in.Sweep()
	if len(again.Doc.Orphans) > 0 || again.Exit != 0 {
		in.t.Errorf("a second sweep finds %d orphans, status %d", len(again.Doc.Orphans), again.Exit)
	}
	var spared complaints
	in.spares(again, &spared)
	in.complain(spared)
	in.Unsignalled(in.bystander...)
}

// Guards the whole: 660 processes of killed runs are stopped by SIGTERM alone
// and within one grace, and nothing else on the machine notices.
func TestIncident(t *testing.T) {
	in := newIncident(t, Spec{Notes: true})
	in.happen(30)
	if len(in.left) != 660 {
		t.Fatalf("%d processes were left", len(in.left))
	}
	plan := in.DryRun()
	in.names(plan, "would-stop")
	in.onOneScreen(plan)
	in.Unsignalled(in.left...)
	in.Unsignalled(in.bystander...)
	res := in.Sweep("--grace", "60s")
	in.names(res, "stopped")
	if res.Exit != 0 || res.Doc.Totals.Stopped != 660 {
		t.Errorf("status %d, %+v", res.Exit, res.Doc.Totals)
	}
	in.swept(res, "TERM")
}

// onOneScreen demands of the text that it fits 80 columns and 24 lines, and counts
// every process.
func (in *incident) onOneScreen(plan Result) {
	in.t.Helper()
	text := in.Run(Run{Args: []string{"--dry-run"}, Env: []string{"COLUMNS=80"}, Text: true, Status: 0}).Stdout
	lines, counted := strings.Split(strings.TrimSuffix(text, "\n"), "\n"), 0
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, "would stop "); ok {
			n, times := 0, ""
			if fmt.Sscan(rest, &n, &times); times != "×" {
				n = 1
			}
			counted += n
		}
		if wide := utf8.RuneCountInString(line); wide > 80 {
			in.t.Errorf("%d columns: %s", wide, line)
		}
	}
	if len(lines) > 24 || counted != len(in.left) || !strings.Contains(text, fmt.Sprintf("\n%d orphans, %d processes, ", len(plan.Doc.Orphans), len(in.left))) {
		in.t.Errorf("%d lines, %d processes:\n%s", len(lines), counted, text)
	}
}

// Guards that the grace is one for all: deaf to SIGTERM, all 660 wait for the
// same moment. One after the other, the first and the last would lie 659 graces
// apart.
func TestIncidentDeaf(t *testing.T) {
	in := newIncident(t, Spec{Deaf: true})
	in.happen(30)
	grace := 5 * time.Second
	res := in.Sweep("--grace", grace.String(), "--confirm", "60s")
	in.names(res, "stopped")
	in.swept(res, "TERM", "KILL")
	first, last := in.span(res)
	if first < grace || last-first >= grace {
		t.Errorf("exits from %s to %s after SIGTERM, with a grace of %s", first, last, grace)
	}
}

// span is the shortest and the longest time from SIGTERM to an exit.
func (in *incident) span(res Result) (first, last time.Duration) {
	var all []time.Duration
	for _, m := range res.Doc.members() {
		if m.TookMS != nil {
			all = append(all, time.Duration(*m.TookMS*float64(time.Millisecond)))
		}
	}
	if len(all) == 0 {
		in.t.Fatal("no process has a time")
	}
	return slices.Min(all), slices.Max(all)
}
