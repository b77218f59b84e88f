//go:build linux

package test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// tty is a terminal that a test looks at and types on.
type tty struct {
	path     string
	keyboard *os.File
	mu       sync.Mutex
	seen     bytes.Buffer
}

// watch keeps what is shown on a new terminal.
func (l *Lab) watch() *tty {
	l.t.Helper()
	w := &tty{}
	w.path, w.keyboard = l.console()
	held, err := os.OpenFile(w.path, os.O_RDWR|syscall.O_NOCTTY, 0) // else it would end with the last program
	l.must(err)
	l.t.Cleanup(func() { held.Close() })
	go func() {
		part := make([]byte, 4096)
		for {
			n, err := w.keyboard.Read(part)
			w.mu.Lock()
			w.seen.Write(part[:n])
			w.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return w
}

func (w *tty) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen.String()
}

// on is the program on a terminal, its stdout a file.
func (l *Lab) on(w *tty, r Run) (running *os.Process, finish func() Result) {
	l.t.Helper()
	out := l.path("stdout")
	argv := append([]string{"sh", "-c", `exec "$@" >` + out, "sh"}, l.Argv(r)...)
	this, _ := l.launch(Spec{Argv: argv, Env: append([]string{quickExit, "TERM=xterm"}, r.Env...), TTY: w.path, Leader: true})
	child, err := this.start()
	l.must(err)
	l.children[child.Pid] = child
	l.list(child.Pid, "sweep")
	return child, func() Result {
		l.t.Helper()
		exit := -1
		l.eventually("the end of the sweep", func() bool {
			s, ok := readStat(child.Pid)
			return !ok || s.Exited()
		})
		state, err := child.Wait()
		l.must(err)
		delete(l.children, child.Pid)
		exit = state.ExitCode()
		return l.Collect(out, os.DevNull, exit, argv)
	}
}

// Guards what a person sees who waits: how many have exited, what is waited for
// and until when, on the terminal alone, and nothing of it once it is over.
func TestProgressOnATerminal(t *testing.T) {
	lab := newLab(t)
	screen := lab.watch()
	held, termed, release := lab.Held(Spec{Env: []string{lab.Mark(lab.Dead())}, Leader: true, Adopted: true})
	lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(900)...)
	_, finish := lab.on(screen, Run{Args: []string{"--grace", "1h"}, Text: true})
	termed()
	lab.eventually("progress", func() bool {
		s := screen.String()
		return strings.Contains(s, "\rstopping: 1 of 2 exited, SIGKILL in 59m ") && strings.Contains(s, fmt.Sprintf(", waiting for %d lab-held\x1b[K", held.PID))
	})
	release()
	if res := finish(); res.Exit != 0 || strings.Contains(res.Stdout, "stopping:") || !strings.Contains(res.Stdout, " 2 processes, ") {
		t.Errorf("status %d: %s", res.Exit, res.Stdout)
	}
	lab.eventually("a cleared line", func() bool { return strings.HasSuffix(screen.String(), "\r\x1b[K") })
	if s := screen.String(); strings.Contains(s, "\n") {
		t.Errorf("more than a line: %q", s)
	}
}

// Guards pipes, logs and whoever does not look: nothing is drawn there.
func TestProgressIsForATerminal(t *testing.T) {
	lab := newLab(t)
	for _, test := range []struct {
		name string
		env  []string
		args []string
		file bool
		want bool
	}{
		{name: "a terminal", want: true},
		{name: "CI", env: []string{"CI=true"}},
		{name: "CI=false", env: []string{"CI=false"}, want: true},
		{name: "dumb", env: []string{"TERM=dumb"}},
		{name: "no TERM", env: []string{"TERM="}},
		{name: "quiet", args: []string{"--quiet"}},
		{name: "a program that reads JSON", args: []string{"--json"}},
		{name: "a log", file: true},
	} {
		slow := lab.OrphanRole([]string{lab.Mark(lab.Dead())}, "slow", "700")
		screen, shown := lab.watch(), ""
		r := Run{Args: test.args, Env: test.env, Text: true, Status: 0}
		if test.file {
			res := lab.Run(r)
			shown = res.Stderr
		} else {
			_, finish := lab.on(screen, r)
			if res := finish(); res.Exit != 0 {
				t.Errorf("%s: status %d: %s", test.name, res.Exit, res.Stdout)
			}
			if test.want {
				lab.eventually("progress", func() bool { return strings.HasSuffix(screen.String(), "\r\x1b[K") })
			}
			shown = screen.String()
		}
		if slow.Running() || strings.Contains(shown, "stopping: 0 of 1 exited") != test.want || !test.want && shown != "" {
			t.Errorf("%s: %s, %q", test.name, slow.State(), shown)
		}
	}
}

// Guards the stopping against the terminal: one that was stopped (Ctrl-S) and takes
// nothing holds up no sweep.
func TestProgressOnAStoppedTerminal(t *testing.T) {
	lab := newLab(t)
	screen := lab.watch()
	slow := lab.OrphanRole([]string{lab.Mark(lab.Dead())}, "slow", "700")
	_, err := screen.keyboard.WriteString("\x13")
	lab.must(err)
	_, finish := lab.on(screen, Run{Text: true})
	if res := finish(); res.Exit != 0 || slow.Running() || !strings.Contains(res.Stdout, "stopped ") {
		t.Errorf("status %d, %s: %s", res.Exit, slow.State(), res.Stdout)
	}
	if s := screen.String(); s != "" {
		t.Errorf("the terminal was not stopped: %q", s)
	}
}

// Guards a sweep in the background of a terminal that stops who writes there (stty
// tostop): it draws nothing, so it is not stopped between SIGTERM and SIGKILL.
func TestProgressInTheBackground(t *testing.T) {
	lab := newLab(t)
	screen, said := lab.watch(), lab.fifo()
	slow := lab.OrphanRole([]string{lab.Mark(lab.Dead())}, "slow", "700")
	text := fmt.Sprintf(`stty tostop; set -m; "$@" >%s & wait $!; echo $? >%s`, lab.path("stdout"), said.path)
	shell := lab.Start(Spec{Argv: append([]string{"sh", "-c", text, "sh"}, lab.Argv(Run{Text: true})...), Env: []string{quickExit, "TERM=xterm"}, TTY: screen.path, Leader: true})
	if got := lab.line(said, "the sweep's status"); got != "0" || slow.Running() {
		t.Errorf("status %s, %s", got, slow.State())
	}
	lab.AwaitExit(shell)
	if s := screen.String(); strings.Contains(s, "stopping:") {
		t.Errorf("drawn from the background: %q", s)
	}
}
