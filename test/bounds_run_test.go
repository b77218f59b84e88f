//go:build linux

package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// age is how long a process has run, as far as its start token tells.
func (p Proc) age() time.Duration {
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return 0
	}
	return time.Duration(now.Nano()) - time.Duration(p.Start)*10*time.Millisecond
}

// hoard is a process that has touched so many MiB.
func (l *Lab) hoard(n, mib int) string {
	return fmt.Sprintf(`perl -e 'vec($x, (%d << 20) - 1, 8) = 1; open F, ">", "%s"; sleep 900' %s`, mib, l.hoarded(n), l.SleepArg(n))
}

func (l *Lab) hoarded(n int) string { return filepath.Join(l.Dir, fmt.Sprintf("hoard-%d", n)) }

func (l *Lab) awaitHoards(numbers ...int) {
	l.t.Helper()
	for _, n := range numbers {
		l.eventually("the memory", func() bool { _, err := os.Stat(l.hoarded(n)); return err == nil })
	}
}

// A folder that is gone proves that nobody needs what works in it, if it is so for
// the process itself and for the sweep, and once it has had the time to make it.
func TestGoneFolder(t *testing.T) {
	lab := newLab(t)
	lab.Rules(fmt.Sprintf("rules:\n  - name: gone\n    marker: [%s]\n    orphan: [gone: %[1]s]\n"+
		"  - name: old\n    marker: [%s]\n    older_than: 5s\n    orphan: [follows: %[2]s]\n", lab.HomeVar, lab.Parent))
	dir := func(name string) string { return filepath.Join(lab.Dir, name) }
	for _, name := range []string{"here", "here/inner", "jail/here", "closed/inner", "bare"} {
		lab.must(os.MkdirAll(dir(name), 0o755))
	}
	lab.must(os.Symlink("here", dir("link")))
	lab.must(os.Symlink(dir("nowhere"), dir("dangling")))
	lab.must(os.Symlink("/here", dir("jail/link")))
	lab.must(os.Symlink("/proc/self/fd/99", dir("descriptor")))
	lab.must(os.WriteFile(dir("file"), nil, 0o644))
	lab.must(os.Chmod(dir("closed"), 0o700))
	home := func(value string) string { return lab.HomeVar + "=" + value }
	jailed := func(n int, path string) Proc {
		lab.needProgram("perl")
		lab.OrphanLeader([]string{home(path)}, "perl", "-e", `chroot $ARGV[0] or die; open F, ">", "/ready-$ARGV[1]"; sleep 900`, dir("jail"), lab.SleepArg(n))
		lab.eventually("the jail", func() bool { _, err := os.Stat(dir("jail/ready-" + lab.SleepArg(n))); return err == nil })
		return lab.Find("perl", "-e", `chroot $ARGV[0] or die; open F, ">", "/ready-$ARGV[1]"; sleep 900`, dir("jail"), lab.SleepArg(n))
	}
	hidden := func(n int, path string) Proc {
		script := fmt.Sprintf("mount -t tmpfs none '%s' && mkdir '%[1]s/own' && exec sleep %s", dir("bare"), lab.SleepArg(n))
		lab.OrphanLeader([]string{home(path)}, "unshare", "-m", "sh", "-c", script)
		return lab.Sleeper(n)
	}
	lab.must(os.Mkdir(dir("bare/outside"), 0o755))
	theirs := func(n int, path string) Proc {
		return lab.Start(Spec{Argv: lab.Sleep(n), Env: []string{home(path)}, UID: nobody, Adopted: true, Leader: true})
	}
	unreachable, reachable := theirs(910, dir("closed/inner")), theirs(911, dir("nowhere"))
	cases := []Case{
		orphan("a folder that exists", "spared undecided", home(dir("here"))),
		orphan("a folder that is missing", "goes gone", home(dir("nowhere"))),
		orphan("missing, below one that is missing", "goes gone", home(dir("nowhere/deeper"))),
		orphan("a link to a folder", "spared undecided", home(dir("link"))),
		orphan("a link to nothing", "goes gone", home(dir("dangling"))),
		orphan("below a file", "goes gone", home(dir("file/x"))),
		orphan("a file", "spared undecided", home(dir("file"))),
		orphan("two dots to what exists", "spared undecided", home(dir("here/inner/.."))),
		orphan("relative", "spared undecided", home("nowhere")),
		orphan("empty", "spared undecided", home("")),
		orphan("twice, once there", "spared undecided", home(dir("nowhere")), home(dir("here"))),
		orphan("a descriptor of its own", "spared undecided", home("/dev/fd/99")),
		orphan("the same in procfs", "spared undecided", home("/tmp/../proc/./self//fd/99/x")),
		orphan("a link to the same", "spared undecided", home(dir("descriptor"))),
		running("in a jail, missing there alone", "spared undecided", jailed(901, dir("here"))),
		running("in a jail, missing everywhere", "goes gone", jailed(906, dir("nowhere"))),
		running("in a jail, there alone", "spared undecided", jailed(902, "/here")),
		running("in a jail, by an absolute link", "spared undecided", jailed(903, "/link")),
		running("in a mount namespace, missing there alone", "spared undecided", hidden(904, dir("bare/outside"))),
		running("in a mount namespace, missing everywhere", "goes gone", hidden(907, dir("bare/none"))),
		running("in a mount namespace, there alone", "spared undecided", hidden(905, dir("bare/own"))),
		orphan("old enough for its rule", "goes follows", lab.Mark(lab.Dead())),
	}
	lab.startCases(cases)
	young := lab.DryRun()
	for _, c := range cases {
		if c.Proc.age() < 5*time.Second && len(young.spared(c.Proc)) != 1 {
			t.Errorf("%s: judged %s after its start: %s", c.What, c.Proc.age(), young.fate(c.Proc))
		}
	}
	lab.eventually("their age", func() bool {
		for _, c := range cases {
			if c.Proc.age() < 10*time.Second {
				return false
			}
		}
		return true
	})
	lab.CasesOf(Run{UID: nobody},
		running("a folder that the sweeper may not look up", "spared undecided", unreachable),
		running("the sweeper's own user's, missing", "goes gone", reachable))
	lab.Cases(cases...)
}

// The bound holds for all that a tree has, and no owner excuses it.
func TestTreeOverItsBound(t *testing.T) {
	lab := newLab(t)
	lab.needProgram("perl")
	lab.Rules(fmt.Sprintf("rules:\n  - name: big\n    marker: [%s]\n    orphan: [over: 50MiB, follows: %s]\n", lab.HomeVar, lab.Parent))
	live, dead := lab.Mark(lab.Live()), lab.Mark(lab.Dead())
	start := func(env string, text string) Proc {
		return lab.OrphanLeader([]string{lab.MarkHome(), env}, "sh", "-c", text+" & wait")
	}
	one := start(live, "env -u "+lab.HomeVar+" "+lab.hoard(901, 80))
	sum := start(live, "env -u "+lab.HomeVar+" "+lab.hoard(902, 35)+" & env -u "+lab.HomeVar+" "+lab.hoard(903, 35))
	under := start(live, "env -u "+lab.HomeVar+" "+lab.hoard(904, 20))
	small := start(dead, "env -u "+lab.HomeVar+" "+lab.hoard(905, 20))
	neither := start("A=1", lab.shell("SLEEP906"))
	lab.awaitHoards(901, 902, 903, 904, 905)
	res := lab.Cases(
		running("a tree with a large member", "goes over", one),
		running("a tree of two that are too much together", "goes over", sum),
		running("a tree under the bound whose owner runs", "spared parent-running", under),
		running("a tree under the bound without an owner", "goes follows", small),
		running("a tree under the bound that follows nobody", "spared undecided", neither))
	for p, want := range map[Proc]int{one: 2, sum: 3, small: 2} {
		if o, _ := res.member(p); o == nil || len(o.Members) != want {
			t.Errorf("%s: %d members expected: %s", p, want, res.Stdout)
		}
	}
	o, _ := res.member(one)
	lab.mentions(o.Why.Detail, "50 MiB")
}

// Age is asked of what is proven, and of nothing else.
func TestYoungProcessIsSparedByItsRule(t *testing.T) {
	lab := newLab(t)
	lab.Rules(fmt.Sprintf("rules:\n  - name: young\n    marker: [%s, %s]\n    older_than: 1d\n    orphan: [follows: %[1]s, adopted]\n", lab.Parent, lab.HomeVar))
	lab.Cases(
		orphan("follows nothing", "spared too-young", lab.Mark(lab.Dead())),
		orphan("was adopted", "spared too-young", lab.MarkHome()),
		orphan("follows what runs", "spared parent-running", lab.Mark(lab.Live())))
}

// What is reported is named with its identity and runs on, with all below it,
// for the supervisor that will take it over.
func TestReportLeavesItRunning(t *testing.T) {
	lab := newLab(t)
	lab.Rules(fmt.Sprintf("rules:\n  - name: adopt-me\n    command: [host-%s]\n    marker: [%s]\n    action: report\n    orphan: [follows: %[2]s]\n"+
		"  - name: rest\n    marker: [%[2]s]\n    orphan: [follows: %[2]s]\n", lab.Tag, lab.Parent))
	mark := lab.Mark(lab.Dead())
	host := Spec{Exe: "/bin/sh", Argv: []string{"/opt/host-" + lab.Tag, "-c", lab.shell("SLEEP901 & wait")}, Env: []string{mark}, Leader: true}
	head, below := lab.Forker(Spec{Env: []string{mark}, Adopted: true, Leader: true}, "once", host)
	host.Argv[2], host.Adopted = lab.shell("env -u "+lab.Parent+" SLEEP902 & wait"), true
	alone := lab.Start(host)
	inner, unmarked := lab.Sleeper(901), lab.Sleeper(902)
	res := lab.Sweep()
	lab.Stopped(res, head, Through("follows"))
	for _, p := range []Proc{below[0], alone} {
		lab.Ended(res, p, "reported", Through("follows"), With())
	}
	for _, p := range []Proc{below[0], alone, inner, unmarked} {
		if !p.Running() {
			t.Errorf("%s was ended: %s", p, res.fate(p))
		}
	}
	if res.Exit != 0 || res.Doc.Totals.Stopped != 1 {
		t.Errorf("status %d, %d stopped", res.Exit, res.Doc.Totals.Stopped)
	}
}

// Of several rules that match, one whose owner runs spares, else the first that
// proves an orphan decides what is done.
func TestSeveralRulesOnOneProcess(t *testing.T) {
	lab := newLab(t)
	other := "LAB_OTHER_" + lab.Tag
	lab.Rules(strings.NewReplacer("PARENT", lab.Parent, "OTHER", other, "HOME", lab.HomeVar).Replace(`rules:
  - {name: late, marker: [HOME], older_than: 1d, orphan: [adopted]}
  - {name: first, marker: [PARENT], orphan: [follows: PARENT]}
  - {name: second, marker: [OTHER], action: report, orphan: [follows: OTHER]}
`))
	mark := func(v any) string { return fmt.Sprintf("%s=%v", other, v) }
	live, dead := lab.Live(), lab.Dead()
	reported := orphan("proven by the last rule alone", "", mark(dead), lab.MarkHome())
	both := orphan("proven by two", "goes follows", lab.Mark(dead), mark(dead))
	cases := []Case{
		orphan("proven by the one, owned by the other", "spared parent-running", lab.Mark(dead), mark(live.PID)),
		orphan("owned by the one, proven by the other", "spared parent-running", lab.Mark(live), mark(dead)),
		orphan("too young for one, proven by another", "goes follows", lab.MarkHome(), lab.Mark(dead)),
		orphan("too young for one, owned by another", "spared parent-running", lab.MarkHome(), lab.Mark(live)),
		orphan("too young for the only one", "spared too-young", lab.MarkHome()),
		both,
	}
	one := []Case{reported}
	lab.startCases(one)
	res := lab.Cases(cases...)
	lab.Ended(res, one[0].Proc, "reported", With())
	for _, o := range res.Doc.Orphans {
		if want := map[string]string{"stop": "first", "report": "second"}[o.Action]; o.Rule != want {
			t.Errorf("%d: rule %s, action %s", o.PID, o.Rule, o.Action)
		}
	}
	if !one[0].Proc.Running() {
		t.Error("what was to be reported was ended")
	}
}
