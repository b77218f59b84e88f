//go:build linux

package test

import (
	"strings"
	"testing"
)

// In another pid namespace numbers mean something else: 30000 may run there and
// be free here. What lives there is named and left alone.
func TestOtherNamespacesAreSeenAndSpared(t *testing.T) {
	lab := newLab(t)
	home, dead := lab.MarkHome(), lab.Mark(lab.Dead())
	ns := lab.Namespace(Spec{Argv: []string{"/sbin/init"}, Env: []string{dead}})
	start := func(n int, adopted bool, env ...string) Proc {
		return ns.Start(Spec{Argv: lab.Sleep(n), Env: env, Adopted: adopted, Leader: true})
	}
	live := start(900, false)
	res := lab.Cases(
		running("its pid 1", "spared other-namespace", ns.Init),
		running("follows a number that runs inside", "spared other-namespace", start(901, true, lab.Mark(live.Inner))),
		running("follows a number that runs nowhere", "spared other-namespace", start(902, true, dead)),
		running("was adopted inside", "spared other-namespace", start(903, true, home)),
		running("was entered from here", "spared other-namespace", ns.Enter(Spec{Argv: lab.Sleep(904), Env: []string{dead}, Leader: true})),
		running("unmarked", "unnamed", live),
		orphan("the same marker here", "goes follows", dead))
	if n := res.Doc.Census.OtherNamespace; n < 6 {
		t.Errorf("%d processes counted in other namespaces", n)
	}
}

// A container that descends from an orphan goes with it, whatever the numbers in
// its markers mean inside. Its init is deaf to TERM from outside.
func TestContainerOfAnOrphanGoesWithIt(t *testing.T) {
	lab := newLab(t)
	lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, "sh", "-c", lab.shell(
		`unshare -pf --mount-proc sh -c 'SLEEP901 & `+lab.Parent+`=$! setsid SLEEP902 & env -u `+lab.Parent+` SLEEP903 & `+lab.Mark(lab.Live())+` setsid SLEEP905 & wait' & SLEEP904 & wait`))
	live, marked, unmarked, beside := lab.Sleeper(901), lab.Sleeper(902), lab.Sleeper(903), lab.Sleeper(904)
	init := lab.list(live.Stat().PPID, "")
	if namespaceOf(init.PID) == namespaceOf(1) || init.Inner != 1 {
		t.Fatalf("%s is no pid 1", init)
	}
	res := lab.CasesOf(Run{Args: []string{"--grace=500ms"}},
		running("the orphan", "goes follows", lab.list(beside.Stat().PPID, "")),
		running("the container's pid 1", "goes", init),
		running("followed inside", "goes", live),
		running("follows what runs inside", "goes", marked),
		running("has a number inside that runs here", "goes", lab.Sleeper(905)),
		running("unmarked inside", "goes", unmarked),
		running("outside of it", "goes", beside))
	if len(res.Doc.Orphans) != 1 {
		t.Errorf("%d trees", len(res.Doc.Orphans))
	}
}

// A container without an init: whatever is its pid 1, its children were born
// below it. A dead followed parent proves there as anywhere.
func TestSweepWithoutAnInit(t *testing.T) {
	lab := newLab(t)
	ns := lab.container(nil, "sh", "-c", lab.shell(
		lab.Parent+`=1 SLEEP901 & `+lab.MarkHome()+` SLEEP902 & (`+lab.MarkHome()+` SLEEP903 &); true & D=$!; wait $D; `+
			lab.Parent+`=$D SLEEP904 & `+lab.Parent+`=$$ `+lab.MarkHome()+` SLEEP905 & wait`))
	last := lab.Sleeper(905)
	res := ns.sweepCases(
		running("follows pid 1", "unnamed", lab.Sleeper(901)),
		running("a child of pid 1", "spared not-adopted", lab.Sleeper(902)),
		running("left to pid 1, in its session", "spared not-adopted", lab.Sleeper(903)),
		running("follows what has exited", "goes follows", lab.Sleeper(904)),
		running("follows pid 1, and a home", "spared not-adopted", last))
	if !ns.Init.Running() || res.Doc.PIDNamespace != "nested" {
		t.Errorf("pid 1 is %s, namespace %s", ns.Init.State(), res.Doc.PIDNamespace)
	}
}

// A procfs that shows processes alone is enough.
func TestProcessTableWithoutTheRest(t *testing.T) {
	lab := newLab(t)
	left := lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(901)...)
	live := lab.OrphanLeader([]string{lab.Mark(lab.Live())}, lab.Sleep(902)...)
	via := []string{"unshare", "-m", "sh", "-c", `mount -t proc -o subset=pid proc /proc && exec "$@"`, "sh"}
	res := lab.Run(Run{Via: via, Text: true, Status: 0})
	if left.Running() || !live.Running() || !strings.Contains(res.Stdout, itoa(left.PID)) {
		t.Errorf("%s, %s: %s", left.State(), live.State(), res.Stdout)
	}
}
