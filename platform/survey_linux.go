package platform

import "context"

// Survey is the second pass, for when something matched: the table is listed
// again and every row gets all but its command line. Environments of Scan are
// kept; those of processes born since Scan began are read.
func (r *Reader) Survey(ctx context.Context, c *Census, q Query) error {
	pids, err := r.table()
	if err != nil {
		return err
	}
	want := newWanted(q.Names)
	born, vanished := c.split(pids)
	began := c.Began
	old := *c
	c.Processes = make([]Process, 0, len(pids))
	c.Counts.Vanished += vanished
	r.each(ctx, c, pids, func(s *scratch, i int) reading {
		return r.survey(s, pids[i], born[i], began, want, q)
	}, func(i int, got reading) {
		if got.gone {
			c.Counts.Vanished++
			return
		}
		if at, ok := old.find(pids[i]); ok && !got.recent {
			got.keep(&old.Processes[at])
		}
		c.Processes = append(c.Processes, got.row)
	})
	c.recount()
	return nil
}

// split marks the pids without a row and counts the rows whose pid is no longer listed.
func (c *Census) split(pids []int) (born []bool, vanished int) {
	born = make([]bool, len(pids))
	vanished = len(c.Processes)
	for i, pid := range pids {
		if _, ok := c.find(pid); ok {
			vanished--
		} else {
			born[i] = true
		}
	}
	return born, vanished
}

// keep takes over what Scan read of the same process.
func (got *reading) keep(scanned *Process) {
	row := &got.row
	row.Argv, row.Titled = scanned.Argv, scanned.Titled
	if row.Env != EnvUnreadable { // else Survey could not read it
		row.Env, row.Vars = scanned.Env, scanned.Vars
	}
}

// survey reads the process's row, and its environment if Scan has not read it:
// no row, or a start no earlier than Scan's, so that the pid may have been used again.
func (r *Reader) survey(s *scratch, pid int, born bool, began uint64, want *wanted, q Query) reading {
	got := reading{row: Process{PID: pid, UID: -1}}
	if _, ok := r.fill(s, &got); !ok {
		return got
	}
	if got.recent = born || got.row.Start >= began; got.recent {
		scanned := r.scan(s, pid, want, q)
		got.gone = scanned.gone
		got.keep(&scanned.row)
	}
	return got
}

// fill reads stat, owner and namespace. ok is false where the process has
// vanished or does not show its stat (hidepid=1): then it is unreadable.
func (r *Reader) fill(s *scratch, got *reading) (st stat, ok bool) {
	row := &got.row
	var err error
	if row.UID, err = r.owner(s, row.PID); err == nil {
		row.Namespace = r.sameNamespace(s, row.PID)
		st, err = r.stat(s, row.PID)
	}
	if err != nil {
		got.gone = gone(err)
		row.unreadable()
		return st, false
	}
	st.fill(row)
	if row.Kernel {
		row.Namespace = Yes
	}
	return st, true
}

// inspectTries bounds how often a process is read that executes again and again.
const inspectTries = 3

// Inspect reads the rows of these pids in full, environment and command line
// anew, all of it of one process and one program: stat is read before and after,
// where an exec, which keeps the start token, shows by the addresses. The row of
// a process that has ended, or whose pid another one holds, is dropped as vanished.
func (r *Reader) Inspect(ctx context.Context, c *Census, pids []int, q Query) {
	want := newWanted(q.Names)
	var listed []int
	var ids []Identity
	for _, pid := range pids {
		if at, ok := c.find(pid); ok {
			listed, ids = append(listed, pid), append(ids, c.Processes[at].ID())
		}
	}
	vanished := map[int]bool{}
	r.each(ctx, c, listed, func(s *scratch, i int) reading {
		return r.inspect(s, ids[i], want)
	}, func(i int, got reading) {
		at, _ := c.find(listed[i])
		row := &c.Processes[at]
		vanished[row.PID] = got.gone
		if got.row.State == 0 { // given up; what Survey read still holds
			row.unreadable()
			return
		}
		*row = got.row
	})
	c.drop(vanished)
	c.recount()
}

// inspect reads one process in full. Without a start token in its row (hidepid=1)
// any holder of the pid is taken.
func (r *Reader) inspect(s *scratch, id Identity, want *wanted) reading {
	var got reading
	for range inspectTries {
		got = reading{row: Process{PID: id.PID, UID: -1}}
		before, ok := r.fill(s, &got)
		if !ok {
			return got
		}
		if before.start != id.Start && id.Start != 0 {
			got.gone = true
			return got
		}
		if r.content(s, &got, &before, want); got.gone {
			return got
		}
		after, err := r.stat(s, id.PID)
		if err != nil || after.start != before.start {
			got.gone = err == nil || gone(err)
			got.row.unreadable()
			return got
		}
		after.fill(&got.row)
		if after.sameImage(&before) {
			got.row.Detailed = true
			return got
		}
	}
	got.row.unreadable()
	return got
}

// content reads the command line, then the environment: the former tells how far a
// title reaches into the latter.
func (r *Reader) content(s *scratch, got *reading, st *stat, want *wanted) {
	row := &got.row
	a := st.argvArea()
	a.comm = []byte(row.Comm) // st's own was part of the scratch
	block, err := r.read(s, row.PID, "cmdline")
	if err != nil {
		got.gone = gone(err)
		block = nil
	}
	if len(block) == 0 && row.halfway() {
		block = r.through(s, row.PID, "cmdline")
	}
	line := parseCmdline(block, a)
	if len(want.names) > 0 && !got.gone {
		r.environ(s, got, want, line.overrun)
	}
	row.setArgv(line)
}
