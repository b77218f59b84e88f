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
	known, born := r.split(c, pids)
	began := c.Began
	old := *c
	c.Processes = make([]Process, 0, len(pids))
	c.Counts.Vanished += len(old.Processes) - known
	r.each(ctx, c, pids, func(s *scratch, i int) reading {
		return r.survey(s, pids[i], born[i], began, want, q)
	}, func(i int, got reading) {
		if at, ok := old.find(pids[i]); ok && !got.recent {
			got.keep(&old.Processes[at])
		}
		c.Processes = append(c.Processes, got.row)
	})
	c.recount()
	return nil
}

// split counts the rows that are still listed and marks the pids that have none.
func (r *Reader) split(c *Census, pids []int) (known int, born []bool) {
	born = make([]bool, len(pids))
	for i, pid := range pids {
		if _, ok := c.find(pid); ok {
			known++
		} else {
			born[i] = true
		}
	}
	return known, born
}

// keep takes over what Scan read of the same process.
func (got *reading) keep(scanned *Process) {
	row := &got.row
	if row.Env != EnvUnreadable {
		row.Env = scanned.Env
	}
	row.Vars, row.Argv, row.Titled = scanned.Vars, scanned.Argv, scanned.Titled
}

// survey reads the process's row, and its environment if Scan has not read it:
// no row, or a start no earlier than Scan's, so that the pid may have been used again.
func (r *Reader) survey(s *scratch, pid int, born bool, began uint64, want *wanted, q Query) reading {
	got := reading{row: Process{PID: pid, UID: -1}}
	if _, ok := r.fill(s, &got); !ok || got.gone {
		return got
	}
	if got.recent = born || got.row.Start >= began; got.recent {
		full := r.scan(s, pid, want, q)
		got.gone = full.gone
		got.keep(&full.row)
		got.row.Env = full.row.Env
	}
	return got
}

// fill reads stat, owner and namespace. ok is false where stat cannot be read
// though the process is there (hidepid=1): then the row says unreadable.
func (r *Reader) fill(s *scratch, got *reading) (st stat, ok bool) {
	row := &got.row
	st, err := r.stat(s, row.PID)
	if err == nil {
		st.fill(row)
		st.comm = nil // part of the scratch
	} else if got.gone = gone(err); got.gone {
		return st, false
	} else {
		row.Env = EnvUnreadable
	}
	var ownerErr error
	if row.UID, ownerErr = r.owner(s, row.PID); ownerErr != nil {
		got.gone = gone(ownerErr)
	}
	row.Namespace = Yes
	if !row.Kernel {
		row.Namespace = r.sameNamespace(s, row.PID)
	}
	return st, err == nil
}

// inspectTries bounds how often a process that keeps executing is read again.
const inspectTries = 3

// Inspect reads the rows of these pids in full, environment and command line
// anew, and takes care that all of it is of one process and of one image: stat
// is read before and after, and an exec, which keeps the start token, shows by the
// addresses. A row whose process has ended is dropped as vanished.
func (r *Reader) Inspect(ctx context.Context, c *Census, pids []int, q Query) {
	want := newWanted(q.Names)
	ids := make([]Identity, 0, len(pids))
	listed := make([]int, 0, len(pids))
	for _, pid := range pids {
		if at, ok := c.find(pid); ok {
			ids = append(ids, c.Processes[at].ID())
			listed = append(listed, pid)
		}
	}
	kept := make(map[int]bool, len(listed))
	vanished := c.Counts.Vanished
	r.each(ctx, c, listed, func(s *scratch, i int) reading {
		return r.inspect(s, ids[i], want)
	}, func(i int, got reading) {
		kept[listed[i]] = true
		at, _ := c.find(listed[i])
		if row := &c.Processes[at]; got.row.Env == EnvUnreadable && got.row.State == 0 {
			row.Env, row.Vars = EnvUnreadable, nil // given up: the rest of the row still holds
		} else {
			*row = got.row
		}
	})
	c.Counts.Vanished = vanished
	var dropped []int
	for _, pid := range listed {
		if !kept[pid] {
			dropped = append(dropped, pid)
		}
	}
	c.drop(dropped)
	c.recount()
}

func (r *Reader) inspect(s *scratch, id Identity, want *wanted) reading {
	var got reading
	for range inspectTries {
		got = reading{row: Process{PID: id.PID, UID: -1}}
		before, ok := r.fill(s, &got)
		if !ok || got.gone {
			return got
		}
		if got.row.Start != id.Start && id.Start != 0 {
			got.gone = true
			return got
		}
		r.content(s, &got, &before, want)
		if got.gone {
			return got
		}
		after, err := r.stat(s, id.PID)
		if err != nil {
			got.gone = gone(err)
			got.row.Env, got.row.Vars = EnvUnreadable, nil
			return got
		}
		if after.start != before.start {
			got.gone = true
			return got
		}
		if after.sameImage(&before) {
			after.fill(&got.row)
			return got
		}
	}
	got.row.Env, got.row.Vars = EnvUnreadable, nil
	return got
}

// content reads command line, then environment, which takes the former to judge
// how far a title reaches.
func (r *Reader) content(s *scratch, got *reading, st *stat, want *wanted) {
	row := &got.row
	block, err := r.read(s, row.PID, "cmdline")
	if err != nil && gone(err) {
		got.gone = true
		return
	}
	a := st.argvArea()
	a.comm = []byte(row.Comm)
	line := cmdline{}
	if err == nil {
		line = parseCmdline(block, a)
	}
	row.Argv, row.Titled = line.argv, line.titled
	if len(want.names) == 0 {
		return
	}
	argv, titled := row.Argv, row.Titled
	r.environ(s, got, want, line.overrun)
	row.Argv, row.Titled = argv, titled
}
