package platform

import (
	"context"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// reading is one process as a worker read it.
type reading struct {
	row    Process
	gone   bool // vanished while it was read
	recent bool // may be another process than the one that Scan read
}

var errEmptyTable = errors.New("cannot read the process table: this process is not in it")

// Scan is the first, cheap pass: the pids and, of each environment block, the
// variables of q.Names; with q.Argv the command lines too. A row holds no more
// than that, except that where a block cannot be read its owner is filled in,
// with the command line if that is this user, and where it holds nothing,
// whether that is a kernel thread's or a zombie's.
//
// What was not read when the context ended is EnvUnreadable, and the census Cut.
func (r *Reader) Scan(ctx context.Context, q Query) (*Census, error) {
	c := &Census{Began: r.Ticks()}
	pids, err := r.table()
	if err != nil {
		return nil, err
	}
	want := newWanted(q.Names)
	c.Processes = make([]Process, 0, len(pids))
	r.each(ctx, c, pids, func(s *scratch, i int) reading { return r.scan(s, pids[i], want, q) },
		func(_ int, got reading) { c.Processes = append(c.Processes, got.row) })
	r.again(ctx, c, want, q)
	c.recount()
	return c, nil
}

// table lists the pids, this process's among them.
func (r *Reader) table() ([]int, error) {
	pids, err := r.pids()
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	for _, pid := range pids {
		if pid == self {
			return pids, nil
		}
	}
	return nil, errEmptyTable
}

// each reads the pids by work and hands what did not vanish to keep, in order.
// A read that was given up is a row of nothing but its pid, unreadable. work may
// come back after the census was handed out, so it must share nothing with it.
func (r *Reader) each(ctx context.Context, c *Census, pids []int, work func(*scratch, int) reading, keep func(int, reading)) {
	p := newPool(len(pids), r.stall, work)
	if p.run(ctx, crew) {
		c.Cut = true
	}
	for i, pid := range pids {
		got, ok := p.result(i)
		switch {
		case !ok:
			keep(i, reading{row: Process{PID: pid, UID: -1, Env: EnvUnreadable}})
		case got.gone:
			c.Counts.Vanished++
		default:
			keep(i, got)
		}
	}
}

// again reads the processes once more whose block was empty though they are
// neither kernel threads nor zombies: most are in the middle of an exec.
func (r *Reader) again(ctx context.Context, c *Census, want *wanted, q Query) {
	var pids []int
	for i := range c.Processes {
		if p := &c.Processes[i]; p.overwritten() {
			pids = append(pids, p.PID)
		}
	}
	var vanished []int
	r.each(ctx, c, pids, func(s *scratch, i int) reading {
		got := r.scan(s, pids[i], want, q)
		return reading{row: got.row, recent: got.gone} // counted where it is dropped
	}, func(i int, got reading) {
		if got.recent {
			vanished = append(vanished, pids[i])
		} else if at, ok := c.find(pids[i]); ok {
			c.Processes[at] = got.row
		}
	})
	c.drop(vanished)
}

func (r *Reader) scan(s *scratch, pid int, want *wanted, q Query) reading {
	got := reading{row: Process{PID: pid, UID: -1}}
	if len(want.names) > 0 {
		r.environ(s, &got, want, false)
	}
	if got.gone || !q.Argv || got.row.Argv != nil || got.row.Kernel {
		return got
	}
	r.argv(s, &got)
	return got
}

// environ reads the block. Empty says little: a kernel thread and a zombie have
// none (ESRCH on opening since about 6.16, no bytes before), and neither has, for some µs, a process
// within an exec.
func (r *Reader) environ(s *scratch, got *reading, want *wanted, overrun bool) {
	row := &got.row
	block, err := r.read(s, row.PID, "environ")
	switch {
	case err == nil && len(block) > 0:
		row.Vars, row.Env = want.scan(block, overrun)
		if row.Env == EnvOverwritten {
			r.blank(s, got, want)
		}
	case err == nil || gone(err):
		r.blank(s, got, want)
	default:
		r.refused(s, got)
	}
}

// blank finds out why a process has no environment.
func (r *Reader) blank(s *scratch, got *reading, want *wanted) {
	row := &got.row
	st, err := r.stat(s, row.PID)
	if err != nil {
		got.gone = gone(err)
		row.Env = EnvUnreadable
		return
	}
	st.fill(row)
	row.Env = EnvOverwritten
	if row.Exiting() && !row.Exited() {
		r.thread(s, row, want)
	}
}

// thread reads the block through another thread: a leader that has exited gave
// its memory up, while the threads that go on still show the same block.
func (r *Reader) thread(s *scratch, row *Process, want *wanted) {
	for _, tid := range r.threads(s, row.PID) {
		if tid == row.PID {
			continue
		}
		block, err := r.read(s, row.PID, "task/"+strconv.Itoa(tid)+"/environ")
		if err == nil && len(block) > 0 {
			row.Vars, row.Env = want.scan(block, false)
			return
		}
	}
}

func (r *Reader) threads(s *scratch, pid int) []int {
	dir, err := openFile(r.proc, s.at(pid, "task"))
	if err != nil {
		return nil
	}
	defer unix.Close(dir)
	tids, _ := numbers(dir, nil)
	return tids
}

// refused fills in what tells whose process it is whose block may not be read.
func (r *Reader) refused(s *scratch, got *reading) {
	row := &got.row
	row.Env = EnvUnreadable
	var err error
	if row.UID, err = r.owner(s, row.PID); err != nil {
		got.gone = gone(err)
		return
	}
	if st, err := r.stat(s, row.PID); err == nil && st.flags&kernelThread != 0 {
		st.fill(row)
		row.Env = EnvOverwritten
		return
	}
	if row.UID == r.uid {
		r.argv(s, got)
	}
}

// argv reads the command line.
func (r *Reader) argv(s *scratch, got *reading) {
	row := &got.row
	block, err := r.read(s, row.PID, "cmdline")
	if err != nil {
		got.gone = got.gone || gone(err)
		return
	}
	line := parseCmdline(block, area{})
	if needsArea(block) {
		if st, err := r.statAside(s, row.PID); err == nil {
			line = parseCmdline(block, st.argvArea())
		}
	}
	row.Argv, row.Titled = line.argv, line.titled
}

// statAside reads stat without touching what the scratch holds.
func (r *Reader) statAside(s *scratch, pid int) (stat, error) {
	aside := scratch{buf: make([]byte, 0, 1024), path: s.path}
	return r.stat(&aside, pid)
}
