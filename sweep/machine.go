// Package sweep plans, stops and reports: one reading of the machine becomes
// verdicts, verdicts a plan, the plan outcomes, and those a report.
package sweep

import (
	"context"
	"syscall"
	"time"

	"reaper/match"
	"reaper/platform"
)

// Machine is what a sweep asks of the operating system. The real one is in
// package platform; tests script one.
type Machine interface {
	System() (platform.System, error)
	// Scan, Survey and Inspect are the passes of one reading, see platform.Reader.
	Scan(context.Context, platform.Query) (*platform.Census, error)
	Survey(context.Context, *platform.Census, platform.Query) error
	Inspect(context.Context, *platform.Census, []int, platform.Query)
	// Answer looks up what no census holds.
	Answer(context.Context, match.Fact) match.Known
	// Hides says whether processes may be missing from every census.
	Hides() bool
	// Usage is for the report only.
	Usage(pids []int) []platform.Usage
	// Ticks is the time since boot in the unit of platform.Process.Start.
	Ticks() uint64
	Now() time.Time
	// Trust says why environments cannot be believed on this machine, nil where they can.
	Trust(context.Context) error

	Open(pid int) (Handle, error)
	SignalGroup(pgid int, leader Handle, sig syscall.Signal) error
	// Wait returns once all handles have exited, at the time given, or when the
	// context ends; exited is called for each exit as it is seen.
	Wait(ctx context.Context, handles []Handle, until time.Time, exited func(i int, at time.Time)) error
}

// Handle keeps hold of one process whatever becomes of its pid.
type Handle interface {
	PID() int
	Exited() (bool, error)
	Signal(syscall.Signal) error
	Close() error
}

// OS is the real machine.
type OS struct{ *platform.Reader }

// Now is monotonic: differences do not follow changes of the clock.
func (OS) Now() time.Time { return time.Now() }

// factDeadline bounds a look-up that another program or a file system answers.
const factDeadline = 2 * time.Second

// Answer asks the reader for the kind of fact.
func (m OS) Answer(ctx context.Context, f match.Fact) match.Known {
	ctx, cancel := context.WithTimeout(ctx, factDeadline)
	defer cancel()
	switch f.Kind {
	case match.FactRunning:
		return match.Known{Live: m.Liveness(f.PID)}
	case match.FactLinks:
		return match.Known{Links: m.Links(f.Path)}
	case match.FactGone:
		return match.Known{Is: m.Missing(ctx, f.Process, f.Path)}
	case match.FactMainPID:
		return match.Known{Is: m.MainPID(ctx, f.Process)}
	case match.FactProgram:
		return match.Known{Is: m.RunsProgram(f.Process, f.Path)}
	case match.FactPipes:
		pipes, ok := m.Pipes(f.Process)
		return match.Known{Is: map[bool]platform.Answer{true: platform.Yes}[ok], Pipes: pipes}
	case match.FactClock:
		return match.Known{Is: m.SameClock(f.Process)}
	case match.FactOlder:
		return match.Known{Is: m.Older(f.Process, f.PID)}
	case match.FactMemory:
		bytes, ok := m.Memory(ctx, f.Process)
		if !ok {
			return match.Known{}
		}
		return match.Known{Is: platform.Yes, Bytes: bytes}
	}
	return match.Known{}
}

// Open takes a handle; errors.Is(err, platform.ErrGone) where there is no such process.
func (OS) Open(pid int) (Handle, error) {
	h, err := platform.OpenHandle(pid)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// SignalGroup signals a process group, through the leader's handle where there is one.
func (OS) SignalGroup(pgid int, leader Handle, sig syscall.Signal) error {
	h, _ := leader.(*platform.Handle)
	return platform.SignalGroup(pgid, h, sig)
}

// Wait waits on pidfds.
func (OS) Wait(ctx context.Context, handles []Handle, until time.Time, exited func(int, time.Time)) error {
	real := make([]*platform.Handle, len(handles))
	for i, h := range handles {
		real[i] = h.(*platform.Handle)
	}
	return platform.Wait(ctx, real, until, exited)
}
