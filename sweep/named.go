package sweep

import (
	"context"
	"fmt"

	"reaper/match"
	"reaper/platform"
)

// Alive says whether the process runs, or, without a start token, whether any
// holder of the pid does: the question that a followed value asks. Another start of
// a holder in another time namespace is no answer.
func Alive(ctx context.Context, m Machine, id platform.Identity) platform.Answer {
	live := m.Answer(ctx, match.Fact{Kind: match.FactRunning, PID: id.PID}).Live
	runs := live.Of(id.Start)
	if holder := (platform.Identity{PID: id.PID, Start: live.Start}); runs == platform.No && live.Running == platform.Yes && !live.Kernel &&
		m.Answer(ctx, match.Fact{Kind: match.FactClock, Process: holder}).Is != platform.Yes {
		return platform.Unknown
	}
	return runs
}

// Identify returns the identity of the process that holds the pid now. Yes: it
// runs; No: it does not; Unknown also where its start cannot be read.
func Identify(ctx context.Context, m Machine, pid int) (platform.Identity, platform.Answer) {
	live := m.Answer(ctx, match.Fact{Kind: match.FactRunning, PID: pid}).Live
	if live.Running == platform.Yes && live.Start == 0 {
		return platform.Identity{PID: pid}, platform.Unknown
	}
	return platform.Identity{PID: pid, Start: live.Start}, live.Running
}

// ParseIdentity reads a PID, or PID@START.
func ParseIdentity(s string) (platform.Identity, error) {
	id, ok := match.ParseIdentity(s)
	if !ok {
		return id, fmt.Errorf("%q is no process: give a pid as ps prints it, or PID@START as reaper id does", s)
	}
	return id, nil
}

// StopNamed stops the tree of one process by the contract of a sweep, whatever
// rules say of it, but for what they protect and the live work in it. Of a process
// that has exited nothing is left to do.
func StopNamed(ctx context.Context, m Machine, o Options, id platform.Identity) (*Report, error) {
	return doNamed(ctx, m, o, id, Stop)
}

// DryRunNamed reports what StopNamed would do. Nothing that it calls can signal.
func DryRunNamed(ctx context.Context, m Machine, o Options, id platform.Identity) (*Report, error) {
	return doNamed(ctx, m, o, id, DryRun)
}

func doNamed(ctx context.Context, m Machine, o Options, id platform.Identity, do func(context.Context, Machine, Options) (*Report, error)) (*Report, error) {
	runs := Alive(ctx, m, id)
	if id.Start == 0 {
		id, runs = Identify(ctx, m, id.PID)
	}
	if runs == platform.Unknown {
		return nil, fmt.Errorf("whether %d is running cannot be told: nothing was done", id.PID)
	}
	o.Rules = o.Rules.WithoutRules()
	o.Names = &match.Names{IDs: []platform.Identity{id}, Why: "named on the command line"}
	r, err := do(ctx, m, o)
	if err != nil {
		return nil, err
	}
	if len(r.Orphans) == 0 {
		r.notStopped(ctx, m, id)
	}
	return r, nil
}

// notStopped says why there is no tree: the named process has exited, or it was spared.
func (r *Report) notStopped(ctx context.Context, m Machine, id platform.Identity) {
	if Alive(ctx, m, id) == platform.No {
		r.Nothing = fmt.Sprintf("%d is not running", id.PID)
		if other, runs := Identify(ctx, m, id.PID); runs == platform.Yes && other != id {
			r.Nothing = fmt.Sprintf("%s is not running, %s has its pid now", id, other)
		}
		return
	}
	why := "it could not be read"
	for _, s := range r.Spared {
		if s.PID == id.PID {
			why = fmt.Sprintf("%s: %s", s.Reason, s.Detail)
		}
	}
	r.Refused, r.Nothing = fmt.Sprintf("%s was not stopped: %s", id, why), "nothing was stopped"
	if r.DryRun {
		r.Refused, r.Nothing = fmt.Sprintf("%s would not be stopped: %s", id, why), "nothing would be stopped"
	}
	if r.Exit == ExitDone {
		r.Exit = ExitLeft
	}
}
