package platform

import (
	"context"
	"os"
	"slices"
)

// Scan is the first, cheap pass: the pids and, of each environment block, the
// variables of q.Names; with q.Argv the command lines too. A row holds no more,
// but where a block may not be read the owner, with the command line if that is
// this user, and where it is empty what stat says of why.
//
// What was not read when the context ended is EnvUnreadable, and the census Cut.
// An empty table, or one without this process, is an error.
func (r *Reader) Scan(ctx context.Context, q Query) (*Census, error) {
	c := &Census{Began: r.Ticks()}
	pids, err := r.table()
	if err != nil {
		return nil, err
	}
	want := newWanted(q.Names)
	c.Processes = make([]Process, 0, len(pids))
	r.each(ctx, c, pids, func(s *scratch, i int) reading {
		return r.scan(s, pids[i], want, q)
	}, func(_ int, got reading) {
		if got.gone {
			c.Counts.Vanished++
			return
		}
		c.Processes = append(c.Processes, got.row)
	})
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
	if _, ok := slices.BinarySearch(pids, os.Getpid()); !ok {
		return nil, errNotListed
	}
	return pids, nil
}

// each reads the pids by work and hands the readings to keep, in order. One that
// was given up is a row of nothing but its pid, unreadable. work may come back
// after the census was handed out, so it must share nothing with it.
func (r *Reader) each(ctx context.Context, c *Census, pids []int, work func(*scratch, int) reading, keep func(int, reading)) {
	p := newPool(len(pids), r.stall, work)
	if p.run(ctx, crew) {
		c.Cut = true
	}
	for i, pid := range pids {
		got, ok := p.result(i)
		if !ok {
			got = reading{row: Process{PID: pid, UID: -1, Env: EnvUnreadable}}
		}
		keep(i, got)
	}
}

// again reads those once more that have no environment and no reason for it: most
// were within an exec.
func (r *Reader) again(ctx context.Context, c *Census, want *wanted, q Query) {
	var pids []int
	for i := range c.Processes {
		if p := &c.Processes[i]; p.overwritten() {
			pids = append(pids, p.PID)
		}
	}
	vanished := map[int]bool{}
	r.each(ctx, c, pids, func(s *scratch, i int) reading {
		return r.scan(s, pids[i], want, q)
	}, func(i int, got reading) {
		at, _ := c.find(pids[i])
		c.Processes[at] = got.row
		vanished[pids[i]] = got.gone
	})
	c.drop(vanished)
}

func (r *Reader) scan(s *scratch, pid int, want *wanted, q Query) reading {
	got := reading{row: Process{PID: pid, UID: -1}}
	if len(want.names) > 0 {
		r.environ(s, &got, want, false)
	}
	if q.Argv && !got.gone && got.row.Argv == nil && !got.row.Kernel {
		r.argv(s, &got)
	}
	return got
}

// environ reads the block. An empty one says little: a kernel thread and a zombie
// have none (no bytes; ESRCH on opening it was seen with 6.18), and neither
// has, for some µs, a process within an exec.
func (r *Reader) environ(s *scratch, got *reading, want *wanted, overrun bool) {
	row := &got.row
	block, err := r.read(s, row.PID, "environ")
	if err != nil && !gone(err) {
		r.refused(s, got)
		return
	}
	if err == nil {
		row.Vars, row.Env = want.scan(block, overrun)
	}
	if row.Env != EnvPresent {
		r.blank(s, got, want)
	}
}

// blank finds out why a process has no environment.
func (r *Reader) blank(s *scratch, got *reading, want *wanted) {
	row := &got.row
	st, err := r.stat(s, row.PID)
	if err != nil {
		got.gone = gone(err)
		row.unreadable()
		return
	}
	st.fill(row)
	row.Env = EnvOverwritten
	if row.halfway() {
		row.Vars, row.Env = want.scan(r.through(s, row.PID, "environ"), false)
	}
}

// through reads a file of another thread: a leader that has exited gave its memory
// up, while the threads that go on still show it.
func (r *Reader) through(s *scratch, pid int, name string) []byte {
	for _, tid := range r.threads(s, pid) {
		block, err := r.read(s, pid, threadFile(tid, name))
		if err == nil && len(block) > 0 {
			return block
		}
	}
	return nil
}

// refused fills in what tells whose process it is whose block may not be read.
func (r *Reader) refused(s *scratch, got *reading) {
	row := &got.row
	row.unreadable()
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

// argv reads the command line, and stat where only that can tell a title or why
// there is none.
func (r *Reader) argv(s *scratch, got *reading) {
	row := &got.row
	block, err := r.read(s, row.PID, "cmdline")
	if err != nil {
		got.gone = got.gone || gone(err)
		return
	}
	if len(block) > 0 && !needsArea(block) {
		row.setArgv(parseCmdline(block, area{}))
		return
	}
	aside := scratch{path: s.path}
	st, err := r.stat(&aside, row.PID)
	if err != nil {
		got.gone = got.gone || gone(err)
		return
	}
	if len(block) == 0 {
		st.fill(row)
		if row.halfway() {
			block = r.through(s, row.PID, "cmdline")
		}
	}
	row.setArgv(parseCmdline(block, st.argvArea()))
}

func (p *Process) setArgv(line cmdline) { p.Argv, p.Titled = line.argv, line.titled }
