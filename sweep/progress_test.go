package sweep

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// screen keeps what is written to it; while it is stopped, writing blocks.
type screen struct {
	mu      sync.Mutex
	text    strings.Builder
	stopped chan struct{} // nil: it is not
}

func (s *screen) Write(p []byte) (int, error) {
	if s.stopped != nil {
		<-s.stopped
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// stopping is a stopper that waits for these, of whom exited are gone.
func stopping(p *Progress, exited int, due time.Time, killed bool, names ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.total == 0 {
		close(p.begun)
	}
	p.total, p.exited, p.due, p.killed, p.waiting = exited+len(names), exited, due, killed, nil
	for i, name := range names {
		p.waiting = append(p.waiting, waited{pid: 500 + i, argv: words(name), comm: "x"})
	}
}

// TestProgressLine guards what is said: how many of how many, what happens when,
// and who is waited for, within the columns there are, whatever they are called.
func TestProgressLine(t *testing.T) {
	now := time.Now()
	after := func(d time.Duration) time.Time { return now.Add(d) }
	long := "node --import tsx /home/ann/code/roost/src/host/main.ts --session 77aa"
	for _, c := range []struct {
		width int
		shows func(*Progress)
		want  string
	}{
		{80, func(p *Progress) { stopping(p, 12, after(1440*time.Millisecond), false, "sleep 900", "x", "y") },
			"stopping: 12 of 15 exited, SIGKILL in 1.4s, waiting for 500 sleep 900 and 2 more"},
		{79, func(p *Progress) { stopping(p, 0, after(2*time.Second), false, long) },
			"stopping: 0 of 1 exited, SIGKILL in 2.0s, waiting for 500 node …/host/main.ts …"},
		{120, func(p *Progress) { stopping(p, 659, after(time.Hour), false, long) },
			"stopping: 659 of 660 exited, SIGKILL in 1h, waiting for 500 node --import tsx …/host/main.ts --session 77aa"},
		{79, func(p *Progress) { stopping(p, 14, after(-time.Second), true, "cat") },
			"stopping: 14 of 15 exited, SIGKILL sent, waiting 0.0s more for 500 cat"},
		{79, func(p *Progress) { stopping(p, 3, after(0), false) }, "stopping: 3 of 3 exited"},
		{79, func(p *Progress) {
			stopping(p, 0, after(time.Second), false, "sleep 1", "sleep 2")
			p.exit(0)
			p.exit(0)
		},
			"stopping: 1 of 2 exited, SIGKILL in 1.0s, waiting for 501 sleep 2"},
		{79, func(p *Progress) { stopping(p, 0, after(time.Second), false, "a\x1b[2J\nb") }, `stopping: 0 of 1 exited, SIGKILL in 1.0s, waiting for 500 a\x1b[2J b`},
		{79, func(p *Progress) { stopping(p, 0, after(time.Second), false, strings.Repeat("y", 1<<20)) }, ""},
		{79, func(p *Progress) { stopping(p, 0, after(time.Second), false, "") }, "stopping: 0 of 1 exited, SIGKILL in 1.0s, waiting for 500 [x]"},
		{30, func(p *Progress) { stopping(p, 0, after(time.Second), false, "sleep 1") }, "stopping: 0…s, waiting for 500"},
	} {
		p := &Progress{begun: make(chan struct{})}
		c.shows(p)
		got := p.line(now, c.width)
		if c.want != "" && got != c.want || columns(got) > c.width || printable(got) != got {
			t.Errorf("%d columns: %q instead of %q", columns(got), got, c.want)
		}
	}
}

// TestProgressShowsWhatTakesLong guards that nothing is drawn in the first 300 ms
// of the waiting, nor without any, nor while it may not; and that it is cleared.
func TestProgressShowsWhatTakesLong(t *testing.T) {
	wide := func() int { return 80 }
	for _, c := range []struct {
		name  string
		width func() int
		waits time.Duration // -1: it never comes to that
		draws bool
	}{
		{"nothing to wait for", wide, -1, false},
		{"quick", wide, 299 * time.Millisecond, false},
		{"long", wide, 301 * time.Millisecond, true},
		{"in the background", func() int { return 0 }, time.Second, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &screen{}
			p, end := ShowProgress(s, c.width)
			time.Sleep(time.Second) // reading the table is no waiting
			if c.waits >= 0 {
				stopping(p, 0, time.Now().Add(2*time.Second), false, "sleep 1")
				time.Sleep(c.waits)
			}
			began := time.Now()
			end()
			if took := time.Since(began); took > 0 {
				t.Errorf("%s: the end took %s", c.name, took)
			}
			synctest.Wait()
			got := s.String()
			if want := "\rstopping: 0 of 1 exited, SIGKILL in 1.7s, waiting for 500 sleep 1\x1b[K\r\x1b[K"; c.draws && got != want || !c.draws && got != "" {
				t.Errorf("%s: %q", c.name, got)
			}
		})
	}
}

// TestProgressHoldsNothingUp guards a sweep against a terminal that takes nothing:
// what is told is told at once, the end waits no longer than it says, and what was
// given up draws no more once the terminal goes on.
func TestProgressHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &screen{stopped: make(chan struct{})}
		p, end := ShowProgress(s, func() int { return 80 })
		stopping(p, 0, time.Now().Add(time.Second), false, "sleep 1", "sleep 2")
		time.Sleep(time.Second)
		began := time.Now()
		p.exit(0)
		stopping(p, 1, time.Now(), false, "sleep 2")
		if took := time.Since(began); took > 0 {
			t.Errorf("telling took %s", took)
		}
		end()
		if took := time.Since(began); took != progressClear {
			t.Errorf("the end took %s", took)
		}
		close(s.stopped)
		synctest.Wait()
		if got := s.String(); strings.Count(got, "\r") != 1 {
			t.Errorf("drawn after the end: %q", got)
		}
	})
}
