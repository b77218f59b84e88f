package sweep_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"reaper/match"
	"reaper/platform"
	"reaper/sweep"
)

// The kernel of these tests is a process table that follows a script, in the
// time of a synctest bubble. What is going to happen waits in a queue and happens
// when the sweep next asks for anything, so that one run is like another.

const (
	readCost = time.Millisecond // of each pass over the table, so that the world moves between them
	bootTick = 1_000_000        // ticks since boot when a script begins
	dead     = 4242             // a pid that nothing holds
	outsider = 300              // a process that runs and is no member of anything
	sweeper  = 50
	me       = 1000 // user id
)

// kernel implements sweep.Machine.
type kernel struct {
	began  time.Time
	table  map[int]*process // by pid, zombies included
	past   []*process       // everything that was ever in the table
	queue  []event
	hooks  []hook
	count  map[string]int // calls so far, by operation
	faults []fault
	cancel func() // of the sweep's context
	xnu    bool   // it is macOS's, see becomeXNU
	counts bool   // and shows in which order processes were born and executed, as since 15.4
	blind  error  // what Trust says
	hides  bool   // and its table may lack processes

	calls          []call
	opened, closed int
	lastPID        int
	listed         time.Duration // when the table was last listed
	judging        bool          // whether each process belongs is found out as it is read
	broken         []string      // what no sweep may do to any machine
}

type event struct {
	at time.Duration // since the script began
	do func()
}

// hook runs before the nth call of an operation.
type hook struct {
	in  string
	nth int
	do  func()
}

// fault makes an operation fail in a span of time.
type fault struct {
	in       string // scan, survey, inspect, open, exited, wait, signal or group
	pid      int    // 0: any
	from, to time.Duration
	err      error // for inspect: unreadable, or stalled until the deadline
}

var (
	errUnreadable = errors.New("unreadable")
	errStalled    = errors.New("stalled")
	errTooMany    = errors.New("too many open files")
)

// call is one signal as the sweep sent it.
type call struct {
	at      time.Duration
	sig     syscall.Signal
	pid     int // 0 for a group
	group   int
	leader  bool // through the leader's handle
	reached []*process
	failed  error
}

// newKernel has an init that adopts, a shell with the sweep below it, and an
// outsider that runs.
func newKernel() *kernel {
	k := &kernel{began: time.Now(), table: map[int]*process{}, count: map[string]int{}, lastPID: 5000}
	k.spawn(process{pid: 1, argv: words("/sbin/init"), start: 1, adopts: true}).uid = 0
	k.spawn(process{pid: 40, argv: words("-bash")})
	k.spawn(process{pid: sweeper, ppid: 40, argv: words("reaper sweep")})
	k.spawn(process{pid: outsider, argv: words("/bin/outsider")})
	k.table[1].ppid = 0
	return k
}

func words(s string) []string { return strings.Fields(s) }

// now is the time since the script began.
func (k *kernel) now() time.Duration { return time.Since(k.began) }

// at lets something happen at a time since the script began.
func (k *kernel) at(d time.Duration, do func()) {
	k.queue = append(k.queue, event{d, do})
	slices.SortStableFunc(k.queue, func(a, b event) int { return cmp.Compare(a.at, b.at) })
}

func (k *kernel) after(d time.Duration, do func()) { k.at(k.now()+d, do) }

// before lets something happen right before the nth call of an operation.
func (k *kernel) before(in string, nth int, do func()) { k.hooks = append(k.hooks, hook{in, nth, do}) }

// step lets everything happen that is due, then counts the call. A pid of 0 is no
// process's.
func (k *kernel) step(in string, pid int) error {
	for len(k.queue) > 0 && k.queue[0].at <= k.now() {
		e := k.queue[0]
		k.queue = k.queue[1:]
		e.do()
	}
	k.count[in]++
	for _, h := range k.hooks {
		if h.in == in && h.nth == k.count[in] {
			h.do()
		}
	}
	return k.failing(in, pid)
}

func (k *kernel) failing(in string, pid int) error {
	for _, f := range k.faults {
		if f.in == in && (f.pid == 0 || f.pid == pid) && k.now() >= f.from && (f.to == 0 || k.now() < f.to) {
			return f.err
		}
	}
	return nil
}

func (k *kernel) violation(format string, args ...any) {
	k.broken = append(k.broken, fmt.Sprintf("%v: ", k.now())+fmt.Sprintf(format, args...))
}

// sleep ends with the context.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *kernel) System() (platform.System, error) {
	s := platform.System{PID: sweeper, PPID: 40, PGID: sweeper, SID: sweeper, UID: me, BootID: "boot", MaxPID: 1 << 22}
	s.TicksPerSecond = uint64(time.Second / k.tick())
	return s, nil
}

func (k *kernel) Now() time.Time { return time.Now() }

func (k *kernel) Ticks() uint64 { return bootTick + uint64(k.now()/k.tick()) }

func (k *kernel) Hides() bool { return k.hides }

func (k *kernel) Trust(context.Context) error { return k.blind }

func (k *kernel) Usage(pids []int) []platform.Usage {
	return slices.Repeat([]platform.Usage{{RSS: 1 << 20, User: "me"}}, len(pids))
}

func (k *kernel) Answer(_ context.Context, f match.Fact) match.Known {
	k.step("answer", f.PID)
	holder := k.running(f.PID)
	switch {
	case f.Kind == match.FactClock, f.Kind == match.FactPipes, f.Kind == match.FactOlder && k.olderThan(f.Process, holder):
		return match.Known{Is: platform.Yes}
	case f.Kind != match.FactRunning:
		return match.Known{}
	case holder != nil:
		return match.Known{Live: platform.Liveness{Running: platform.Yes, Start: holder.start}}
	}
	return match.Known{Live: platform.Liveness{Running: platform.No}}
}

// Open takes a handle on whatever holds the pid now.
func (k *kernel) Open(pid int) (sweep.Handle, error) {
	if err := k.step("open", pid); err != nil {
		return nil, err
	}
	p := k.table[pid]
	if p == nil {
		return nil, fmt.Errorf("pid %d: %w", pid, platform.ErrGone)
	}
	k.opened++
	p.held = k.reads()
	return &handle{k: k, p: p, start: p.start}, nil
}

// reads numbers the passes in which processes are looked at in detail.
func (k *kernel) reads() int { return k.count["inspect"] }

// handle stands for one process, whatever becomes of its pid.
type handle struct {
	k      *kernel
	p      *process
	start  uint64
	closed bool
}

func (h *handle) PID() int { return h.p.pid }

func (h *handle) Exited() (bool, error) {
	h.use()
	if err := h.k.step("exited", h.p.pid); err != nil {
		return false, err
	}
	return h.exited(), nil
}

func (h *handle) Close() error {
	h.use()
	h.closed = true
	h.k.closed++
	return nil
}

func (h *handle) use() {
	if h.closed {
		h.k.violation("the handle on %d is used after it was closed", h.p.pid)
	}
}

func (h *handle) Signal(sig syscall.Signal) error {
	h.use()
	err := h.k.step("signal", h.p.pid)
	if err == nil && h.lost() {
		err = platform.ErrGone
	}
	c := call{sig: sig, pid: h.p.pid, failed: err}
	if err == nil && !h.p.exited() {
		c.reached = []*process{h.p}
	}
	return h.k.send(c)
}

// SignalGroup goes to whatever has the number now, as kill(2) does; through the
// leader's handle to the group that it leads.
func (k *kernel) SignalGroup(pgid int, leader sweep.Handle, sig syscall.Signal) error {
	c := call{sig: sig, group: pgid, failed: k.step("group", pgid)}
	if leader != nil && !k.xnu {
		c.leader = true
		if h := leader.(*handle); h.p.pid != pgid {
			k.violation("group %d is signalled through the handle on %d", pgid, h.p.pid)
		}
	}
	if pgid <= 1 || pgid == sweeper {
		k.violation("group %d is signalled", pgid)
	}
	for _, p := range k.sorted() {
		if p.pgid == pgid && !p.exited() && c.failed == nil {
			c.reached = append(c.reached, p)
		}
	}
	if c.failed == nil && !slices.ContainsFunc(k.sorted(), func(p *process) bool { return p.pgid == pgid }) {
		c.failed = platform.ErrGone
	}
	if c.failed == nil && k.xnu && len(c.reached) == 0 {
		c.failed = platform.ErrGone // kill(2) says EPERM of zombies alone, and the members were looked at
	}
	return k.send(c)
}

func (k *kernel) send(c call) error {
	c.at = k.now()
	k.calls = append(k.calls, c)
	for _, p := range c.reached {
		k.audit(p, c)
		if p.held > 0 {
			p.got = append(p.got, sigName(c.sig))
		} else {
			p.stray = true // born after the reading: nobody can know
		}
	}
	for _, p := range c.reached {
		k.deliver(p, c.sig)
	}
	if c.failed != nil {
		return fmt.Errorf("signal: %w", c.failed)
	}
	return nil
}

// audit notes signals that no sweep may send, whatever the script.
func (k *kernel) audit(p *process, c call) {
	switch {
	case p.pid <= 1 || p.pid == sweeper || p.pid == 40 || p.pid == outsider:
		k.violation("%s reaches %d", sigName(c.sig), p.pid)
	case p.stranger:
		k.violation("%s reaches the stranger %d", sigName(c.sig), p.pid)
	case c.pid > 0 && p.held == 0:
		k.violation("%s reaches %d, on which no handle was open", sigName(c.sig), p.pid)
	case p.held > 0 && p.seen <= p.held:
		k.violation("%s reaches %d, which was not read since its handle was opened", sigName(c.sig), p.pid)
	case p.held > 0 && p.seen < k.reads():
		k.violation("%s reaches %d, which the last reading did not show", sigName(c.sig), p.pid)
	case k.judging && p.held > 0 && !p.legit:
		k.violation("%s reaches %d, which did not belong when it was read", sigName(c.sig), p.pid)
	case k.judging && p.held == 0 && !k.kin(p):
		k.violation("%s reaches %d, which is no kin of anything", sigName(c.sig), p.pid)
	}
}

// Wait blocks in the bubble's time until something happens.
func (k *kernel) Wait(ctx context.Context, handles []sweep.Handle, until time.Time, exited func(int, time.Time)) error {
	told := make([]bool, len(handles))
	for {
		if err := k.step("wait", 0); err != nil {
			return err
		}
		left := 0
		for i, h := range handles {
			h := h.(*handle)
			h.use()
			switch {
			case told[i]:
			case h.exited():
				told[i] = true
				exited(i, time.Now())
			default:
				left++
			}
		}
		if left == 0 || !time.Now().Before(until) {
			return nil
		}
		next := time.Until(until)
		if len(k.queue) > 0 {
			next = min(next, k.queue[0].at-k.now())
		}
		if err := sleep(ctx, next); err != nil {
			return err
		}
	}
}

func sigName(sig syscall.Signal) string {
	switch sig {
	case syscall.SIGTERM:
		return "TERM"
	case syscall.SIGKILL:
		return "KILL"
	case syscall.SIGCONT:
		return "CONT"
	}
	return sig.String()
}
