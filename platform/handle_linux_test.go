package platform

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// waitAll waits for the exit of all, an hour at most.
func waitAll(t testing.TB, handles ...*Handle) {
	t.Helper()
	n := 0
	err := Wait(t.Context(), handles, time.Now().Add(time.Hour), func(int, time.Time) { n++ })
	if err != nil || n != len(handles) {
		t.Fatalf("%d of %d exited: %v", n, len(handles), err)
	}
}

func TestOpenHandleGone(t *testing.T) {
	c := idler(t, nil)
	c.end()
	thread := helper(t, "threaded", nil, nil)
	tid, err := strconv.Atoi(thread.line(t))
	if err != nil {
		t.Fatal(err)
	}
	beyond := maxPID
	beyond = max(beyond<<10+1, maxPID+1) // 1<<32 + 1 where int has the bits
	for what, pid := range map[string]int{"waited for": c.pid, "thread": tid, "above all": maxPID + 1, "32 bits of 1": beyond} {
		if h, err := OpenHandle(pid); !errors.Is(err, ErrGone) || h != nil {
			t.Errorf("%s: %v", what, err)
		}
		if live := reader(t).Liveness(pid); live != (Liveness{Running: No}) {
			t.Errorf("%s: %+v", what, live)
		}
	}
	for _, pid := range []int{0, -1, -c.pid} {
		if h, err := OpenHandle(pid); err == nil || errors.Is(err, ErrGone) || h != nil {
			t.Errorf("%d: %v", pid, err)
		}
		if live := reader(t).Liveness(pid); live != (Liveness{}) {
			t.Errorf("%d: %+v", pid, live)
		}
	}
}

func TestLiveness(t *testing.T) {
	r := reader(t)
	live := idler(t, nil)
	zombie := idler(t, nil)
	zombie.exit(t)
	leaderless := helper(t, "leaderless", nil, nil)
	leaderless.line(t)
	stat, err := r.stat(&scratch{}, live.pid)
	if err != nil {
		t.Fatal(err)
	}
	for what, row := range map[string]struct {
		pid  int
		want Answer
	}{"live": {live.pid, Yes}, "zombie": {zombie.pid, No}, "leader exited, threads live": {leaderless.pid, Yes}, "self": {os.Getpid(), Yes}} {
		got := r.Liveness(row.pid)
		if got.Running != row.want || got.Kernel || (got.Start != 0) != (row.want == Yes) {
			t.Errorf("%s: %+v", what, got)
		}
		h := handle(t, row.pid)
		if exited, err := h.Exited(); err != nil || AnswerOf(!exited) != row.want {
			t.Errorf("%s: exited %v, %v", what, exited, err)
		}
	}
	if got := r.Liveness(live.pid).Start; got != stat.start {
		t.Errorf("start %d, want %d", got, stat.start)
	}
	leaderless.exit(t)
	if got := r.Liveness(leaderless.pid); got.Running != No {
		t.Errorf("all threads have exited: %+v", got)
	}
}

func TestLivenessKernelThread(t *testing.T) {
	r := reader(t)
	if s, err := r.stat(&scratch{}, 2); err != nil || s.flags&kernelThread == 0 {
		t.Skip("pid 2 is no kernel thread here")
	}
	if got := r.Liveness(2); got.Running != Yes || !got.Kernel {
		t.Errorf("%+v", got)
	}
}

func TestLivenessHidden(t *testing.T) {
	needRoot(t, "mount a procfs")
	var got Liveness
	line := helper(t, "hidden", nil, nil, namespaces(syscall.CLONE_NEWNS)).line(t)
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	if got != (Liveness{Running: Yes}) {
		t.Errorf("%+v", got)
	}
}

// Without a descriptor left only the certain answer is given.
func TestLivenessWithoutPidfd(t *testing.T) {
	r := reader(t)
	live := idler(t, nil)
	ended := idler(t, nil)
	ended.end()
	if got := r.probe(live.pid); got != (Liveness{}) {
		t.Errorf("live: %+v", got)
	}
	if got := r.probe(ended.pid); got != (Liveness{Running: No}) {
		t.Errorf("ended: %+v", got)
	}
}

func TestSignal(t *testing.T) {
	c := idler(t, nil)
	h := handle(t, c.pid)
	if h.PID() != c.pid {
		t.Errorf("pid %d, want %d", h.PID(), c.pid)
	}
	if err := h.Signal(Terminate); err != nil {
		t.Fatal(err)
	}
	waitAll(t, h)
	if err := h.Signal(Kill); err != nil {
		t.Errorf("a zombie takes signals: %v", err)
	}
	c.cmd.Wait()
	if ws := c.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signal() != syscall.SIGTERM {
		t.Errorf("ended by %v", ws.Signal())
	}
	if err := h.Signal(Kill); !errors.Is(err, ErrGone) {
		t.Errorf("waited for: %v", err)
	}
	if exited, err := h.Exited(); !exited || err != nil {
		t.Errorf("waited for: exited %v, %v", exited, err)
	}
	for _, pid := range []int{1, 0, -1} {
		if err := (&Handle{pid, h.fd}).Signal(Continue); err == nil || errors.Is(err, ErrGone) {
			t.Errorf("pid %d: %v", pid, err)
		}
	}
}

func TestClosedHandle(t *testing.T) {
	h := &Handle{pid: 4242, fd: 1 << 20}
	if exited, err := h.Exited(); err == nil || exited {
		t.Errorf("a failed poll: exited %v, %v", exited, err)
	}
	err := Wait(t.Context(), []*Handle{h}, time.Now().Add(time.Hour), func(int, time.Time) { t.Error("exited") })
	if !errors.Is(err, unix.EBADF) {
		t.Errorf("wait: %v", err)
	}
}

// group starts a leader and a member of its process group.
func group(t *testing.T) (leader, member *child) {
	t.Helper()
	in := func(pgid int) func(*exec.Cmd) {
		return func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: pgid} }
	}
	leader = helper(t, "idle", nil, nil, in(0))
	leader.line(t)
	member = helper(t, "idle", nil, nil, in(leader.pid))
	member.line(t)
	return leader, member
}

func TestSignalGroup(t *testing.T) {
	for _, how := range []string{"leader", "number", "old kernel", "leader gone"} {
		t.Run(how, func(t *testing.T) {
			leader, member := group(t)
			alone := idler(t, nil)
			lh, mh, ah := handle(t, leader.pid), handle(t, member.pid), handle(t, alone.pid)
			via := lh
			switch how {
			case "number":
				via = nil
			case "old kernel":
				was := noGroupFlag.Swap(true)
				defer noGroupFlag.Store(was)
			case "leader gone":
				leader.end()
			}
			if err := SignalGroup(leader.pid, via, Terminate); err != nil {
				t.Fatal(err)
			}
			waitAll(t, lh, mh)
			if exited, err := ah.Exited(); exited || err != nil {
				t.Errorf("outside the group: exited %v, %v", exited, err)
			}
			leader.end()
			member.end()
			if err := SignalGroup(leader.pid, via, Terminate); !errors.Is(err, ErrGone) {
				t.Errorf("empty group: %v", err)
			}
		})
	}
}

func TestSignalGroupRefuses(t *testing.T) {
	for _, pgid := range []int{0, 1, -1, -2, unix.Getpgrp(), maxPID + 1} {
		if err := SignalGroup(pgid, nil, syscall.Signal(0)); err == nil || errors.Is(err, ErrGone) {
			t.Errorf("group %d: %v", pgid, err)
		}
	}
}

// Three hundred processes that exit one after the other, each because the one
// before was seen to.
func TestWait(t *testing.T) {
	const n = 300
	cat := tool(t, "cat")
	var children []*child
	var handles []*Handle
	for range n {
		c := start(t, &exec.Cmd{Path: cat, Args: []string{"cat"}})
		children, handles = append(children, c), append(handles, handle(t, c.pid))
	}
	began := time.Now()
	seen := map[int]time.Time{}
	children[n-1].in.Close()
	err := Wait(t.Context(), handles, began.Add(time.Hour), func(i int, at time.Time) {
		if _, again := seen[i]; again || i != n-1-len(seen) {
			t.Errorf("%d is reported after %d others, again %v", i, len(seen), again)
		}
		seen[i] = at
		if i > 0 {
			children[i-1].in.Close()
		}
	})
	if err != nil || len(seen) != n {
		t.Fatalf("%d of %d exited: %v", len(seen), n, err)
	}
	if seen[0].Before(seen[n-1]) || seen[n-1].Before(began) {
		t.Error("the times are not in order")
	}
}

func TestWaitEnds(t *testing.T) {
	live, zombie := idler(t, nil), idler(t, nil)
	zombie.exit(t)
	handles := []*Handle{handle(t, live.pid), handle(t, zombie.pid)}
	only := func(i int, _ time.Time) {
		if i != 1 {
			t.Errorf("%d is said to have exited", i)
		}
	}
	if err := Wait(t.Context(), nil, time.Now().Add(time.Hour), only); err != nil {
		t.Errorf("nothing to wait for: %v", err)
	}
	for _, until := range []time.Time{{}, time.Now().Add(-time.Hour), time.Now().Add(20 * time.Millisecond)} {
		seen := 0
		err := Wait(t.Context(), handles, until, func(i int, at time.Time) { only(i, at); seen++ })
		if err != nil || seen != 1 || time.Now().Before(until) {
			t.Errorf("until %v: %d exits, %v", until, seen, err)
		}
	}
}

func TestWaitCancelled(t *testing.T) {
	live, zombie := idler(t, nil), idler(t, nil)
	zombie.exit(t)
	ctx, cancel := context.WithCancel(t.Context())
	handles := []*Handle{handle(t, live.pid), handle(t, zombie.pid)}
	// The first exit cancels, from within and so after the first poll.
	err := Wait(ctx, handles, time.Now().Add(time.Hour), func(int, time.Time) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled after a poll: %v", err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	go cancel()
	if err := Wait(ctx, handles[:1], time.Now().Add(time.Hour), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it polls: %v", err)
	}
}

func TestHandlesLeakNothing(t *testing.T) {
	c := idler(t, nil)
	r := reader(t)
	h := handle(t, c.pid)
	before := descriptors(t)
	for range 50 {
		h, err := OpenHandle(c.pid)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		Wait(ctx, []*Handle{h}, time.Now().Add(time.Hour), nil)
		Wait(t.Context(), []*Handle{h}, time.Time{}, nil)
		r.Liveness(c.pid)
		r.Liveness(os.Getpid())
		h.Close()
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors became %d", before, after)
	}
	if exited, err := h.Exited(); exited || err != nil {
		t.Errorf("exited %v, %v", exited, err)
	}
}

// Another user's process may be held on to and waited for, not signalled.
func TestSignalDenied(t *testing.T) {
	if os.Geteuid() != 0 {
		h := handle(t, 1)
		if err := signalError("pid", 1, unix.PidfdSendSignal(h.fd, syscall.Signal(0), nil, 0)); !errors.Is(err, ErrDenied) {
			t.Error(err)
		}
		return
	}
	if err := signalError("pid", 7, unix.EPERM); !errors.Is(err, ErrDenied) || err.Error() != "signal pid 7: not permitted" {
		t.Error(err)
	}
}
