//go:build linux

package test

import (
	"testing"
)

// onTerminal starts a shell that leads a session on a new terminal, carries a
// stale marker and has a job in the foreground (901) and two behind: 902 with the
// shell's marker, 903 with a home alone. All of them survive a hangup.
func (l *Lab) onTerminal() (shell Proc, hangUp func()) {
	l.t.Helper()
	path, hangUp := l.terminal()
	shell = l.Start(Spec{
		Argv: []string{"sh", "-c", l.shell(`trap '' HUP; set -m; SLEEP902 & env -u ` + l.Parent + ` ` + l.MarkHome() + ` SLEEP903 & SLEEP901; SLEEP904`)},
		Env:  []string{l.Mark(l.Dead())}, TTY: path, Leader: true, Adopted: true,
	})
	front := l.Sleeper(901)
	l.eventually("a foreground job", func() bool { s := front.Stat(); return s.PGID == front.PID && s.ForegroundG == front.PID })
	return shell, hangUp
}

// A terminal's shell and what runs in its foreground are in use, however stale
// their markers are. A job behind is judged.
func TestTerminalInUse(t *testing.T) {
	lab := newLab(t)
	shell, _ := lab.onTerminal()
	home := lab.Sleeper(903)
	lab.Cases(
		running("the shell", "spared on-terminal", shell),
		running("the program in the foreground", "spared on-terminal", lab.Sleeper(901)),
		running("a job in the background", "goes follows", lab.Sleeper(902)),
		running("one whose parent is that shell", "spared not-adopted", home))
}

func TestTerminalThatWasClosed(t *testing.T) {
	lab := newLab(t)
	shell, hangUp := lab.onTerminal()
	front, behind := lab.Sleeper(901), lab.Sleeper(902)
	lab.Spared(lab.DryRun(), shell, "on-terminal")
	hangUp()
	lab.eventually("the end of the terminal", func() bool { return shell.Stat().TTY == 0 && front.Stat().TTY == 0 })
	lab.Cases(
		running("the shell", "goes follows", shell),
		running("what it ran", "goes", front),
		running("its job", "goes", behind))
}

// On a terminal are its session's leader and its foreground; a member of a
// proven tree goes with the tree all the same.
func TestTerminalInATree(t *testing.T) {
	lab := newLab(t)
	head, below := lab.Forker(Spec{Env: []string{lab.Mark(lab.Dead())}, Adopted: true, Leader: true}, "once",
		Spec{Argv: lab.Sleep(901), TTY: lab.Terminal(), Leader: true})
	lab.Cases(
		running("an orphan", "goes follows", head),
		running("its child, on a terminal that it made", "goes", below[0]))
}
