package sweep

import (
	"time"

	"reaper/match"
	"reaper/platform"
)

// Outcome is how one process ended, in the words of the JSON document.
type Outcome string

const (
	WouldStop   Outcome = "would-stop"
	Reported    Outcome = "reported"
	Stopped     Outcome = "stopped"  // its exit was observed after a signal
	Vanished    Outcome = "vanished" // it exited before any signal
	Recycled    Outcome = "recycled" // another identity holds the pid
	Changed     Outcome = "changed"  // the reason no longer held when it was verified
	Denied      Outcome = "denied"   // EPERM
	Unconfirmed Outcome = "stop-unconfirmed"
)

// worst orders outcomes for an orphan's own, which is its worst member's.
var worst = []Outcome{Unconfirmed, Denied, Recycled, Changed, Stopped, Vanished, WouldStop, Reported}

// target is one process of a tree through the whole sweep.
type target struct {
	row     platform.Process // as last read
	parent  int              // when it was first seen
	usage   platform.Usage
	tree    *tree
	handle  Handle
	group   bool // signalled, or to be signalled, by its group
	signals []string
	since   time.Time // of the first signal
	held    time.Time // when its handle was opened, if it had to wait for a descriptor
	took    time.Duration
	exited  bool
	whole   bool // verified in the last reading, so that it may be signalled
	outcome Outcome
	detail  string
	doubt   string // why the last reading did not verify it, where that was no answer
}

// tree is an orphan with all that goes with it.
type tree struct {
	root    match.Verdict
	stop    match.Stop
	targets []*target
	unsure  bool // the last reading could not tell whether the root is an orphan
}

// open says whether the target still has to exit and nothing has settled its outcome.
func (t *target) open() bool { return t.outcome == "" && !t.exited }

// settle gives an outcome once; the first one stands.
func (t *target) settle(o Outcome, detail string) {
	if t.outcome == "" {
		t.outcome, t.detail = o, detail
	}
}

// conclude turns what was observed into the outcome that is reported. An exit
// that was seen after a signal counts as stopped whatever was thought before.
func (t *target) conclude(why string) {
	switch {
	case t.outcome == WouldStop, t.outcome == Reported, t.outcome == Recycled:
	case t.exited && len(t.signals) > 0:
		t.outcome, t.detail = Stopped, ""
	case t.exited:
		t.outcome, t.detail = Vanished, ""
	default:
		t.settle(Unconfirmed, why)
	}
}

func (tr *tree) outcome() Outcome {
	for _, o := range worst {
		for _, t := range tr.targets {
			if t.outcome == o {
				return o
			}
		}
	}
	return Vanished
}
