package match

import (
	"cmp"
	"fmt"
	"slices"

	"reaper/platform"
)

// FollowState is what a process's followed-pid variable says.
type FollowState int8

const (
	FollowNone     FollowState = iota // no such variable, or no value that is a pid
	FollowDead                        // every value names a process that is not running
	FollowUnknown                     // cannot be told
	FollowRecycled                    // the number is held by what may be a stranger
	FollowLive                        // a followed process runs
)

// Follow is the answer for one variable of one process.
type Follow struct {
	State  FollowState
	PID    int // the followed pid that decided
	Start  uint64
	Detail string
}

// follow answers a variable. Where a block holds it twice the most alive value
// counts: any live one spares.
func (j *judge) follow(p *platform.Process, vars []platform.Var, name string) Follow {
	var most Follow
	for _, f := range j.followAll(p, vars, name) {
		if f.State > most.State {
			most = f
		}
	}
	return most
}

// followAll answers each value of a variable that is a pid. One beside it that is
// none may be what the program goes by, as an opt-out: programs take the first or
// the last.
func (j *judge) followAll(p *platform.Process, vars []platform.Var, name string) []Follow {
	var all []Follow
	optOut := false
	for _, v := range vars {
		if v.Name != name {
			continue
		}
		if pid, start, hasStart, ok := ParseFollowed(v.Value, j.world.System.MaxPID); ok {
			all = append(all, j.followed(p, v, pid, start, hasStart))
		} else {
			optOut = true
		}
	}
	if optOut && len(all) > 0 {
		all = append(all, Follow{State: FollowUnknown, Detail: "has " + name + " more than once, also as no pid, and which one counts cannot be told"})
	}
	return all
}

func (j *judge) followed(p *platform.Process, v platform.Var, pid int, start uint64, hasStart bool) Follow {
	f := Follow{PID: pid, Start: start}
	say := func(state FollowState, format string, args ...any) Follow {
		f.State, f.Detail = state, fmt.Sprintf(format, args...)
		return f
	}
	who := fmt.Sprintf("follows %d (%s)", pid, v.Name)
	if hasStart {
		who = fmt.Sprintf("follows %d@%d (%s)", pid, start, v.Name)
	}
	if holder := j.issuedOutside(p, v); holder != 0 {
		return say(FollowUnknown, "%s=%s came from outside this pid namespace (process %d has it too), so its number means nothing here", v.Name, v.Value, holder)
	}
	if pid == p.PID && (!hasStart || start == p.Start) {
		return say(FollowLive, "follows itself (%s=%s), which is running", v.Name, v.Value)
	}
	k, ok := j.ask(Fact{Kind: FactRunning, PID: pid})
	if !ok {
		return say(FollowUnknown, "%s, of which nothing is known yet", who)
	}
	live := k.Live
	switch {
	case live.Running == platform.No:
		return say(FollowDead, "%s, which is not running", who)
	case live.Running == platform.Unknown:
		return say(FollowUnknown, "%s, and whether that is running cannot be told", who)
	case hasStart && live.Of(start) == platform.Unknown:
		return say(FollowUnknown, "%s; %d is running, but its start cannot be read", who, pid)
	case hasStart && live.Of(start) == platform.No && !live.Kernel && !j.sameClock(p, platform.Identity{PID: pid, Start: live.Start}):
		return say(FollowUnknown, "%s; %d is running with another start, which may be the same one by the clock of another time namespace", who, pid)
	case hasStart && live.Of(start) == platform.No:
		return say(FollowDead, "%s, which is not running: pid %d is another process now, %d@%d", who, pid, pid, live.Start)
	case hasStart:
		return say(FollowLive, "%s, which is running", who)
	case live.Kernel || live.Start > p.Start && !j.older(p, pid):
		return say(FollowRecycled, "%s, which is alive, possibly recycled: its holder is %s", who, stranger(live))
	case live.Start > p.Start:
		return say(FollowDead, "%s, which is not running: pid %d is another process now, %d@%d, which was born after that value was given", who, pid, pid, live.Start)
	}
	return say(FollowLive, "%s, which is running", who)
}

// sameClock says whether start tokens mean the same to the follower, to the process
// that has the followed pid, and here: it was one of those two, or what it started,
// that wrote the token down.
func (j *judge) sameClock(follower *platform.Process, holder platform.Identity) bool {
	for _, id := range []platform.Identity{follower.ID(), holder} {
		if k, ok := j.ask(Fact{Kind: FactClock, Process: id}); !ok || k.Is != platform.Yes {
			return false
		}
	}
	return true
}

// older says whether the process got its environment before the holder of the pid
// was born, so that no value in it means that one. That the process itself is older
// proves less: it may have executed its program since.
func (j *judge) older(p *platform.Process, holder int) bool {
	k, _ := j.ask(Fact{Kind: FactOlder, Process: p.ID(), PID: holder})
	return k.Is == platform.Yes
}

func stranger(l platform.Liveness) string {
	if l.Kernel {
		return "a kernel thread"
	}
	return "younger than its follower"
}

// issuedOutside returns the pid of the namespace's init, or of an ancestor (or
// the process itself) that entered from outside, where that carries the same
// value: such a number was issued by the outer namespace. 0: not so.
func (j *judge) issuedOutside(p *platform.Process, v platform.Var) int {
	if !j.world.System.Nested {
		return 0
	}
	up, _ := j.world.Table.Ancestors(p.PID)
	for _, pid := range append(up, p.PID, 1) {
		a := j.world.Table.Get(pid)
		if a != nil && a.PPID == 0 && has(a.Vars, v) {
			return pid
		}
	}
	return 0
}

func has(vars []platform.Var, v platform.Var) bool {
	for _, o := range vars {
		if o == v {
			return true
		}
	}
	return false
}

func (j *judge) testFollows(t Test, p *platform.Process, vars []platform.Var, v Verdict) (Verdict, bool) {
	f := j.follow(p, vars, t.Name)
	switch f.State {
	case FollowDead:
		return v.prove(Follows, f.Detail), true
	case FollowLive:
		return v.spare(ParentRunning, f.Detail, f.PID), true
	case FollowRecycled:
		return v.spare(PossiblyRecycled, f.Detail, f.PID), true
	case FollowUnknown:
		return v.spare(UnknownReason, f.Detail, 0), true
	}
	if p.Env == platform.EnvOverwritten {
		return v.spare(UnknownReason, "its environment is empty or overwritten, so what it follows cannot be told", 0), true
	}
	return v, false
}

// LiveFollows returns what a process follows by any variable that any rule
// follows, as far as that runs, may run or cannot be told: work that must not be
// stopped along with something else. The most alive comes first.
func (j *Judgement) LiveFollows(p *platform.Process) []Follow {
	var live []Follow
	for _, name := range j.judge.rules.FollowNames() {
		for _, f := range j.judge.followAll(p, p.Vars, name) {
			if f.State > FollowDead {
				live = append(live, f)
			}
		}
	}
	slices.SortStableFunc(live, func(a, b Follow) int { return cmp.Compare(b.State, a.State) })
	return live
}

// OptedOut says whether somebody emptied a variable of the process that a rule
// follows: it has one that holds no pid, and none that does.
func (j *Judgement) OptedOut(p *platform.Process) (name string, ok bool) {
	follows := j.judge.rules.FollowNames()
	for _, v := range p.Vars {
		if !slices.Contains(follows, v.Name) {
			continue
		}
		if _, _, _, ok := ParseFollowed(v.Value, j.judge.world.System.MaxPID); ok {
			return "", false
		}
		name = v.Name
	}
	return name, name != ""
}
