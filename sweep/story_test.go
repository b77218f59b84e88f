package sweep_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"reaper/match"
	"reaper/sweep"
)

const followsMark = "rules: [{name: r, marker: [MARK], orphan: [follows: MARK]}]\n"

// story is a script for the kernel and what a sweep must make of it.
type story struct {
	name    string
	rules   string // default: followsMark
	dry     bool
	options func(*sweep.Options)
	world   func(k *kernel)
	signals string // as they were sent, since the first one; several at a time are separated by commas
	members string // every process of every tree
	spared  string
	says    []string // stands in some detail of the report
	exit    int
	err     error
}

// played is what a sweep left.
type played struct {
	k      *kernel
	report *sweep.Report
	err    error
	took   time.Duration
	grace  time.Duration // the shortest that any rule asks for
}

// play runs one sweep in a bubble of its own.
func play(t *testing.T, s story) played {
	t.Helper()
	rules, err := match.Load("rules.yaml", []byte("version: 1\n"+or(s.rules, followsMark)))
	if err != nil {
		t.Fatal(err)
	}
	o := sweep.Options{Rules: rules, Deadline: 500 * time.Millisecond, Version: "test"}
	if s.options != nil {
		s.options(&o)
	}
	out := played{grace: time.Hour}
	for _, r := range rules.Rules {
		out.grace = min(out.grace, r.Stop.Grace)
	}
	if o.Grace != nil {
		out.grace = *o.Grace
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		k := newKernel()
		k.cancel = cancel
		s.world(k)
		out.k = k
		if s.dry {
			out.report, out.err = sweep.DryRun(ctx, k, o)
		} else {
			out.report, out.err = sweep.Stop(ctx, k, o)
		}
		out.took = k.now()
	})
	return out
}

// tell plays each story and compares.
func tell(t *testing.T, stories []story) {
	t.Helper()
	for _, s := range stories {
		t.Run(s.name, func(t *testing.T) {
			got := play(t, s)
			if s.err != nil {
				if !errors.Is(got.err, s.err) || len(got.k.calls) > 0 {
					t.Errorf("error is %v after %d signals, want %v after none", got.err, len(got.k.calls), s.err)
				}
				return
			}
			if got.err != nil {
				t.Fatal(got.err)
			}
			if diff := cmp.Diff(lines(s.signals), got.k.sent()); diff != "" {
				t.Errorf("signals (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(lines(s.members), members(got.report)); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(lines(s.spared), spared(got.report)); diff != "" {
				t.Errorf("spared (-want +got):\n%s", diff)
			}
			if got.report.Exit != s.exit {
				t.Errorf("exit status %d, want %d", got.report.Exit, s.exit)
			}
			for _, text := range s.says {
				if !strings.Contains(details(got.report), text) {
					t.Errorf("nothing says %q in:\n%s", text, details(got.report))
				}
			}
			for _, problem := range got.problems() {
				t.Error(problem)
			}
		})
	}
}

// lines splits at line ends and commas.
func lines(s string) []string {
	out := []string{}
	for _, line := range strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == ',' }) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// sent lists the signal calls, with times since the first one to 10 ms.
func (k *kernel) sent() []string {
	out := []string{}
	for _, c := range k.calls {
		at := (c.at - k.calls[0].at).Round(10 * time.Millisecond)
		line := fmt.Sprintf("%v %s %d", at, sigName(c.sig), c.pid)
		if c.group != 0 {
			line = fmt.Sprintf("%v %s group %d", at, sigName(c.sig), c.group)
		}
		if c.leader {
			line += " by its leader"
		}
		if c.failed != nil {
			line += " failed"
		}
		out = append(out, line)
	}
	return out
}

func members(r *sweep.Report) []string {
	out := []string{}
	for _, o := range r.Orphans {
		for _, m := range o.Members {
			line := fmt.Sprintf("%d %s", m.PID, m.Outcome)
			if len(m.Signals) > 0 {
				line += " " + strings.Join(m.Signals, "+")
			}
			out = append(out, line)
		}
	}
	return out
}

func spared(r *sweep.Report) []string {
	out := []string{}
	for _, s := range r.Spared {
		out = append(out, fmt.Sprintf("%d %s", s.PID, s.Reason))
	}
	return out
}

func details(r *sweep.Report) string {
	var b strings.Builder
	for _, o := range r.Orphans {
		fmt.Fprintf(&b, "%d: %s\n", o.PID, o.Why.Detail)
		for _, m := range o.Members {
			fmt.Fprintf(&b, "%d: %s\n", m.PID, m.Detail)
		}
	}
	for _, s := range r.Spared {
		fmt.Fprintf(&b, "%d: %s\n", s.PID, s.Detail)
	}
	for _, l := range r.LeftBehind {
		fmt.Fprintf(&b, "left %d: %s %s\n", l.PID, l.Reason, l.Detail)
	}
	b.WriteString(r.Refused)
	return b.String()
}

// orphan is a process that follows a dead one.
func orphan(pid int) process {
	return process{pid: pid, env: []string{fmt.Sprintf("MARK=%d", dead)}}
}

// with changes a process in one expression.
func with(p process, changes ...func(*process)) process {
	for _, change := range changes {
		change(&p)
	}
	return p
}

func onTerm(r reaction) func(*process)  { return func(p *process) { p.term = r } }
func onKill(r reaction) func(*process)  { return func(p *process) { p.kill = r } }
func onDeath(r reaction) func(*process) { return func(p *process) { p.death = r } }
func child(of int) func(*process)       { return func(p *process) { p.ppid = of } }
func inGroup(pgid int) func(*process)   { return func(p *process) { p.pgid = pgid } }
func unmarked(p *process)               { p.env = []string{} }
func marked(pid int) func(*process) {
	return func(p *process) { p.env = []string{fmt.Sprintf("MARK=%d", pid)} }
}

// puts lets the world hold these processes and nothing happen by itself.
func puts(procs ...process) func(*kernel) {
	return func(k *kernel) {
		for _, p := range procs {
			k.spawn(p)
		}
	}
}

// then adds what the script does to the processes.
func then(world func(*kernel), more func(*kernel)) func(*kernel) {
	return func(k *kernel) {
		world(k)
		more(k)
	}
}

func d(s time.Duration) *time.Duration { return &s }
