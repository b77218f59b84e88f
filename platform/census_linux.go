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
	scan := func(pids []int) []*reading {
		return each(ctx, r, c, pids, lost, func(s *scratch, i int) *reading { return r.scan(s, pids[i], want, q) })
	}
	take := func(pid int, got *reading) {
		switch {
		case got == nil:
			c.plain++
		case got.gone:
			vanished = append(vanished, pid)
		default:
			c.Processes = append(c.Processes, got.row)
		}
	}
	for i, got := range scan(pids) {
		if got != nil && got.bare {
			again = append(again, pids[i]) // most were within an exec
			continue
		}
		take(pids[i], got)
	}
	for i, got := range scan(again) {
		take(again[i], got)
	}
	slices.SortFunc(c.Processes, func(a, b Process) int { return a.PID - b.PID })
	slices.Sort(vanished)
	c.read = without(pids, vanished)
	c.Counts.Vanished = len(vanished)
	c.recount()
	return c, nil
}

// without is a new list: a worker that comes back late may still read the old one.
func without(pids, vanished []int) []int {
	if len(vanished) == 0 {
		return pids
	}
	kept := make([]int, 0, len(pids))
	for _, pid := range pids {
		if _, gone := slices.BinarySearch(vanished, pid); !gone {
			kept = append(kept, pid)
		}
	}
	return kept
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

// each reads the pids by work, a call for each index; lost stands for one that was
// given up. work may come back after the census was handed out, so it must share
// nothing with it.
func each[T any](ctx context.Context, r *Reader, c *Census, pids []int, lost func(pid int) T, work func(s *scratch, i int) T) []T {
	p := newPool(len(pids), r.stall, work)
	p.hangs = func(i int, is bool) { r.hangs(pids[i], is) }
	c.Cut = p.run(ctx, crew) || r.short.Swap(false) || c.Cut // what could not be opened is not refused: nobody has seen it
	for i, pid := range pids {
		if _, ok := p.result(i); !ok {
			p.results[i] = lost(pid)
		}
	}
	return p.results
}

// lost is a process of which nothing came back: a row of its pid, unreadable.
func lost(pid int) *reading {
	return &reading{row: Process{PID: pid, UID: -1, Env: EnvUnreadable}}
}

// scan is nil for a process that has an environment without what is wanted, and
// no command line that is asked for: that is what most are, so it allocates nothing.
func (r *Reader) scan(s *scratch, pid int, want *wanted, q Query) *reading {
	var vars []Var
	state := EnvUnread
	var err error
	if len(want.names) > 0 {
		var block []byte
		if block, err = r.read(s, pid, "environ"); err == nil {
			vars, state = want.scan(block, false)
		}
	}
	if state != EnvOverwritten && err == nil && vars == nil && !r.asked(s, pid, q) {
		return nil
	}
	got := &reading{row: Process{PID: pid, UID: -1, Vars: vars, Env: state}}
	if len(want.names) > 0 && state != EnvPresent {
		r.unseen(s, got, want, err)
	}
	r.body(s, got, q)
	return got
}

// asked says whether the command line is to be kept, or is none.
func (r *Reader) asked(s *scratch, pid int, q Query) bool {
	if !q.Argv {
		return false
	}
	block, err := r.read(s, pid, "cmdline")
	return err != nil || len(block) == 0 || q.Texts == nil || holdsAny(block, q.Texts)
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
	r.body(s, got, q)
}

// body adds the command line that is asked for, and whether there is a gap.
func (r *Reader) body(s *scratch, got *reading, q Query) {
	row := &got.row
	if q.Argv && !got.gone && row.Argv == nil && !row.Kernel {
		r.argv(s, got)
	}
	runs := row.State != 0 && !row.Kernel && !row.Ending && !row.Exited()
	got.bare = runs && (row.Env == EnvOverwritten || q.Argv && row.Argv == nil)
}

// environ reads the block. An empty one says little: a kernel thread and a zombie
// have none (no bytes; ESRCH on opening it was seen with 6.18), and neither
// has, for some µs, a process within an exec.
func (r *Reader) environ(s *scratch, got *reading, want *wanted, overrun bool) {
	block, err := r.read(s, got.row.PID, "environ")
	if err == nil {
		got.row.Vars, got.row.Env = want.scan(block, overrun)
	}
	if got.row.Env != EnvPresent {
		r.unseen(s, got, want, err)
	}
}

// unseen finds out about a process whose environment was not read, or is none.
func (r *Reader) unseen(s *scratch, got *reading, want *wanted, err error) {
	if err != nil && !gone(err) {
		r.refused(s, got)
		return
	}
	r.blank(s, got, want)
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
