//go:build linux

package test

import (
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

// What bounds a sweep: signals to itself, another sweep, its flags and the rules'
// own times.

// Guards what a sweep leaves when it is told to end: it says what it signalled,
// and nothing follows.
func TestInterruptedDuringGrace(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			lab := newLab(t)
			held, termed, release := lab.Held(Spec{Env: lab.deadMark(), Leader: true, Adopted: true})
			willing := lab.OrphanLeader(lab.deadMark(), lab.Sleep(900)...)
			stays := lab.Start(Spec{Argv: lab.Sleep(901), Env: lab.deadMark(), Deaf: true, Leader: true, Adopted: true})
			sweep, finish := lab.sweeping("--grace", "1h")
			termed()
			lab.AwaitExit(willing)
			lab.eventually("SIGTERM", func() bool { return slices.Contains(noted(stays), "SIGTERM") })
			lab.must(sweep.Signal(signal))
			res := finish()
			lab.Stopped(res, willing, With("TERM"))
			for _, p := range []Proc{held, stays} {
				lab.Ended(res, p, "stop-unconfirmed", With("TERM"), Saying("interrupted"))
				if !p.Running() {
					t.Errorf("%s: %s", p, p.State())
				}
			}
			if res.Exit != 130 {
				t.Errorf("status %d", res.Exit)
			}
			release()
			lab.AwaitExit(held)
		})
	}
}

// Guards two sweeps of the same: what the one kills the other one sees exit, and
// neither stops the other.
func TestTwoSweepsAtOnce(t *testing.T) {
	lab := newLab(t)
	mark := lab.deadMark()
	deaf := lab.OrphanRole(mark, "deaf")
	held, termed, _ := lab.Held(Spec{Env: mark, Leader: true, Adopted: true})
	_, finish := lab.sweeping("--grace", "1h")
	termed()
	second := lab.Sweep("--grace", "1s")
	first := finish()
	lab.allStopped(first, []Proc{deaf, held}, With("TERM"))
	lab.allStopped(second, []Proc{deaf, held}, With("TERM", "KILL"))
	for _, res := range []Result{first, second} {
		if res.Exit != 0 || res.Stderr != "" {
			t.Errorf("status %d, %s", res.Exit, res.Stderr)
		}
	}
}

// Guards --max: more orphans than that, and none is signalled; trees count once.
func TestMaxCountsOrphans(t *testing.T) {
	lab := newLab(t)
	spec := Spec{Env: lab.deadMark(), Leader: true, Adopted: true, Notes: true}
	tree := spec
	tree.Argv = []string{"sh", "-c", fmt.Sprintf("sleep %s & sleep %s & wait", lab.SleepArg(900), lab.SleepArg(901))}
	all := []Proc{lab.Start(tree)}
	all = append(all, lab.sleepers(900, 901)...)
	spec.Argv = lab.Sleep(902)
	all = append(all, lab.Start(spec))
	res := lab.Run(Run{Args: []string{"--max", "1"}, Status: 3})
	lab.Unsignalled(all...)
	for _, p := range all {
		if res.Doc.Refused == "" || !p.Running() {
			t.Errorf("%q, %s", res.Doc.Refused, res.fate(p))
		}
	}
	for _, plan := range []struct {
		args   []string
		status int
	}{{[]string{"--dry-run"}, 0}, {[]string{"--check"}, 1}} {
		said := lab.Run(Run{Args: append(plan.args, "--max", "1"), Text: true, Status: plan.status}).Stdout
		lab.mentions(said, "2 orphans are more than --max 1: nothing would be stopped\n", "2 orphans, 4 processes: nothing would be stopped\n")
	}
	lab.mentions(lab.Run(Run{Args: []string{"--dry-run", "--max", "2"}, Text: true, Status: 0}).Stdout, " would be stopped")
	lab.allStopped(lab.Run(Run{Args: []string{"--max", "2"}, Status: 0}), all, With("TERM"))
}

// twoGraces are two rules that differ in their times, quick and patient.
func (l *Lab) twoGraces(quick, patient string) {
	l.t.Helper()
	text := "rules:\n"
	for _, r := range [][2]string{{"quick", quick}, {"patient", patient}} {
		text += fmt.Sprintf("  - {name: %s, marker: [%s_%s], orphan: [follows: %s_%s], stop: %s}\n", r[0], l.Parent, r[0], l.Parent, r[0], r[1])
	}
	l.Rules(text)
}

// Guards that each rule's own grace holds for its trees, and the flag for all.
func TestGraceOfEachRule(t *testing.T) {
	lab := newLab(t)
	lab.twoGraces("{grace: 300ms}", "{grace: 60s}")
	start := func() (quick, patient Proc) {
		dead := lab.Dead()
		quick = lab.OrphanRole([]string{fmt.Sprintf("%s_quick=%d", lab.Parent, dead)}, "slow", "1500")
		patient = lab.OrphanRole([]string{fmt.Sprintf("%s_patient=%d", lab.Parent, dead)}, "slow", "1500")
		return quick, patient
	}
	quick, patient := start()
	res := lab.Run(Run{Plain: true, Status: 0})
	lab.Stopped(res, quick, With("TERM", "KILL"), AtLeast(300*time.Millisecond))
	lab.Stopped(res, patient, With("TERM"), AtLeast(1500*time.Millisecond))
	quick, patient = start()
	res = lab.Run(Run{Plain: true, Args: []string{"--grace", "60s"}, Status: 0})
	lab.allStopped(res, []Proc{quick, patient}, With("TERM"), AtLeast(1500*time.Millisecond))
}

// Guards the same of the time that is waited after SIGKILL.
func TestConfirmOfEachRule(t *testing.T) {
	lab := newLab(t)
	lab.twoGraces("{grace: 100ms, confirm: 200ms}", "{grace: 100ms, confirm: 400ms}")
	dead := lab.Dead()
	quick := lab.OrphanLeader([]string{fmt.Sprintf("%s_quick=%d", lab.Parent, dead)}, lab.Sleep(900)...)
	patient := lab.OrphanLeader([]string{fmt.Sprintf("%s_patient=%d", lab.Parent, dead)}, lab.Sleep(901)...)
	freezer := lab.Freezer()
	if !freezer.V1 {
		t.Skip("this cgroup freezer lets SIGKILL through")
	}
	freezer.Freeze(quick, patient)
	res := lab.Run(Run{Plain: true, Status: 3})
	lab.Ended(res, quick, "stop-unconfirmed", Saying("200ms after SIGKILL"))
	lab.Ended(res, patient, "stop-unconfirmed", Saying("400ms after SIGKILL"))
	res = lab.Run(Run{Plain: true, Args: []string{"--confirm", "300ms"}, Status: 3})
	for _, p := range []Proc{quick, patient} {
		lab.Ended(res, p, "stop-unconfirmed", Saying("300ms after SIGKILL"))
	}
}

// Guards the action report: named with its identity, and left running with all
// below it, while an orphan that is to be stopped is.
func TestReportLeavesRunning(t *testing.T) {
	lab := newLab(t)
	lab.Rules(fmt.Sprintf("rules:\n  - {name: take-over, command: [sh], marker: [%s], orphan: [follows: %s], action: report}\n", lab.Parent, lab.Parent) +
		fmt.Sprintf("  - {name: rest, marker: [%s], orphan: [follows: %s]}\n", lab.Parent, lab.Parent))
	text := fmt.Sprintf("env -i sleep %s & wait", lab.SleepArg(900))
	kept := lab.Start(Spec{Argv: []string{"sh", "-c", text}, Env: lab.deadMark(), Leader: true, Adopted: true, Notes: true})
	below := lab.Sleeper(900)
	stopped := lab.OrphanLeader(lab.deadMark(), lab.Sleep(901)...)
	res := lab.Run(Run{Status: 0})
	lab.Ended(res, kept, "reported", With())
	lab.Ended(res, below, "reported", With())
	lab.Unsignalled(kept, below)
	lab.Stopped(res, stopped, With("TERM"))
	if o, _ := res.member(kept); o == nil || o.Action != "report" || o.PID != kept.PID || o.Start != kept.Start {
		t.Errorf("%s", res.Stdout)
	}
}

// Guards the default times of a rules file, which a rule's own go before.
func TestStopDefaultsOfTheFile(t *testing.T) {
	lab := newLab(t)
	lab.Rules(lab.DefaultRule() + "stop: {grace: 60s}\n")
	slow := lab.OrphanRole(lab.deadMark(), "slow", "3000")
	lab.Stopped(lab.Run(Run{Plain: true, Status: 0}), slow, With("TERM"), AtLeast(3*time.Second))
}
