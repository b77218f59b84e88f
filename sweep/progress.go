package sweep

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"reaper/platform"
)

const (
	progressAfter = 300 * time.Millisecond // of waiting, before anything is shown
	progressEvery = 100 * time.Millisecond
	progressClear = 100 * time.Millisecond // is waited for the terminal at the end
)

// Progress is what a sweep tells of itself while it waits for what it has
// signalled. Telling takes no longer than noting it: one goroutine draws, on a
// terminal that may be slow or stopped.
type Progress struct {
	mu            sync.Mutex
	total, exited int
	waiting       []waited
	due           time.Time // of the next SIGKILL, or of giving up
	killed        bool      // SIGKILL was sent to what is due
	begun         chan struct{}
}

// waited is a process that has been signalled and not been seen to exit.
type waited struct {
	pid  int
	argv []string
	comm string
	gone bool
}

// ShowProgress draws on a terminal once the waiting takes long. It asks for the
// number of columns each time; 0: nothing may be drawn now. The end clears what is
// drawn, or gives the terminal up where it takes nothing.
func ShowProgress(w io.Writer, width func() int) (p *Progress, end func()) {
	p = &Progress{begun: make(chan struct{})}
	over, cleared := make(chan struct{}), make(chan struct{})
	var late atomic.Bool
	go func() {
		defer close(cleared)
		if !p.draw(w, width, over) || late.Load() {
			return
		}
		io.WriteString(w, "\r\x1b[K")
	}()
	return p, func() {
		close(over)
		select {
		case <-cleared:
		case <-time.After(progressClear):
			late.Store(true)
		}
	}
}

// draw draws until it is over and says whether there is something to clear.
func (p *Progress) draw(w io.Writer, width func() int, over chan struct{}) (drawn bool) {
	select {
	case <-p.begun:
	case <-over:
		return false
	}
	for wait := progressAfter; ; wait = progressEvery {
		select {
		case <-time.After(wait):
		case <-over:
			return drawn
		}
		if columns := width(); columns > 0 {
			drawn = true
			io.WriteString(w, "\r"+p.line(time.Now(), columns-1)+"\x1b[K")
		}
	}
}

// line is how far the stopping is, in at most so many columns: how many of how
// many have exited, what happens when, and what is waited for.
func (p *Progress) line(now time.Time, width int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := fmt.Sprintf("stopping: %d of %d exited", p.exited, p.total)
	first, others := waited{}, -1
	for _, w := range p.waiting {
		if w.gone {
			continue
		}
		if others++; others == 0 {
			first = w
		}
	}
	if others < 0 {
		return shorten(line, width)
	}
	left := max(0, p.due.Sub(now))
	when := Age(left.Seconds())
	if left < 10*time.Second {
		when = fmt.Sprintf("%.1fs", left.Seconds())
	}
	if p.killed {
		line += ", SIGKILL sent, waiting " + when + " more for "
	} else {
		line += ", SIGKILL in " + when + ", waiting for "
	}
	more := ""
	if others > 0 {
		more = fmt.Sprintf(" and %d more", others)
	}
	pid := fmt.Sprintf("%d ", first.pid)
	room := width - len(line) - len(pid) - len(more)
	if room < commandLeast/2 {
		return shorten(line+strings.TrimSpace(pid)+more, width)
	}
	return line + pid + shortCommand(first.name(), room) + more
}

// tell notes what is waited for from now on.
func (e *stopper) tell(waiting []*target) {
	p := e.s.o.Progress
	if p == nil {
		return
	}
	due := e.deadline(waiting)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total == 0 {
		close(p.begun)
	}
	p.total, p.exited, p.waiting, p.due, p.killed = 0, 0, p.waiting[:0], due, false
	for _, t := range e.known {
		if t.handle != nil || t.exited {
			p.total++
		}
		if t.exited {
			p.exited++
		}
	}
	for _, t := range waiting {
		p.waiting = append(p.waiting, waited{pid: t.row.PID, argv: t.row.Argv, comm: t.row.Comm})
		if _, ok := e.killed[t]; ok && due.Equal(e.end(t)) {
			p.killed = true
		}
	}
}

// exit notes that the i-th of what is waited for has exited.
func (p *Progress) exit(i int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := &p.waiting[i]; !w.gone {
		w.gone = true
		p.exited++
	}
}

// name is what the process is called, from so much of its arguments as may be shown.
func (w waited) name() []string {
	p := platform.Process{Comm: w.comm}
	for _, arg := range w.argv[:min(len(w.argv), 16)] {
		p.Argv = append(p.Argv, arg[:min(len(arg), 400)])
	}
	return command(&p)
}
