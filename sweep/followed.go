package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"reaper/match"
	"reaper/platform"
)

const homeGap = 2 * time.Second // between two looks for the home

// follow takes a handle on the followed process, and makes sure that it is that one.
func (r *runner) follow(system platform.System) error {
	id := r.o.Follow
	parent := id.PID == 0
	if parent {
		id.PID = system.PPID
	}
	switch {
	case parent && r.firstOf(system):
		return nil
	case parent && id.PID == 0:
		return errors.New("the parent is in another pid namespace: name what to follow by --follow (1 never exits)")
	case parent && id.PID == 1:
		return errors.New("the parent has exited, or it is pid 1, which has not started this for itself: name what to follow by --follow (1 never exits)")
	}
	h, err := r.m.Open(id.PID)
	runs := platform.No
	if err == nil {
		r.followed = h
		runs = r.holds(h, id, parent)
	} else if Alive(context.Background(), r.m, id) != platform.No {
		return fmt.Errorf("follow %d: %w", id.PID, err)
	}
	switch runs {
	case platform.No:
		return fmt.Errorf("%s is not running", r.followedName(id))
	case platform.Unknown:
		return fmt.Errorf("whether %s is running cannot be told", r.followedName(id))
	}
	r.follows = id
	return nil
}

// firstOf says whether this process is what a container or a service was made for:
// pid 1, or a child that pid 1 has started itself. Nobody's end is to be waited for
// there: what runs ends with pid 1 at the latest. A child that pid 1 adopted is told
// by its session, which is another one than pid 1's; within that one it cannot be told.
func (r *runner) firstOf(system platform.System) bool {
	if system.PID == 1 || system.PPID != 1 {
		return system.PID == 1
	}
	return slices.Contains(r.o.Env, "SYSTEMD_EXEC_PID="+strconv.Itoa(system.PID)) ||
		system.Nested && system.SID == platform.Session(1) ||
		system.SID == system.PID && platform.OldestChild(1) == system.PID // dumb-init's
}

// holds says whether the handle is that of the followed process. While it has not
// exited its pid is no other's, so what was asked by number was its own.
func (r *runner) holds(h Handle, id platform.Identity, parent bool) platform.Answer {
	runs := Alive(context.Background(), r.m, id)
	if system, err := r.m.System(); parent && (err != nil || system.PPID != id.PID) {
		return platform.No // another process has adopted this one
	}
	if gone, err := h.Exited(); err != nil {
		return platform.Unknown
	} else if gone {
		return platform.No
	}
	return runs
}

func (r *runner) followedName(id platform.Identity) string {
	name := fmt.Sprint(id.PID)
	if id.Start != 0 {
		name = id.String()
	}
	if r.o.Follow.PID == 0 {
		return "the parent " + name
	}
	return name + ", which is to be followed,"
}

func (r *runner) checkHome() error {
	if r.o.Home == "" {
		return nil
	}
	switch r.m.Answer(context.Background(), match.Fact{Kind: match.FactGone, Process: r.self, Path: r.o.Home}).Is {
	case platform.Yes:
		return fmt.Errorf("the home %s does not exist", printable(r.o.Home))
	case platform.Unknown:
		return fmt.Errorf("whether the home %s exists cannot be told", printable(r.o.Home))
	}
	home, err := platform.OpenFolder(r.o.Home)
	if err != nil {
		return fmt.Errorf("the home %s: %w", printable(r.o.Home), err)
	}
	r.home = home
	return nil
}

// awaitFollowed tells by closing the channel that the followed process has exited.
func (r *runner) awaitFollowed(ctx context.Context, exited chan struct{}) {
	for ctx.Err() == nil {
		gone := false
		err := r.m.Wait(ctx, []Handle{r.followed}, r.m.Now().Add(time.Hour), func(int, time.Time) { gone = true })
		if gone {
			close(exited)
			return
		}
		if err != nil {
			pause(ctx, homeGap)
		}
	}
}

// awaitHome looks for the home every now and then, and whether it is still the same
// folder; a look that hangs is waited for.
func (r *runner) awaitHome(ctx context.Context, gone chan struct{}) {
	for tick := time.NewTicker(homeGap); ctx.Err() == nil; <-tick.C {
		if r.m.Missing(context.Background(), r.self, r.o.Home) == platform.Yes || r.home.Is(r.o.Home) == platform.No {
			close(gone)
			return
		}
	}
}
