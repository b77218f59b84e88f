//go:build linux

package test

import (
	"syscall"
	"testing"
)

// lostFolder is a file system that never answers what is in its files; asked
// returns once such a question has come, release lets all that wait go on.
func (l *Lab) lostFolder() (dir string, asked, release func()) {
	l.t.Helper()
	dir = l.folder("lost")
	said := l.fifo()
	server := l.Role(nil, "fuse", dir, said.path)
	if server.Said != "" {
		l.t.Skip("no FUSE here: " + server.Said)
	}
	release = func() { server.Signal(syscall.SIGKILL) }
	l.t.Cleanup(func() {
		release()
		server.awaitExit(patience)
		syscall.Unmount(dir, syscall.MNT_DETACH)
	})
	return dir, func() { l.line(said, "the question") }, release
}

// Locked is a shell's child whose memory lock, which every read of its environment
// and its arguments takes, stays taken until the release: a reader of its memory
// holds it, since a page never comes, and a thread of its own waits in line to
// change the mappings, behind which nobody else may read.
func (l *Lab) Locked(s Spec) (shell, p Proc, release func()) {
	l.t.Helper()
	dir, asked, release := l.lostFolder()
	order := l.fifo()
	s.Role, s.Args = "locked", []string{dir + "/page", order.path}
	s.Exe, s.Argv = "/bin/sh", []string{"sh", "-c", roleBinary(l.t) + " & wait"}
	shell = l.Start(s)
	for _, pid := range pids() {
		if st, ok := readStat(pid); ok && st.PPID == shell.PID {
			p = l.list(pid, "locked")
		}
	}
	l.Role(nil, "peeker", itoa(p.PID), shell.Said)
	asked()
	l.tell(order, "more")
	l.eventually("the wait for the lock", func() bool { return p.Stat().State == 'D' })
	return shell, p, release
}

// Guards against processes that cannot be read because the read never returns:
// they are counted and, in an orphan's tree, named; nothing is concluded from what
// was not read, the rest is done, and the sweep ends. Alone, since every reader of
// the process would hang.
func TestReadThatHangs(t *testing.T) {
	lab := newSerialLab(t)
	shell, locked, release := lab.Locked(Spec{Env: lab.deadMark(), Leader: true, Adopted: true, Notes: true})
	orphan := lab.OrphanLeader(lab.deadMark(), lab.Sleep(900)...)
	res := lab.Run(Run{Status: 3})
	lab.Stopped(res, orphan, With("TERM"))
	lab.Stopped(res, shell, By("pid"), With("TERM"))
	lab.LeftBehind(res, locked, "environment-unreadable")

	again := lab.Run(Run{Status: 0})
	lab.Untouched(again, locked) // marked and adopted by now
	if n := again.Doc.Census.Unreadable; n == 0 {
		t.Error("not counted")
	}
	lab.Unsignalled(locked)
	if state := locked.Stat().State; state != 'D' {
		t.Errorf("it could be read: state %c", state)
	}

	release()
	lab.eventually("its pause", func() bool { return locked.Stat().State == 'S' })
	lab.Stopped(lab.Run(Run{Status: 0}), locked, With("TERM"))
}
