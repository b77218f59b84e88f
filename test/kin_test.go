//go:build linux

package test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// launches is what roles that start processes take as an argument. None of the
// specs may have a role of its own to wait for.
func (l *Lab) launches(specs ...Spec) string {
	l.t.Helper()
	all := []launch{}
	for _, s := range specs {
		this, _ := l.launch(s)
		all = append(all, this)
	}
	return encode(all)[0]
}

// said lists the processes whose pids a role named when it was ready.
func (l *Lab) said(p Proc, specs []Spec) []Proc {
	l.t.Helper()
	var found []Proc
	for i, pid := range decodePIDs(l.t, p.Said) {
		found = append(found, l.list(pid, strings.Join(specs[i].Argv, " ")))
	}
	return found
}

// Subreaper is a child of the test that has adopted these; it reaps or not.
func (l *Lab) Subreaper(reap bool, specs ...Spec) (Proc, []Proc) {
	l.t.Helper()
	mode := "keep"
	if reap {
		mode = "reap"
	}
	p := l.Role(nil, "subreaper", mode, l.launches(specs...))
	return p, l.said(p, specs)
}

// Forker starts these as its own children; mode once or respawn.
func (l *Lab) Forker(forker Spec, mode string, specs ...Spec) (Proc, []Proc) {
	l.t.Helper()
	forker.Role, forker.Args = "forker", []string{mode, l.launches(specs...)}
	p := l.Start(forker)
	return p, l.said(p, specs)
}

// Zombie is a dead process that its live parent does not wait for.
func (l *Lab) Zombie() (keeper, zombie Proc) {
	l.t.Helper()
	keeper = l.Role(nil, "zombiekeeper")
	pid := 0
	fmt.Sscan(keeper.Said, &pid)
	return keeper, l.list(pid, "zombie")
}

// Thread is a live process and the id of a thread of it that no process has.
func (l *Lab) Thread() (owner Proc, tid int) {
	l.t.Helper()
	owner = l.Role(nil, "threads")
	fmt.Sscan(owner.Said, &tid)
	return owner, tid
}

// Canary is a live unmarked child of the test that notes signals. Notes are the
// names of those that have reached it so far.
func (l *Lab) Canary(s Spec) (canary Proc, notes func() []string) {
	l.t.Helper()
	path := l.path("notes")
	s.Role, s.Args = "canary", []string{path}
	canary = l.Start(s)
	flushes := 0
	return canary, func() []string {
		l.t.Helper()
		l.must(canary.Signal(flushSignal))
		flushes++
		var read []string
		l.eventually("the canary's notes", func() bool {
			raw, _ := os.ReadFile(path)
			read = strings.Fields(string(raw))
			return strings.Count(string(raw), "flush\n") == flushes
		})
		return without(read, "flush")
	}
}

func without(all []string, one string) []string {
	kept := []string{}
	for _, s := range all {
		if s != one {
			kept = append(kept, s)
		}
	}
	return kept
}

// Held is an orphan that has its own session and a rendezvous: termed returns
// once SIGTERM has reached it, release lets it exit.
func (l *Lab) Held(s Spec) (held Proc, termed, release func()) {
	l.t.Helper()
	said, gate := l.fifo(), l.fifo()
	s.Role, s.Args = "held", []string{said.path, gate.path}
	held = l.Start(s)
	return held, func() { l.t.Helper(); l.line(said, "SIGTERM") }, func() { l.t.Helper(); l.tell(gate, "exit") }
}

// Reexec is a process that becomes the other on SIGUSR1, same pid and start.
func (l *Lab) Reexec(s, next Spec) (p Proc, change func()) {
	l.t.Helper()
	after, ready := l.launch(next)
	s.Role, s.Args = "reexec", encode(after)
	p = l.Start(s)
	return p, func() {
		l.t.Helper()
		l.must(p.Signal(syscall.SIGUSR1))
		if ready != nil {
			l.line(ready, "exec")
			return
		}
		l.eventually("exec", func() bool {
			return strings.Join(readArgs(p.PID), " ") == strings.Join(after.Argv, " ")
		})
	}
}

// Unkillable keeps a process from exiting, whatever signal it gets; release
// lets it go. Killed, it is neither gone nor a zombie until then.
func (l *Lab) Unkillable(p Proc) (release func()) {
	l.t.Helper()
	tracer := l.Role(nil, "tracer", fmt.Sprint(p.PID))
	release = func() { tracer.Signal(syscall.SIGKILL); tracer.awaitExit(10 * time.Second) }
	l.t.Cleanup(release)
	return release
}

// Terminal is a pseudo terminal for Spec.TTY; its other end stays open.
func (l *Lab) Terminal() (path string) {
	l.t.Helper()
	path, _ = l.terminal()
	return path
}

// terminal is a pseudo terminal, and what hangs it up.
func (l *Lab) terminal() (path string, hangUp func()) {
	l.t.Helper()
	path, keyboard := l.console()
	return path, func() { keyboard.Close() }
}

// console is a pseudo terminal, and its other end: what is written there is typed.
func (l *Lab) console() (path string, keyboard *os.File) {
	l.t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		l.t.Skip("no pseudo terminals: " + err.Error())
	}
	l.t.Cleanup(func() { master.Close() })
	l.must(unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	l.must(err)
	return fmt.Sprintf("/dev/pts/%d", number), master
}
