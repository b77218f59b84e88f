//go:build linux

package test

import "testing"

func TestSweepOfNothing(t *testing.T) {
	lab := newLab(t)
	unmarked := lab.OrphanLeader(nil, lab.Sleep(900)...)
	res := lab.Sweep()
	if res.Exit != 0 || len(res.Doc.Orphans) > 0 || len(res.Doc.Spared) > 0 {
		t.Errorf("status %d, %s", res.Exit, res.Stdout)
	}
	lab.Untouched(res, unmarked)
}

func TestOrphanOfDeadParentIsStopped(t *testing.T) {
	lab := newLab(t)
	live := lab.Live()
	orphan := lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(900)...)
	owned := lab.OrphanLeader([]string{lab.Mark(live)}, lab.Sleep(901)...)
	plan := lab.DryRun()
	lab.WouldStop(plan, orphan, Through("follows"))
	lab.Spared(plan, owned, "parent-running")
	res := lab.Sweep()
	lab.Stopped(res, orphan, By("group"), With("TERM"), Through("follows"))
	lab.Spared(res, owned, "parent-running")
	lab.Untouched(res, live)
	if res.Exit != 0 {
		t.Errorf("status %d", res.Exit)
	}
}

func TestSweepInsideANamespace(t *testing.T) {
	lab := newLab(t)
	ns := lab.Namespace(Spec{Argv: []string{initName}})
	orphan := ns.Start(Spec{Argv: lab.Sleep(900), Env: []string{lab.MarkHome()}, Adopted: true, Leader: true})
	lab.Stopped(ns.Sweep(), orphan, By("group"), Through("adopted"))
}
