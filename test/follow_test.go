//go:build linux

package test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
)

// Whatever is still there and has not exited as a whole is a live parent.
func TestFollowedProcessRunsOrHasExited(t *testing.T) {
	lab := newLab(t)
	live, stopped := lab.Live(), lab.Live()
	lab.must(stopped.Signal(syscall.SIGSTOP))
	keeper, zombie := lab.Zombie()
	threads, tid := lab.Thread()
	kernelLike := lab.Start(Spec{Role: "retitle", Args: []string{""}, Argv: []string{"[kthreadd]"}, Leader: true})
	lab.Cases(
		orphan("follows what runs", "spared parent-running", lab.Mark(live)),
		orphan("follows what is stopped", "spared parent-running", lab.Mark(stopped)),
		orphan("follows a process without a command line", "spared parent-running", lab.Mark(kernelLike)),
		orphan("follows what has exited and was waited for", "goes follows", lab.Mark(lab.Dead())),
		orphan("follows a zombie that nobody waits for", "goes follows", lab.Mark(zombie)),
		orphan("follows a leader that has exited before its other threads", "spared parent-running", lab.Mark(lab.Role(nil, "threadleader"))),
		orphan("follows the number of a thread", "goes follows", lab.Mark(tid)),
		orphan("follows the process of that thread", "spared parent-running", lab.Mark(threads)),
		running("the one whose thread's number was followed", "unnamed", threads),
		running("the one that does not wait for its zombie", "unnamed", keeper),
	)
}

// Of a value that is no pid above 1 nothing follows: it is no marker, and beside
// another marker that one's test decides. The numbers are those of a dead process,
// so that whoever reads them generously stops what is to be spared.
func TestValueThatIsNoPIDIsAbsent(t *testing.T) {
	lab := newLab(t)
	dead := lab.Dead()
	forms := []string{
		"", "0", "1", "-1", "-2", "-%d", "+%d", " %d", "%d ", "\t%d", "%d\n", "0%d", "00%d", "%d.0", "%de0", "%d,%[1]d", "%d %[1]d",
		"%d@", "%d@x", "%d@0", "%d@-5", "%d@ 5", "%d@05", "%d@5@5", "@%d", "@", "0@5", "1@5", "4194305", "4294967297", "18446744073709551618",
		"99999999999999999999999999", "dontKillMe", "pid %d", "0x2a", "٣٣", "\xff%d",
	}
	var cases []Case
	for _, form := range forms {
		value := form
		if strings.Contains(form, "%") {
			value = fmt.Sprintf(form, dead)
		}
		cases = append(cases,
			orphan(fmt.Sprintf("the value %q alone", value), "unnamed", lab.Mark(value)),
			orphan(fmt.Sprintf("the value %q beside a home", value), "goes adopted", lab.Mark(value), lab.MarkHome()))
	}
	owner := lab.Live()
	child := lab.Start(Spec{Argv: lab.Sleep(900), Env: []string{lab.Mark(-1)}, Leader: true})
	lab.Cases(append(cases,
		running("the parent of one with -1", "unnamed", owner),
		running("a live process's own child with -1", "unnamed", child),
		orphan("a pid, to see that the form matters", "goes follows", lab.Mark(dead)))...)
}

func TestStartTokenSettlesIdentity(t *testing.T) {
	lab := newLab(t)
	live, dead := lab.Live(), lab.Dead()
	_, zombie := lab.Zombie()
	lab.Cases(
		orphan("PID@START of what runs", "spared parent-running", lab.Mark(fmt.Sprintf("%d@%d", live.PID, live.Start))),
		orphan("a live PID with an earlier START", "goes follows", lab.Mark(fmt.Sprintf("%d@%d", live.PID, live.Start-1))),
		orphan("a live PID with a later START", "goes follows", lab.Mark(fmt.Sprintf("%d@%d", live.PID, live.Start+1))),
		orphan("PID@START of a zombie", "goes follows", lab.Mark(fmt.Sprintf("%d@%d", zombie.PID, zombie.Start))),
		orphan("a dead PID with any START", "goes follows", lab.Mark(fmt.Sprintf("%d@%d", dead, live.Start))),
		orphan("a START that 64 bits cannot hold", "unnamed", lab.Mark(fmt.Sprintf("%d@18446744073709551616", dead))),
	)
}

// `MARK=$$ exec runner` makes a run its own parent.
func TestProcessThatFollowsItselfRuns(t *testing.T) {
	lab := newLab(t)
	script := func(value string, n int) Proc {
		own := `read -r s </proc/$$/stat; set -- ${s##*) }; `
		lab.OrphanLeader(nil, "sh", "-c", own+`export `+lab.Parent+`=`+value+`; exec sleep `+lab.SleepArg(n))
		return lab.Sleeper(n)
	}
	bare, exact, other := script("$$", 901), script("$$@${20}", 902), script("$$@1", 903)
	below := lab.Start(Spec{Argv: lab.Sleep(904), Env: []string{lab.Mark(bare)}, Adopted: true, Leader: true})
	lab.Cases(
		running("its own pid", "spared parent-running", bare),
		running("its own PID@START", "spared parent-running", exact),
		running("its own pid with another's START", "goes follows", other),
		running("what follows the one that follows itself", "spared parent-running", below),
	)
}

// A variable twice in one block is what no shell makes and some launchers do, and
// programs go by the first or by the last: all values must prove it.
func TestVariableTwiceInOneBlock(t *testing.T) {
	lab := newLab(t)
	live, dead, gone := lab.Mark(lab.Live()), lab.Mark(lab.Dead()), lab.Mark(lab.Dead())
	lab.Cases(
		orphan("live, then dead", "spared parent-running", live, dead),
		orphan("dead, then live", "spared parent-running", dead, live),
		orphan("dead, no pid, then live", "spared parent-running", dead, lab.Mark(""), live),
		orphan("dead twice", "goes follows", dead, gone),
		orphan("the same dead one twice", "goes follows", dead, dead),
		orphan("dead, then emptied", "spared unknown", dead, lab.Mark("")),
		orphan("no pid, then dead", "spared unknown", lab.Mark("x"), dead),
		orphan("dead, then no pid, and a home", "spared unknown", dead, lab.Mark("1"), lab.MarkHome()),
		orphan("a home, then another folder", "spared unknown", lab.MarkHome(), lab.HomeVar+"=/home/me"),
		orphan("a home, then emptied", "spared unknown", lab.MarkHome(), lab.HomeVar+"="),
		orphan("two homes", "goes adopted", lab.MarkHome(), lab.MarkHome()+"-b"),
		orphan("a home or not, and dead", "goes follows", lab.MarkHome(), lab.HomeVar+"=/home/me", dead),
		orphan("no pid twice", "unnamed", lab.Mark(""), lab.Mark("x")),
	)
}

// What may not be signalled runs all the same.
func TestOwnerOfAnotherUserIsAlive(t *testing.T) {
	lab := newLab(t)
	theirs := lab.Start(Spec{Argv: lab.Sleep(900), UID: nobody, Leader: true})
	mine := func(n int, value any) Proc {
		return lab.Start(Spec{Argv: lab.Sleep(n), Env: []string{lab.Mark(value)}, UID: nobody, Adopted: true, Leader: true})
	}
	root, dead, own := mine(901, lab.Live()), mine(902, lab.Dead()), mine(903, theirs)
	lab.CasesOf(Run{UID: nobody},
		running("follows root's process, swept by nobody", "spared parent-running", root),
		running("follows the sweeper's own user's", "spared parent-running", own),
		running("follows nothing any more", "goes follows", dead),
		orphan("root's orphan, swept by nobody", "unnamed", lab.Mark(lab.Dead())),
	)
	lab.Cases(orphan("root's, follows nobody's process", "spared parent-running", lab.Mark(theirs)))
}

// Where hidepid hides it a parent is not in the table, and runs.
func TestInvisibleOwnerIsAlive(t *testing.T) {
	for _, level := range []string{"1", "2"} {
		t.Run("hidepid="+level, func(t *testing.T) {
			lab := newLab(t)
			start := func(n int, env ...string) Proc {
				return lab.Start(Spec{Argv: lab.Sleep(n), Env: env, UID: nobody, Adopted: true, Leader: true})
			}
			live := lab.Live()
			follower := start(901, lab.Mark(live))
			exact := start(902, lab.Mark(fmt.Sprintf("%d@%d", live.PID, live.Start)))
			left, home := start(903, lab.Mark(lab.Dead())), start(904, lab.MarkHome())
			lab.CasesOf(Run{Via: lab.hiding(level)},
				running("follows what cannot be seen", "spared parent-running", follower),
				running("follows it by a START that cannot be seen", "spared unknown", exact),
				running("its parent cannot be seen", "spared unknown", home),
				running("follows nothing", "goes follows", left),
			)
		})
	}
}

// Guards what no table shows: where hidepid hides processes of the sweeper's own
// user as well, those that nobody may trace, a group is not signalled as such.
func TestInvisibleMemberOfAGroupIsSpared(t *testing.T) {
	for _, level := range []string{"2", "4"} {
		t.Run("hidepid="+level, func(t *testing.T) {
			lab := newLab(t)
			script := "(" + lab.Mark(lab.Live()) + " " + roleBinary(t) + " &); exec sleep " + lab.SleepArg(901)
			orphan := lab.Start(Spec{Role: "undumpable", Exe: "/bin/sh", Argv: []string{"sh", "-c", script}, Env: []string{lab.Mark(lab.Dead())}, UID: nobody, Adopted: true, Leader: true})
			var member Proc
			for _, pid := range pids() {
				if s, ok := readStat(pid); ok && s.PGID == orphan.PID && pid != orphan.PID && !s.Exited() {
					member = lab.list(pid, "the hidden member")
				}
			}
			lab.CasesOf(Run{Via: lab.hiding(level)}, running("leads a group with one that is hidden", "goes follows", orphan))
			if !member.Running() {
				t.Error("the hidden member was stopped")
			}
		})
	}
}

// hiding runs a command as nobody, who sees no other user's process.
func (l *Lab) hiding(level string) []string {
	l.needUser(nobody)
	return []string{"unshare", "-m", "sh", "-c",
		`mount -t proc -o hidepid=` + level + ` proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"`, "sh"}
}

func TestRecycledPID(t *testing.T) {
	lab := newSerialLab(t)
	first := lab.Live()
	exact := lab.OrphanLeader([]string{lab.Mark(fmt.Sprintf("%d@%d", first.PID, first.Start))}, lab.Sleep(901)...)
	bare := lab.OrphanLeader([]string{lab.Mark(first)}, lab.Sleep(902)...)
	lab.Kill(first)
	lab.aged(bare, 1) // of the same tick none is the younger
	stranger := lab.Recycle(first.PID, Spec{Argv: lab.Sleep(903), Leader: true})
	later := lab.OrphanLeader([]string{lab.Mark(stranger)}, lab.Sleep(904)...)
	res := lab.Cases(
		running("follows a number that a younger stranger has now", "spared possibly-recycled", bare),
		running("follows PID@START of the first holder", "goes follows", exact),
		running("follows the stranger", "spared parent-running", later),
		running("the stranger", "unnamed", stranger),
	)
	lab.mentions(res.spared(bare)[0].Detail, "alive, possibly recycled", itoa(first.PID))
	lab.Kill(stranger)
	lab.Stopped(lab.Sweep(), bare, Through("follows"))
}

// Those that follow one another within a tree are no reason to keep it; what an
// orphan follows below itself is.
func TestFollowedProcessInTheOwnTree(t *testing.T) {
	lab := newLab(t)
	head, below := lab.Forker(Spec{Env: []string{lab.Mark(lab.Dead())}, Adopted: true, Leader: true}, "once",
		Spec{Argv: lab.Sleep(901), Env: []string{lab.Mark(launcherPID)}, Leader: true},
		Spec{Argv: lab.Sleep(902), Leader: true})
	lab.OrphanLeader(nil, "sh", "-c", "sleep "+lab.SleepArg(903)+" & export "+lab.Parent+"=$!; exec sleep "+lab.SleepArg(904))
	owner, child := lab.Sleeper(904), lab.Sleeper(903)
	lab.Cases(
		running("follows nothing", "goes follows", head),
		running("its child, which follows it", "goes", below[0]),
		running("its child without a marker", "goes", below[1]),
		running("follows its own child", "spared parent-running|possibly-recycled", owner),
		running("that child", "unnamed", child),
	)
}

// Detached on purpose: what was adopted and follows a live owner stays, until that ends.
func TestDetachedStaysWithItsOwner(t *testing.T) {
	lab := newLab(t)
	owner := lab.Live()
	detached := lab.OrphanLeader([]string{lab.Mark(owner), lab.MarkHome()}, lab.Sleep(901)...)
	lab.Spared(lab.Sweep(), detached, "parent-running")
	lab.Kill(owner)
	lab.Stopped(lab.Sweep(), detached, Through("follows"))
}
