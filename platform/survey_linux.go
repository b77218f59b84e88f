package platform

import (
	"context"
	"slices"
)

// Survey is the second pass, for when something matched: the table is listed
// again, and every process gets a row with what its stat says. Environments and
// command lines of Scan are kept; those of processes born since Scan began are
// read. Owner and namespace are left to Inspect, which is asked about a few.
func (r *Reader) Survey(ctx context.Context, c *Census, q Query) error {
	pids, err := r.table()
	if err != nil {
		return err
	}
	want := newWanted(q.Names)
	born, vanished := c.split(pids)
	began := c.Began
	old := *c
	c.read, c.plain = pids, 0
	c.Counts.Vanished += vanished
	lost := func(pid int) Process { return lost(pid).row }
	c.Processes = each(ctx, r, c, pids, lost, func(s *scratch, i int) Process {
		return r.survey(s, pids[i], born[i], began, want, q)
	})
	for i := range c.Processes {
		if row := &c.Processes[i]; !born[i] && row.Start < began {
			row.keep(old.scanned(pids[i]))
		}
	}
	listed := len(pids)
	c.Processes = slices.DeleteFunc(c.Processes, func(p Process) bool { return p.PID == 0 })
	c.Counts.Vanished += listed - len(c.Processes)
	c.recount()
	return nil
}

// split marks the pids that Scan has not read and counts those that are no longer listed.
func (c *Census) split(pids []int) (born []bool, vanished int) {
	born = make([]bool, len(pids))
	vanished = len(c.read)
	for i, pid := range pids {
		if _, ok := slices.BinarySearch(c.read, pid); ok {
			vanished--
		} else {
			born[i] = true
		}
	}
	return born, vanished
}

// scanned is the row of what Scan has read, whether it kept one or not.
func (c *Census) scanned(pid int) *Process {
	if at, ok := c.find(pid); ok {
		return &c.Processes[at]
	}
	return &Process{PID: pid, Env: c.env}
}

// keep takes over what Scan read of the same process.
func (row *Process) keep(scanned *Process) {
	row.Argv, row.Titled = scanned.Argv, scanned.Titled
	if row.Env != EnvUnreadable { // else Survey could not read it
		row.Env, row.Vars = scanned.Env, scanned.Vars
	}
}

// survey reads the process's row, and its environment if Scan has not read it:
// not listed then, or a start no earlier than Scan's, so that the pid may have been
// used again. A process that has vanished has no pid.
func (r *Reader) survey(s *scratch, pid int, born bool, began uint64, want *wanted, q Query) Process {
	st, err := r.stat(s, pid)
	if err != nil {
		return r.hidden(s, pid, err)
	}
	row := Process{PID: pid, UID: -1}
	st.fill(&row)
	if born || row.Start >= began {
		scanned := &reading{row: Process{PID: pid, UID: -1}}
		r.scanned(s, scanned, want, q)
		if scanned.gone {
			return Process{}
		}
		row.keep(&scanned.row)
	}
	return row
}

// hidden tells a process that does not show its stat (hidepid=1), and is
// unreadable but for its owner, from one that has vanished.
func (r *Reader) hidden(s *scratch, pid int, err error) Process {
	row := Process{PID: pid, UID: -1, Env: EnvUnreadable}
	if !gone(err) {
		row.UID, err = r.owner(s, pid)
	}
	if gone(err) {
		return Process{}
	}
	return row
}

// fill reads stat, owner and namespace. ok is false where the process has
// vanished or does not show its stat (hidepid=1): then it is unreadable.
func (r *Reader) fill(s *scratch, got *reading) (st stat, ok bool) {
	row := &got.row
	var err error
	if row.UID, err = r.owner(s, row.PID); err == nil {
		st, err = r.stat(s, row.PID)
	}
	if err != nil {
		got.gone = gone(err)
		row.unreadable()
		return st, false
	}
	st.fill(row)
	row.Namespace = r.namespaceOf(s, row)
	return st, true
}

// namespaceOf compares the process's pid namespace with the reader's. A process
// stays in the one that it was born in (pid_namespaces(7)), so the answer is kept.
func (r *Reader) namespaceOf(s *scratch, row *Process) Answer {
	if row.Kernel {
		return Yes
	}
	id := row.ID()
	if known, ok := r.namespaces.Load(id); ok {
		return known.(Answer)
	}
	answer := r.sameNamespace(s, row.PID)
	if answer != Unknown && !row.Exiting() {
		r.namespaces.Store(id, answer)
	}
	return answer
}

// inspectTries bounds how often a process is read that executes again and again.
const inspectTries = 3

// Inspect reads the rows of these pids in full, environment and command line
// anew, all of it of one process and one program: stat is read before and after,
// where an exec, which keeps the start token, shows by the addresses. The row of
// a process that has ended, or whose pid another one holds, is dropped as vanished.
func (r *Reader) Inspect(ctx context.Context, c *Census, pids []int, q Query) {
	want := newWanted(q.all())
	var listed []int
	var ids []Identity
	for _, pid := range pids {
		if at, ok := c.find(pid); ok {
			listed, ids = append(listed, pid), append(ids, c.Processes[at].ID())
		}
	}
	vanished := map[int]bool{}
	for i, got := range each(ctx, r, c, listed, lost, func(s *scratch, i int) *reading {
		return r.inspect(s, ids[i], want)
	}) {
		at, _ := c.find(listed[i])
		row := &c.Processes[at]
		vanished[row.PID] = got.gone
		if got.row.State == 0 { // given up; what Survey read still holds
			row.unreadable()
			continue
		}
		*row = got.row
	}
	c.drop(vanished)
	c.recount()
}

// inspect reads one process in full. Without a start token in its row (hidepid=1)
// any holder of the pid is taken.
func (r *Reader) inspect(s *scratch, id Identity, want *wanted) *reading {
	var got *reading
	for range inspectTries {
		got = &reading{row: Process{PID: id.PID, UID: -1}}
		before, ok := r.fill(s, got)
		if !ok {
			return got
		}
		if before.start != id.Start && id.Start != 0 {
			got.gone = true
			return got
		}
		if r.isStuck(id.PID) { // nothing is known of it, where a refusal says something
			got.row.unreadable()
			return got
		}
		if r.content(s, got, &before, want); got.gone {
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
