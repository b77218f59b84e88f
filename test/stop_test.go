//go:build linux

package test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// How one process is stopped, and what is said of it.

// sweeping is a sweep that runs beside the test; finish waits for it.
func (l *Lab) sweeping(args ...string) (sweep *os.Process, finish func() Result) {
	l.t.Helper()
	sweep, ended := l.begin(Run{Args: args})
	return sweep, func() Result {
		l.t.Helper()
		res := ended()
		l.decode(&res)
		return res
	}
}

// AtLeast demands that the exit came no earlier than this after the first signal.
func AtLeast(d time.Duration) How {
	return func(_ *Orphan, m *Member) string {
		if m.TookMS == nil {
			return "no took_ms"
		}
		return unless(*m.TookMS >= float64(d)/float64(time.Millisecond), "took %g ms instead of %s", *m.TookMS, d)
	}
}

// Saying demands all of these in a member's detail.
func Saying(parts ...string) How {
	return func(_ *Orphan, m *Member) string {
		for _, part := range parts {
			if !strings.Contains(m.Detail, part) {
				return fmt.Sprintf("%q is not in %q", part, m.Detail)
			}
		}
		return ""
	}
}

// Guards that grace comes before SIGKILL, and that SIGKILL comes.
func TestIgnoresTERM(t *testing.T) {
	lab := newLab(t)
	deaf := lab.OrphanRole(lab.deadMark(), "deaf")
	spins := lab.OrphanLeader(lab.deadMark(), "sh", "-c", `trap "" TERM; while :; do :; done`)
	willing := lab.OrphanLeader(lab.deadMark(), lab.Sleep(900)...)
	lab.eventually("deaf", func() bool { return signalSet(spins.PID, "SigIgn")&signalBit(syscall.SIGTERM) != 0 })
	res := lab.Run(Run{Args: []string{"--grace", "700ms"}, Status: 0})
	lab.allStopped(res, []Proc{deaf, spins}, With("TERM", "KILL"), AtLeast(700*time.Millisecond))
	lab.Stopped(res, willing, With("TERM"))
}

// Guards those that take their time: the wait ends with their exit, not before.
func TestTakesItsTime(t *testing.T) {
	lab := newLab(t)
	slow := lab.OrphanRole(lab.deadMark(), "slow", "600")
	spins := lab.OrphanLeader(lab.deadMark(), "sh", "-c", "while :; do :; done")
	res := lab.Run(Run{Args: []string{"--grace", "60s"}, Status: 0})
	lab.Stopped(res, slow, With("TERM"), AtLeast(600*time.Millisecond))
	lab.Stopped(res, spins, With("TERM"))
}

// Guards a grace of nothing: it is asked and killed.
func TestNoGrace(t *testing.T) {
	lab := newLab(t)
	deaf := lab.OrphanRole(lab.deadMark(), "deaf")
	lab.Stopped(lab.Run(Run{Args: []string{"--grace", "0s"}, Status: 0}), deaf, With("TERM", "KILL"))
}

// Guards stopped processes: they are continued after SIGTERM, so that their
// handlers run.
func TestStoppedIsContinued(t *testing.T) {
	lab := newLab(t)
	held, termed, release := lab.Held(Spec{Env: lab.deadMark(), Leader: true, Adopted: true})
	other := lab.OrphanLeader(lab.deadMark(), lab.Sleep(900)...)
	release() // it may exit once it was told
	lab.must(held.Signal(syscall.SIGSTOP))
	lab.eventually("stopped", func() bool { return held.Stat().State == 'T' })
	res := lab.Run(Run{Args: []string{"--grace", "60s"}, Status: 0})
	lab.Stopped(res, held, With("TERM", "CONT"))
	lab.Stopped(res, other, With("TERM"))
	termed()
}

// Guards the word stopped: what the kernel does not let go is not called that,
// the sweep ends all the same, and the others are handled.
func TestFrozen(t *testing.T) {
	lab := newLab(t)
	freezer := lab.Freezer()
	frozen := lab.OrphanLeader(lab.deadMark(), lab.Sleep(900)...)
	other := lab.OrphanLeader(lab.deadMark(), lab.Sleep(901)...)
	freezer.Freeze(frozen)
	res := lab.Sweep("--grace", "300ms", "--confirm", "300ms")
	lab.Stopped(res, other, With("TERM"))
	if !freezer.V1 { // the second version lets SIGKILL through
		lab.Stopped(res, frozen, With("TERM", "KILL"))
		return
	}
	lab.Ended(res, frozen, "stop-unconfirmed", With("TERM", "KILL"), Saying("still running 300ms after SIGKILL"))
	if res.Exit != 3 || !frozen.Running() {
		t.Errorf("status %d, %s", res.Exit, frozen.State())
	}
	freezer.Thaw()
	lab.AwaitExit(frozen)
	if again := lab.Sweep(); len(again.Doc.Orphans) > 0 || again.Exit != 0 {
		t.Errorf("status %d, %s", again.Exit, again.Stdout)
	}
}

// Guards the same without a freezer: killed, it hangs in its exit.
func TestHangsInItsExit(t *testing.T) {
	lab := newLab(t)
	hangs := lab.OrphanLeader(lab.deadMark(), lab.Sleep(900)...)
	other := lab.OrphanLeader(lab.deadMark(), lab.Sleep(901)...)
	release := lab.Unkillable(hangs)
	res := lab.Run(Run{Args: []string{"--grace", "300ms", "--confirm", "300ms"}, Status: 3})
	lab.Ended(res, hangs, "stop-unconfirmed")
	lab.Stopped(res, other, With("TERM"))
	release()
	lab.AwaitExit(hangs)
}

// Guards what nobody waits for: a zombie has exited, takes no SIGKILL and is
// nothing for a second sweep.
func TestNeverWaitedFor(t *testing.T) {
	lab := newLab(t)
	keeper, adopted := lab.Subreaper(false, Spec{Argv: lab.Sleep(900), Env: []string{lab.Mark(launcherPID)}, Leader: true})
	res := lab.Run(Run{Args: []string{"--grace", "60s"}, Status: 0})
	lab.Stopped(res, adopted[0], With("TERM"), Through("follows"))
	if adopted[0].State() != "zombie" {
		t.Fatalf("%s", adopted[0].State())
	}
	again := lab.Run(Run{Status: 0})
	if len(again.Doc.Orphans)+len(again.Doc.Spared) > 0 {
		t.Errorf("a second sweep lists %s", again.Stdout)
	}
	lab.Untouched(again, keeper)
}

// Guards zombies in a tree: they are no members, and keep no group from being
// signalled as a whole.
func TestZombieBelowAnOrphan(t *testing.T) {
	lab := newLab(t)
	keeper := lab.OrphanRole(lab.deadMark(), "zombiekeeper")
	res := lab.Run(Run{Args: []string{"--grace", "60s"}, Status: 0})
	lab.Stopped(res, keeper, By("group"), With("TERM"))
	lab.oneTree(res, keeper)
}

// Guards shells that act on SIGTERM only after their foreground child has ended:
// all members are asked at once, so nothing has to be killed.
func TestShellDefersTERM(t *testing.T) {
	for _, shell := range []string{"bash", "sh"} {
		t.Run(shell, func(t *testing.T) {
			lab := newLab(t)
			orphan := lab.OrphanLeader(lab.deadMark(), shell, "-c", `trap "exit 0" TERM; sleep `+lab.SleepArg(900)+"; :")
			child := lab.Sleeper(900)
			res := lab.Run(Run{Args: []string{"--grace", "60s"}, Status: 0})
			lab.allStopped(res, []Proc{orphan, child}, By("group"), With("TERM"))
		})
	}
}

// Guards a stranger that is given the pid of an orphan which exited during the
// grace: the rest of the sweep does not reach it.
func TestStrangerTakesThePID(t *testing.T) {
	lab := newSerialLab(t)
	held, termed, release := lab.Held(Spec{Env: lab.deadMark(), Leader: true, Adopted: true})
	deaf := lab.OrphanRole(lab.deadMark(), "deaf")
	_, finish := lab.sweeping("--grace", "4s")
	termed()
	release()
	lab.AwaitExit(held)
	lab.eventually("gone", func() bool { return held.State() == "gone" })
	stranger := lab.Recycle(held.PID, Spec{Argv: lab.Sleep(900), Env: []string{lab.Mark(lab.Live())}, Leader: true})
	res := finish()
	lab.Stopped(res, held, With("TERM"))
	lab.Stopped(res, deaf, With("TERM", "KILL"))
	if !stranger.Running() {
		t.Errorf("%s: %s", stranger, stranger.State())
	}
}

// Guards a process that becomes another one during the grace: identity stays, the
// reason does not, so the SIGKILL that another one gets does not reach it.
func TestBecomesAnotherDuringGrace(t *testing.T) {
	lab := newLab(t)
	gate, grace := lab.fifo(), 8*time.Second
	text := fmt.Sprintf("read x <%s; exec env %s sleep %s", gate.path, lab.Mark(lab.Live()), lab.SleepArg(900))
	p := lab.Start(Spec{Argv: []string{"sh", "-c", text}, Env: lab.deadMark(), Leader: true, Adopted: true, Deaf: true})
	deaf := lab.OrphanRole(lab.deadMark(), "deaf")
	began := time.Now()
	_, finish := lab.sweeping("--grace", grace.String())
	lab.eventually("SIGTERM", func() bool { return slices.Contains(noted(p), "SIGTERM") })
	lab.tell(gate, "become it")
	lab.eventually("another", func() bool { return !p.Running() || slices.Equal(readArgs(p.PID), lab.Sleep(900)) })
	late := time.Since(began) > grace/2
	res := finish()
	if late {
		t.Skip("it became another one too late to tell")
	}
	lab.Ended(res, p, "changed", With("TERM"))
	lab.Stopped(res, deaf, With("TERM", "KILL"))
	if !p.Running() || res.Exit != 0 {
		t.Errorf("%s, status %d", p.State(), res.Exit)
	}
}

// Guards pid namespaces below an orphan: their pid 1 does not hear SIGTERM.
func TestNamespaceBelowAnOrphan(t *testing.T) {
	lab := newLab(t)
	inner := fmt.Sprintf("sleep %s & while :; do sleep %s; done", lab.SleepArg(900), lab.SleepArg(901))
	orphan := lab.OrphanLeader(lab.deadMark(), "sh", "-c", "unshare -pf --mount-proc sh -c '"+inner+"'; :")
	below := lab.sleepers(900, 901)
	first := lab.list(below[0].Stat().PPID, "pid 1 inside")
	if first.Inner != 1 || namespaceOf(first.PID) == namespaceOf(orphan.PID) {
		t.Fatalf("%s is %d inside", first, first.Inner)
	}
	res := lab.Run(Run{Args: []string{"--grace", "1s"}, Status: 0})
	lab.allStopped(res, append(below, orphan))
	lab.Stopped(res, first, With("TERM", "KILL"))
}
