package platform

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

const mark = "PLATFORM_TEST_MARK"

var marked = Query{Names: []string{mark, mark + "_TWO"}}

func scan(t testing.TB, r *Reader, q Query) *Census {
	t.Helper()
	c, err := r.Scan(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func survey(t testing.TB, r *Reader, c *Census, q Query) {
	t.Helper()
	if err := r.Survey(t.Context(), c, q); err != nil {
		t.Fatal(err)
	}
}

// row is the pid's row, which must be there.
func (c *Census) row(t testing.TB, pid int) *Process {
	t.Helper()
	at, ok := c.find(pid)
	if !ok {
		t.Fatalf("pid %d has no row", pid)
	}
	return &c.Processes[at]
}

func TestScan(t *testing.T) {
	r := reader(t)
	big := strings.Repeat("x", 120_000)
	far := idler(t, []string{"A=" + big, "B=" + big, "C=" + big, "D=" + big, mark + "=far"})
	twice := helper(t, "exec", nil, nil)
	twice.line(t)
	twice.become(t, mark+"=1", mark+"_TWO=x=y", mark+"=2")
	miss := idler(t, []string{"X" + mark + "=1", mark + "_OLD=1", "A=b " + mark + "=1", "B=b\n" + mark + "=1"}, "prog", mark+"=1")
	raw := idler(t, []string{"BAD=\xff\xfe", mark + "=\xff"})

	c := scan(t, r, marked)
	for pid, want := range map[int][]Var{
		far.pid:   {{mark, "far"}},
		twice.pid: {{mark, "1"}, {mark + "_TWO", "x=y"}, {mark, "2"}},
		raw.pid:   {{mark, "\xff"}},
	} {
		// Nothing but the environment is read.
		if diff := cmp.Diff(Process{PID: pid, UID: -1, Env: EnvPresent, Vars: want}, *c.row(t, pid)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	if at, ok := c.find(miss.pid); ok {
		t.Errorf("there is nothing to say of %+v", c.Processes[at])
	}
	if !slices.IsSortedFunc(c.Processes, func(a, b Process) int { return a.PID - b.PID }) {
		t.Error("the rows are not in the order of the pids")
	}
	if c.Counts.Processes < len(c.Processes)+1 || c.Counts.Processes != len(c.read) || c.Cut {
		t.Errorf("%d rows, counts %+v, cut %v", len(c.Processes), c.Counts, c.Cut)
	}
	if got := c.row(t, twice.pid).Values(mark); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("values %q", got)
	}
}

// Kernel threads and zombies have no environment, and nobody wrote over it.
func TestScanBlank(t *testing.T) {
	r := reader(t)
	zombie := idler(t, nil)
	zombie.exit(t)
	bare := start(t, &exec.Cmd{Path: tool(t, "cat"), Args: []string{"cat"}, Env: []string{}})
	bare.tell(t, "up")
	bare.line(t)

	c := scan(t, r, marked)
	if p := c.row(t, zombie.pid); p.Env != EnvOverwritten || !p.Exited() || p.overwritten() {
		t.Errorf("zombie: %+v", p)
	}
	if p := c.row(t, bare.pid); !p.overwritten() {
		t.Errorf("empty environment: %+v", p)
	}
	if at, ok := c.find(2); ok && c.Processes[at].Kernel && c.Processes[at].Env != EnvOverwritten {
		t.Errorf("kernel thread: %+v", c.Processes[at])
	}
	n := 0
	for i := range c.Processes {
		if c.Processes[i].overwritten() {
			n++
		}
	}
	if n == 0 || n != c.Counts.Overwritten {
		t.Errorf("%d are overwritten, counted %d", n, c.Counts.Overwritten)
	}
}

// What is within an exec has no environment for a moment.
func TestScanReadsBlankOnesAgain(t *testing.T) {
	r := reader(t)
	target := idler(t, []string{mark + "=1"})
	first := true
	r.file = intercept(r.file, target.pid, "environ", func(read func() ([]byte, error)) ([]byte, error) {
		if first {
			first = false
			return nil, nil
		}
		return read()
	})
	if p := scan(t, r, marked).row(t, target.pid); p.Env != EnvPresent || len(p.Vars) != 1 {
		t.Errorf("%+v", p)
	}
}

// intercept puts f in the place of reading one file.
func intercept(file func(int, []byte, []byte) ([]byte, error), pid int, name string, f func(read func() ([]byte, error)) ([]byte, error)) func(int, []byte, []byte) ([]byte, error) {
	path := fmt.Sprintf("%d/%s", pid, name)
	return func(proc int, p, buf []byte) ([]byte, error) {
		if string(p) != path {
			return file(proc, p, buf)
		}
		return f(func() ([]byte, error) { return file(proc, p, buf) })
	}
}

func TestScanArgv(t *testing.T) {
	r := reader(t)
	c := idler(t, nil, "prog", "a b", "", "")
	q := Query{Argv: true}
	got := scan(t, r, q)
	if diff := cmp.Diff(Process{PID: c.pid, UID: -1, Argv: []string{"prog", "a b", "", ""}}, *got.row(t, c.pid)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if n := got.Counts; n.Overwritten != 0 { // what is unreadable may be another's, whose arguments cannot be read either
		t.Errorf("no environment was asked for: %+v", n)
	}
	one := idler(t, nil, "a b")
	if p := scan(t, r, q).row(t, one.pid); !slices.Equal(p.Argv, []string{"a b"}) || p.Titled {
		t.Errorf("exec -a: %q, titled %v", p.Argv, p.Titled)
	}
}

func TestSurvey(t *testing.T) {
	r := reader(t)
	old := idler(t, []string{mark + "=old"}, "old")
	leaves := idler(t, []string{mark + "=leaves"})
	zombie := idler(t, []string{mark + "=zombie"})
	c := scan(t, r, marked)
	leaves.end()
	zombie.exit(t)
	born := helper(t, "idle", []string{mark + "=born"}, nil, func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	})
	born.line(t)
	survey(t, r, c, marked)

	if _, ok := c.find(leaves.pid); ok || c.Counts.Vanished == 0 {
		t.Errorf("a process that was waited for has a row; %+v", c.Counts)
	}
	if p := c.row(t, zombie.pid); !p.Exited() || p.PPID != os.Getpid() {
		t.Errorf("zombie: %+v", p)
	}
	self := c.row(t, os.Getpid())
	p := *c.row(t, old.pid)
	if p.Start < self.Start || p.Start > r.Ticks() || p.State == 0 || p.Threads == 0 || p.Comm != "exe" {
		t.Errorf("%+v; now is %d", p, r.Ticks())
	}
	p.Start, p.State, p.Threads, p.Comm = 0, 0, 0, ""
	want := Process{
		PID: old.pid, PPID: os.Getpid(), PGID: unix.Getpgrp(), SID: self.SID, UID: -1, TTY: self.TTY, Foreground: self.Foreground,
		Env: EnvPresent, Vars: []Var{{mark, "old"}},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	p = *c.row(t, born.pid)
	if p.PGID != born.pid || p.SID != born.pid || !slices.Equal(p.Vars, []Var{{mark, "born"}}) || p.Env != EnvPresent {
		t.Errorf("born since: %+v", p)
	}
}

// A pid that was used again since Scan is another process: what it read does not hold.
func TestSurveyRecycled(t *testing.T) {
	r := reader(t)
	c := &Census{Began: 0} // every start is later: Scan has not seen these processes
	target := idler(t, []string{mark + "=new"})
	c.Processes = []Process{{PID: target.pid, Env: EnvPresent, Vars: []Var{{mark, "old"}}, Argv: []string{"old"}}}
	survey(t, r, c, marked)
	if p := c.row(t, target.pid); !slices.Equal(p.Vars, []Var{{mark, "new"}}) || p.Argv != nil {
		t.Errorf("%+v", p)
	}
	c = &Census{Began: 0, read: []int{target.pid}, plain: 1, env: EnvPresent} // nothing to say of what had the pid
	survey(t, r, c, marked)
	if p := c.row(t, target.pid); !slices.Equal(p.Vars, []Var{{mark, "new"}}) {
		t.Errorf("%+v", p)
	}
}

func TestInspect(t *testing.T) {
	r := reader(t)
	target := idler(t, []string{mark + "=1"}, "prog", "a", "")
	leaves := idler(t, []string{mark + "=2"})
	other := idler(t, []string{mark + "=3"})
	again := idler(t, []string{mark + "=4"})
	c := scan(t, r, marked)
	survey(t, r, c, marked)
	leaves.end()
	c.row(t, again.pid).Start-- // as if the pid had been another's
	vanished := c.Counts.Vanished
	r.Inspect(t.Context(), c, []int{target.pid, leaves.pid, again.pid, 1 << 30}, Query{Names: []string{mark + "_TWO", mark}})

	if p := c.row(t, target.pid); !slices.Equal(p.Argv, []string{"prog", "a", ""}) || !slices.Equal(p.Vars, []Var{{mark, "1"}}) || p.Start == 0 || p.Namespace != Yes {
		t.Errorf("%+v", p)
	}
	for _, pid := range []int{leaves.pid, again.pid} {
		if at, ok := c.find(pid); ok {
			t.Errorf("vanished: %+v", c.Processes[at])
		}
	}
	if c.Counts.Vanished != vanished+2 {
		t.Errorf("%d vanished", c.Counts.Vanished-vanished)
	}
	if p := c.row(t, other.pid); p.Argv != nil {
		t.Errorf("not asked for: %+v", p)
	}
}

// An exec keeps pid and start token; a row is of one program, not half of each.
func TestInspectExec(t *testing.T) {
	r := reader(t)
	target := helper(t, "exec", []string{mark + "=before"}, []string{"before"})
	target.line(t)
	c := scan(t, r, marked)
	survey(t, r, c, marked)
	start := c.row(t, target.pid).Start
	once := sync.OnceFunc(func() {
		target.become(t, mark+"=after")
	})
	r.file = intercept(r.file, target.pid, "environ", func(read func() ([]byte, error)) ([]byte, error) {
		data, err := read()
		once()
		return data, err
	})
	r.Inspect(t.Context(), c, []int{target.pid}, marked)
	p := c.row(t, target.pid)
	if !slices.Equal(p.Argv, []string{"became", "other"}) || !slices.Equal(p.Vars, []Var{{mark, "after"}}) || p.Start != start {
		t.Errorf("%+v", p)
	}
}

func TestInspectVanishing(t *testing.T) {
	for _, file := range []string{"cmdline", "environ", "stat"} {
		t.Run(file, func(t *testing.T) {
			r := reader(t)
			target := idler(t, []string{mark + "=1"})
			c := scan(t, r, marked)
			survey(t, r, c, marked)
			r.file = intercept(r.file, target.pid, file, func(read func() ([]byte, error)) ([]byte, error) {
				target.end()
				return read()
			})
			r.Inspect(t.Context(), c, []int{target.pid}, marked)
			if at, ok := c.find(target.pid); ok {
				t.Errorf("%+v", c.Processes[at])
			}
		})
	}
}

// A leader that has exited gave its memory up; the threads that go on show it.
func TestLeaderless(t *testing.T) {
	c := helper(t, "leaderless", []string{mark + "=1"}, []string{"prog", "arg"})
	c.line(t)
	r := reader(t)
	census := scan(t, r, Query{Names: marked.Names, Argv: true})
	if p := census.row(t, c.pid); !slices.Equal(p.Vars, []Var{{mark, "1"}}) || !slices.Equal(p.Argv, []string{"prog", "arg"}) {
		t.Errorf("scanned: %+v", p)
	}
	survey(t, r, census, marked)
	r.Inspect(t.Context(), census, []int{c.pid}, marked)
	p := census.row(t, c.pid)
	if p.State != 'Z' || p.Exited() || !slices.Equal(p.Vars, []Var{{mark, "1"}}) || !slices.Equal(p.Argv, []string{"prog", "arg"}) {
		t.Errorf("%+v", p)
	}
}

// A read that hangs costs its process, not the census: neither of the two workers
// gets beyond its first stuck item, so that only replacements can end this.
func TestScanHungReads(t *testing.T) {
	r := reader(t)
	r.stall = shortStall
	release := make(chan struct{})
	var back sync.WaitGroup
	var begun atomic.Int32
	var hung []*child
	for range crew + 1 {
		c := idler(t, []string{mark + "=hung"})
		hung = append(hung, c)
		back.Add(1)
		once := sync.OnceFunc(func() { back.Done() })
		r.file = intercept(r.file, c.pid, "environ", func(read func() ([]byte, error)) ([]byte, error) {
			begun.Add(1)
			<-release
			defer once()
			return read()
		})
	}
	well := idler(t, []string{mark + "=well"})
	c := scan(t, r, marked)
	for _, h := range hung {
		if diff := cmp.Diff(Process{PID: h.pid, UID: -1, Env: EnvUnreadable}, *c.row(t, h.pid)); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
	}
	if p := c.row(t, well.pid); len(p.Vars) != 1 || c.Cut || c.Counts.Unreadable < len(hung) {
		t.Errorf("%+v, cut %v, %+v", p, c.Cut, c.Counts)
	}
	c.Began++               // none of them was born within the tick of Scan, to be read again
	survey(t, r, c, marked) // stat does not hang: the rows get all but the environment
	if p := c.row(t, hung[0].pid); p.Env != EnvUnreadable || p.Start == 0 {
		t.Errorf("%+v", p)
	}
	r.Inspect(t.Context(), c, []int{hung[1].pid, well.pid}, marked)
	if p := c.row(t, hung[1].pid); p.Env != EnvUnreadable || p.Start == 0 || p.Detailed {
		t.Errorf("%+v", p)
	}
	if p := c.row(t, well.pid); p.Env != EnvPresent || p.Argv == nil {
		t.Errorf("%+v", p)
	}
	scan(t, r, marked)
	if n := begun.Load(); n != int32(len(hung)) {
		t.Errorf("%d reads were begun of %d that hang", n, len(hung))
	}
	after := slices.Clone(c.Processes)
	close(release)
	back.Wait()
	for r.hung.Load() != 0 { // the workers have yet to hear of it
		runtime.Gosched()
	}
	if p := scan(t, r, marked).row(t, hung[1].pid); p.Env != EnvPresent {
		t.Errorf("not read again: %+v", p)
	}
	if diff := cmp.Diff(after, c.Processes); diff != "" {
		t.Errorf("a late worker wrote: %s", diff)
	}
}

func TestScanCut(t *testing.T) {
	r := reader(t)
	target := idler(t, []string{mark + "=1"})
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	r.file = intercept(r.file, target.pid, "environ", func(read func() ([]byte, error)) ([]byte, error) {
		cancel()
		<-release
		return nil, unix.EIO
	})
	c, err := r.Scan(ctx, marked)
	if err != nil || !c.Cut || c.row(t, target.pid).Env != EnvUnreadable {
		t.Fatalf("%+v: %v", c, err)
	}
	if err := r.Survey(ctx, c, marked); err != nil || !c.Cut || c.row(t, target.pid).Env != EnvUnreadable {
		t.Errorf("%v", err)
	}
}

func TestDirentNumbers(t *testing.T) {
	r := reader(t)
	pids, err := r.pids()
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(pids, os.Getpid()) || !slices.IsSorted(pids) {
		t.Errorf("%v", pids)
	}
	for _, bad := range [][]byte{nil, make([]byte, 10), make([]byte, 100), bytes.Repeat([]byte{0xff}, 100)} {
		if got := direntNumbers(bad, nil); len(got) != 0 {
			t.Errorf("%v", got)
		}
	}
}

// Descriptors of every pass are given back.
func TestScanLeaksNothing(t *testing.T) {
	r := reader(t)
	scan(t, r, marked) // the runtime's own descriptors are open after this
	before := descriptors(t)
	for range 20 {
		c := scan(t, r, Query{Names: marked.Names, Argv: true})
		survey(t, r, c, marked)
		r.Inspect(t.Context(), c, []int{os.Getpid()}, marked)
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors became %d", before, after)
	}
}

func descriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// No allocation of ours for a process without a marker: what is left is the one
// copy of the path that syscall.Openat makes.
func TestScanAllocations(t *testing.T) {
	r := reader(t)
	want := newWanted(marked.Names)
	s := &scratch{buf: make([]byte, 0, 64<<10), path: make([]byte, 0, 64)}
	pid := os.Getpid()
	if n := testing.AllocsPerRun(100, func() { r.scan(s, pid, want, marked) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func TestReadFileBound(t *testing.T) {
	dev, err := unix.Open("/dev", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dev)
	if data, err := readFile(dev, []byte("zero"), nil); err != errTooLarge || len(data) != 0 {
		t.Errorf("%d bytes: %v", len(data), err)
	}
}

func BenchmarkScan(b *testing.B) {
	r := reader(b)
	q := Query{Names: []string{"QUIET_PARENT_PID", "QUIET_HOME", "QUIET_RUNNER_PID", "QUIET_JOB_PID"}}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n = len(scan(b, r, q).Processes)
	}
	perProcess(b, n)
}

func BenchmarkSurvey(b *testing.B) {
	r := reader(b)
	c := scan(b, r, marked)
	b.ReportAllocs()
	for b.Loop() {
		survey(b, r, c, marked)
	}
	perProcess(b, len(c.Processes))
}

func BenchmarkScanArgv(b *testing.B) {
	r := reader(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n = len(scan(b, r, Query{Argv: true}).Processes)
	}
	perProcess(b, n)
}

// perProcess adds the time for one process.
func perProcess(b *testing.B, n int) {
	b.ReportMetric(float64(n), "processes")
	b.ReportMetric(float64(b.Elapsed())/float64(time.Microsecond)/float64(b.N)/float64(n), "µs/process")
}
