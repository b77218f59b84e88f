//go:build linux

package test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Stepped is a run of the program that waits before each call that matters, so
// that the world can be changed at exactly that point.
type Stepped struct {
	l          *Lab
	said, cues *fifo
	out, errs  string
	args       []string
	waits      bool
	exit       int
	ended      bool
}

// step is a call that is about to be made.
type step struct {
	call string
	args []uint64
}

// Signal is what a call would send: SIGTERM is 15, SIGKILL 9. 0: it sends none.
func (s step) signal() int {
	if s.call == "pidfd_send_signal" || s.call == "kill" {
		return int(s.args[1])
	}
	return 0
}

// opens says whether a call is about to open a handle on the process.
func opens(p Proc) func(step) bool {
	return func(s step) bool { return s.call == "pidfd_open" && s.args[0] == uint64(p.PID) }
}

// sends says whether a call is about to send this signal.
func sends(signal int) func(step) bool { return func(s step) bool { return s.signal() == signal } }

// lists says whether a call is about to list the process table.
func lists(s step) bool { return s.call == "getdents64" }

// waits says whether a call is about to wait for exits.
func waits(s step) bool { return s.call == "ppoll" }

// Step begins a run that is to be stepped through.
func (l *Lab) Step(r Run) *Stepped {
	l.t.Helper()
	this, _ := l.launch(Spec{Argv: l.Argv(r), Env: append([]string{quickExit, "GODEBUG=asyncpreemptoff=1"}, r.Env...), UID: r.UID, Leader: true})
	this.Out, this.Err = l.path("stdout"), l.path("stderr")
	s := &Stepped{l: l, said: l.fifo(), cues: l.fifo(), out: this.Out, errs: this.Err, args: this.Argv[2:]}
	p := l.Start(Spec{Role: "step", Args: append([]string{s.said.path, s.cues.path}, encode(this)...), Leader: true})
	pid, err := strconv.Atoi(p.Said)
	l.must(err)
	l.list(pid, "the stepped program")
	return s
}

// next lets the call be made that is waiting, and returns the one after it.
func (s *Stepped) next() (step, bool) {
	s.l.t.Helper()
	if s.waits {
		s.l.tell(s.cues, "go")
		s.waits = false
	}
	words := strings.Fields(s.l.line(s.said, "the next call"))
	if words[0] == "exit" {
		s.ended = true
		s.exit, _ = strconv.Atoi(words[1])
		return step{}, false
	}
	s.waits = true
	at := step{call: words[0]}
	for _, word := range words[1:] {
		n, err := strconv.ParseUint(word, 10, 64)
		s.l.must(err)
		at.args = append(at.args, n)
	}
	return at, true
}

// Until lets it run until a call is about to be made that is one of these.
func (s *Stepped) Until(what string, wanted func(step) bool) step {
	s.l.t.Helper()
	for {
		at, more := s.next()
		if !more {
			s.l.t.Fatalf("the program ended (status %d) before: %s", s.exit, what)
		}
		if wanted(at) {
			return at
		}
	}
}

// Finish lets it run to its end.
func (s *Stepped) Finish() Result {
	s.l.t.Helper()
	if s.waits {
		s.l.tell(s.cues, "on")
		s.waits = false
	}
	for !s.ended {
		s.next()
	}
	res := s.l.Collect(s.out, s.errs, s.exit, s.args)
	s.l.decode(&res)
	return res
}

func (s step) String() string {
	if i := slices.Index([]string{"pidfd_open"}, s.call); i >= 0 {
		return fmt.Sprintf("%s(%d)", s.call, s.args[0])
	}
	return fmt.Sprintf("%s%v", s.call, s.args)
}
