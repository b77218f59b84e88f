package platform

import (
	"bytes"
	"context"
	"os"
	"slices"
)

// Scan is the first, cheap pass: of each environment block the variables of
// q.Names, with q.Argv the command lines too. A row says no more than that, but
// where a block may not be read the owner, with the command line if that is this
// user, and where it is empty what stat says of why. A process that has an
// environment without such a variable, and no command line that is asked for, is
// counted and has no row.
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
	if len(want.names) > 0 {
		c.env = EnvPresent
	}
	var vanished, again []int
	scan := func(pids []int) func(*scratch, int) *reading {
		return func(s *scratch, i int) *reading { return r.scan(s, pids[i], want, q) }
	}
	keep := func(pid int, got *reading) {
		switch {
		case got == nil:
			c.plain++
		case got.gone:
			vanished = append(vanished, pid)
		default:
			c.Processes = append(c.Processes, got.row)
		}
	}
	each(ctx, r, c, pids, lost, scan(pids), func(i int, got *reading) {
		if got != nil && got.bare {
			again = append(again, pids[i]) // most were within an exec
			return
		}
		keep(pids[i], got)
	})
	each(ctx, r, c, again, lost, scan(again), func(i int, got *reading) { keep(again[i], got) })
	slices.SortFunc(c.Processes, func(a, b Process) int { return a.PID - b.PID })
	slices.Sort(vanished)
	c.read = slices.DeleteFunc(pids, func(pid int) bool { _, is := slices.BinarySearch(vanished, pid); return is })
	c.Counts.Vanished = len(vanished)
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

// each reads the pids by work and hands the readings to keep, in order; got is
// lost for one that was given up. work may come back after the census was handed
// out, so it must share nothing with it.
func each[T any](ctx context.Context, r *Reader, c *Census, pids []int, lost func(pid int) T, work func(s *scratch, i int) T, keep func(i int, got T)) {
	p := newPool(len(pids), r.stall, work)
	if p.run(ctx, crew) {
		c.Cut = true
	}
	for i, pid := range pids {
		got, ok := p.result(i)
		if !ok {
			got = lost(pid)
		}
		keep(i, got)
	}
}

// lost is a process of which nothing came back: a row of its pid, unreadable.
func lost(pid int) *reading {
	return &reading{row: Process{PID: pid, UID: -1, Env: EnvUnreadable}}
}

// scan is nil for a process of which there is nothing to say.
func (r *Reader) scan(s *scratch, pid int, want *wanted, q Query) *reading {
	if r.plain(s, pid, want, q) {
		return nil
	}
	got := &reading{row: Process{PID: pid, UID: -1}}
	r.scanned(s, got, want, q)
	return got
}

// plain says whether a process has an environment without what is wanted, and no
// command line that is asked for. It is what most processes are, so it allocates
// nothing.
func (r *Reader) plain(s *scratch, pid int, want *wanted, q Query) bool {
	if len(want.names) > 0 {
		block, err := r.read(s, pid, "environ")
		if err != nil {
			return false
		}
		if vars, state := want.scan(block, false); state != EnvPresent || vars != nil {
			return false
		}
	}
	if !q.Argv {
		return true
	}
	block, err := r.read(s, pid, "cmdline")
	return err == nil && len(block) > 0 && q.Texts != nil && !holdsAny(block, q.Texts)
}

func holdsAny(block []byte, texts []string) bool {
	for _, text := range texts {
		if bytes.Contains(block, []byte(text)) {
			return true
		}
	}
	return false
}

// scanned fills in what Scan and Survey keep of a process.
func (r *Reader) scanned(s *scratch, got *reading, want *wanted, q Query) {
	if len(want.names) > 0 {
		r.environ(s, got, want, false)
	}
	if q.Argv && !got.gone && got.row.Argv == nil && !got.row.Kernel {
		r.argv(s, got)
	}
	row := &got.row
	runs := row.State != 0 && !row.Kernel && !row.Ending && !row.Exited()
	got.bare = runs && (row.Env == EnvOverwritten || q.Argv && row.Argv == nil)
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
