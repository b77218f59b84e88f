package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"
)

// xnuReader reads macOS's process table. Everything in it but the environment is
// one sysctl, zombies and other users included, so that each pass has all of a row
// that the table holds.
type xnuReader struct {
	kernel  xnu
	pid     int // own
	uid     int
	release int // major number of Darwin's release, 0 where it cannot be read
	stall   time.Duration
	text    passes // used once the table was refused
	refused bool
}

// passes are those of one reading.
type passes interface {
	Scan(context.Context, Query) (*Census, error)
	Survey(context.Context, *Census, Query) error
	Inspect(context.Context, *Census, []int, Query)
}

// Scan is the first pass, see Reader on Linux. Where the table is refused all
// passes read ps's text from then on.
func (r *xnuReader) Scan(ctx context.Context, q Query) (*Census, error) {
	c := &Census{Began: r.Ticks()}
	rows, err := r.list()
	if refusedTable(err) && r.text != nil {
		r.refused = true
	}
	if r.refused {
		return r.text.Scan(ctx, q)
	}
	if err != nil {
		return nil, err
	}
	c.Processes = rows
	r.contents(ctx, c, all(rows), newWanted(q.all()), r.content)
	c.recount()
	return c, nil
}

func refusedTable(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES)
}

func all(rows []Process) []int {
	at := make([]int, len(rows))
	for i := range at {
		at[i] = i
	}
	return at
}

// list reads the table, by ascending pid and without environments. It must hold
// this process.
func (r *xnuReader) list() ([]Process, error) {
	b, err := r.kernel.table()
	if err != nil {
		return nil, fmt.Errorf("cannot read the process table: kern.proc.all: %w", err)
	}
	table, err := parseKinfos(b)
	if err != nil {
		return nil, fmt.Errorf("cannot read the process table: %w", err)
	}
	rows := make([]Process, len(table))
	for i := range table {
		rows[i] = table[i].row()
	}
	slices.SortStableFunc(rows, func(a, b Process) int { return a.PID - b.PID }) // a zombie's record is behind
	rows = slices.CompactFunc(rows, func(a, b Process) bool { return a.PID == b.PID })
	if _, ok := (&Census{Processes: rows}).find(r.pid); !ok {
		return nil, errNotListed
	}
	return rows, nil
}

// Survey is the second pass: the table again with the sessions, the environments
// of processes that are new.
func (r *xnuReader) Survey(ctx context.Context, c *Census, q Query) error {
	if r.refused {
		return r.text.Survey(ctx, c, q)
	}
	rows, err := r.list()
	if err != nil {
		return err
	}
	old := *c
	c.Processes = rows
	var fresh []int
	kept := 0
	for i := range rows {
		row := &rows[i]
		at, ok := old.find(row.PID)
		if ok {
			kept++
		}
		if !ok || old.Processes[at].ID() != row.ID() || row.Start == 0 {
			fresh = append(fresh, i)
		} else if p := &old.Processes[at]; !row.Exited() {
			row.Argv, row.Titled, row.Env, row.Vars, row.Doubtful = p.Argv, p.Titled, p.Env, p.Vars, p.Doubtful
		} else {
			row.Env = EnvOverwritten
		}
		r.sessionOf(row)
	}
	c.Counts.Vanished += len(old.Processes) - kept
	r.contents(ctx, c, fresh, newWanted(q.all()), r.content)
	c.recount()
	return nil
}

// sessionOf asks for the session, which no record holds. A zombie has none.
func (r *xnuReader) sessionOf(p *Process) {
	if sid, err := r.kernel.session(p.PID); err == nil {
		p.SID = sid
	}
}

// Inspect reads the rows of these pids anew, each of one process, and whether
// launchd adopted or started its children.
func (r *xnuReader) Inspect(ctx context.Context, c *Census, pids []int, q Query) {
	if r.refused {
		r.text.Inspect(ctx, c, pids, q)
		return
	}
	var at []int
	for _, pid := range pids {
		if i, ok := c.find(pid); ok {
			at = append(at, i)
		}
	}
	launchd, known := r.uniqueOf(1)
	r.contents(ctx, c, at, newWanted(q.all()), func(row Process, want *wanted) reading {
		r.sessionOf(&row)
		row.Reparented = Unknown
		if u, ok := r.uniqueOf(row.PID); ok && known && row.PPID == 1 {
			row.Reparented = born(u, launchd, r.release)
		}
		got := r.content(row, want)
		if got.row.PPID != row.PPID {
			got.row.Reparented = Unknown
		}
		if got.row.PPID == 1 && bornInSession(&got.row) {
			got.row.Reparented = Yes
		}
		got.row.Detailed = !got.recent
		return got
	})
	c.agree()
	c.recount()
}

func (r *xnuReader) uniqueOf(pid int) (unique, bool) {
	b, err := r.kernel.unique(pid)
	if err != nil {
		return unique{}, false
	}
	u, err := parseUnique(b)
	return u, err == nil
}

// contents reads the rows at these places by work, which may come back after the
// census was handed out and gets a copy.
func (r *xnuReader) contents(ctx context.Context, c *Census, at []int, want *wanted, work func(Process, *wanted) reading) {
	rows := make([]Process, len(at))
	for i := range at {
		rows[i] = c.Processes[at[i]]
	}
	p := newPool(len(rows), r.stall, func(_ *scratch, i int) reading { return work(rows[i], want) })
	if p.run(ctx, 2) {
		c.Cut = true
	}
	vanished := map[int]bool{}
	for i := range at {
		row := &c.Processes[at[i]]
		if got, ok := p.result(i); !ok {
			row.unreadable()
		} else if got.gone {
			vanished[row.PID] = true
		} else {
			*row = got.row
		}
	}
	c.drop(vanished)
}

// content reads arguments and environment of a row's process, and its record
// afterwards: recent where that is no longer the process that the row names, or not
// surely. An exec keeps the start, and what is read is of one program all the same.
func (r *xnuReader) content(row Process, want *wanted) reading {
	got := reading{row: row}
	args := r.arguments(&row)
	after, err := kinfoOf(r.kernel, row.PID)
	if err != nil || row.Start != 0 && after.start != row.Start {
		got.gone = err == nil || errors.Is(err, ErrGone)
		got.recent = true
		got.row.unreadable()
		return got
	}
	got.row = after.row()
	got.row.SID, got.row.Reparented = row.SID, row.Reparented
	switch {
	case got.row.Exited() || got.row.Kernel:
		got.row.Env = EnvOverwritten
	default:
		got.row.take(args, want)
	}
	return got
}

// arguments asks again where the record is in doubt: the sysctl sizes its buffer
// in a call of its own, before which an exec may have been, and answers EINVAL
// within one (since 15.4). It refuses the processes of others, by effective user.
func (r *xnuReader) arguments(p *Process) procargs {
	if p.Exited() || p.Kernel || r.uid != 0 && p.UID != r.uid {
		return procargs{why: "not asked"}
	}
	var args procargs
	for range 2 {
		b, err := r.kernel.procargs(p.PID)
		if err != nil {
			args = procargs{why: err.Error()}
			continue
		}
		if args = parseProcargs(b); args.state != argsUnknown {
			break
		}
	}
	return args
}

// take fills in what the arguments' record tells.
func (p *Process) take(a procargs, want *wanted) {
	p.Env, p.Vars, p.Doubtful = EnvUnreadable, nil, ""
	p.Argv, p.Titled = a.command()
	switch a.state {
	case argsPresent:
		p.Env, p.Vars = EnvPresent, want.entries(a.env)
		switch {
		case !a.complete || a.swallowed():
			p.Doubtful = doubtHidden
		case a.titled && len(p.Vars) > 0:
			p.Doubtful = doubtTitle
		}
	case argsEmpty:
		p.Env = EnvOverwritten
	case argsWithheld:
		p.Env = EnvWithheld
	}
}

// Why a process is not judged by what was read.
const (
	doubtTitle  = "it wrote a title over its arguments, and nothing confirms what was read behind that"
	doubtHidden = "part of its environment is hidden, by an empty entry or a title, and what else it follows cannot be told"
)

// agree takes the doubt from titled processes that a second fact speaks for. A
// program that does not zero what its title leaves over could show an argument as
// an entry of its environment. That launchd adopted the process, or that one of its
// kin carries the same value, is no work of a title.
func (c *Census) agree() {
	for i := range c.Processes {
		p := &c.Processes[i]
		if p.Doubtful == doubtTitle && (p.Reparented == Yes || c.confirmed(p)) {
			p.Doubtful = ""
		}
	}
}

// confirmed says whether each variable stands in an untitled relative as well:
// parent, child, or member of its group or session.
func (c *Census) confirmed(p *Process) bool {
	for _, v := range p.Vars {
		if !slices.ContainsFunc(c.Processes, func(o Process) bool {
			kin := o.PID == p.PPID || o.PPID == p.PID || o.PGID == p.PGID && p.PGID > 1 || o.SID == p.SID && p.SID > 1
			return kin && !o.Titled && slices.Contains(o.Vars, v) // itself is titled
		}) {
			return false
		}
	}
	return true
}

// Liveness says whether the process that holds the pid runs. A zombie does not,
// though kill(2) with signal 0 succeeds on one: only ESRCH of that is an answer.
func (r *xnuReader) Liveness(pid int) Liveness {
	if pid <= 0 {
		return Liveness{}
	}
	if pid > xnuMaxPID {
		return Liveness{Running: No}
	}
	k, err := kinfoOf(r.kernel, pid)
	switch {
	case err == nil && k.exited():
		return Liveness{Running: No}
	case err == nil:
		return Liveness{Running: Yes, Start: k.start, Kernel: k.flags&xnuSystem != 0}
	case r.kernel.kill(pid, 0) == syscall.ESRCH:
		return Liveness{Running: No}
	}
	return Liveness{}
}

// holds says whether the identity still holds its pid.
func (r *xnuReader) holds(id Identity) bool {
	k, err := kinfoOf(r.kernel, id.PID)
	return err == nil && k.start == id.Start && !k.exited()
}

// Older answers Yes where the process got its environment before the holder of the
// pid was born, and Unknown where that cannot be shown. Every process may be a
// witness to it.
func (r *xnuReader) Older(id Identity, holder int) Answer {
	self, counts := r.uniqueOf(r.pid)
	h, known := r.uniqueOf(holder)
	u, ok := r.uniqueOf(id.PID)
	if !ok || !known || !counts || !self.counts() || !r.holds(id) {
		return Unknown
	}
	b, err := r.kernel.table()
	if err != nil {
		return Unknown
	}
	table, err := parseKinfos(b)
	if err != nil {
		return Unknown
	}
	for i := range table {
		if w, ok := r.uniqueOf(table[i].pid); ok && w.shows(u, h) {
			return Yes
		}
	}
	return Unknown
}

// Ticks is the time of p_starttime's clock, the wall's: what it is compared with
// decides over ages alone, never over identities.
func (r *xnuReader) Ticks() uint64 { return uint64(time.Now().UnixMicro()) }

// Trust says whether environments can be believed here, by a canary: SIP, a sandbox
// or a later kernel may show this program none, and an empty one looks like that of
// a process that nobody marked.
func (r *xnuReader) Trust(ctx context.Context) error {
	return trust(ctx, func(pid int, names []string) ([]Var, EnvState) {
		k, err := kinfoOf(r.kernel, pid)
		if err != nil {
			return nil, EnvUnreadable
		}
		got := r.content(k.row(), newWanted(names))
		return got.row.Vars, got.row.Env
	})
}
