package sweep_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"reaper/platform"
)

// The passes of a reading, each of which shows what the real one does and no
// more: Scan the environment, Survey the family, Inspect everything.

// sorted returns the table by pid.
func (k *kernel) sorted() []*process {
	return slices.SortedFunc(maps.Values(k.table), func(a, b *process) int { return cmp.Compare(a.pid, b.pid) })
}

// Scan lists the table with the environments.
func (k *kernel) Scan(ctx context.Context, q platform.Query) (*platform.Census, error) {
	began := k.Ticks()
	if err := k.pass(ctx, "scan"); err != nil {
		return nil, err
	}
	c := &platform.Census{Began: began, Cut: ctx.Err() != nil}
	for _, p := range k.sorted() {
		c.Processes = append(c.Processes, p.scanned(q))
	}
	c.Counts.Processes = len(c.Processes)
	return c, nil
}

// pass takes its time and lets happen what is due.
func (k *kernel) pass(ctx context.Context, in string) error {
	err := k.step(in, 0)
	sleep(ctx, readCost)
	k.step("", 0) // what came due meanwhile
	return err
}

// Survey lists the table again and fills in the family relations.
func (k *kernel) Survey(ctx context.Context, c *platform.Census, q platform.Query) error {
	if err := k.pass(ctx, "survey"); err != nil {
		return err
	}
	old := map[platform.Identity]platform.Process{}
	for _, row := range c.Processes {
		old[platform.Identity{PID: row.PID}] = row
	}
	c.Cut = c.Cut || ctx.Err() != nil
	c.Processes, k.listed = nil, k.now()
	for _, p := range k.sorted() {
		row := p.surveyed()
		scanned, ok := old[platform.Identity{PID: p.pid}]
		if !ok || p.start >= c.Began {
			scanned = p.scanned(q)
		}
		row.Argv, row.Env, row.Vars = scanned.Argv, scanned.Env, scanned.Vars
		if p.missed = p.lost; p.lost {
			row = platform.Process{PID: p.pid, UID: -1, Env: platform.EnvUnreadable}
		}
		c.Processes = append(c.Processes, row)
	}
	c.Counts.Processes = len(c.Processes)
	return nil
}

// Inspect reads the rows of the pids in full.
func (k *kernel) Inspect(ctx context.Context, c *platform.Census, pids []int, q platform.Query) {
	k.pass(ctx, "inspect")
	wanted := map[int]bool{}
	for _, pid := range pids {
		wanted[pid] = true
	}
	var rows []platform.Process
	for _, row := range c.Processes {
		if !wanted[row.PID] {
			rows = append(rows, row)
			continue
		}
		p := k.table[row.PID]
		if p == nil || row.Start != 0 && p.start != row.Start {
			c.Counts.Vanished++
			continue
		}
		rows = append(rows, k.inspected(ctx, c, p, row, q))
	}
	c.Processes = rows
	c.Cut = c.Cut || ctx.Err() != nil
	c.Counts.Processes = len(rows)
}

func (k *kernel) inspected(ctx context.Context, c *platform.Census, p *process, row platform.Process, q platform.Query) platform.Process {
	err := k.failing("inspect", p.pid)
	if errors.Is(err, errStalled) {
		<-ctx.Done()
		k.step("", 0)
	}
	if err != nil || p.lost {
		row.Env, row.Vars = platform.EnvUnreadable, nil
		return row
	}
	if p.seen = k.reads(); k.judging {
		p.legit = k.belongs(p)
	}
	row = p.surveyed()
	scanned := p.scanned(platform.Query{Names: q.Names, Argv: true})
	row.Argv, row.Env, row.Vars, row.Detailed = scanned.Argv, scanned.Env, scanned.Vars, true
	row.Reparented = p.reparented()
	return row
}

// scanned is a row of the first pass.
func (p *process) scanned(q platform.Query) platform.Process {
	if p.xnu {
		return p.scannedByXNU(q)
	}
	row := platform.Process{PID: p.pid, UID: -1}
	if p.exited() || p.blank || p.ending {
		row = p.surveyed()
		row.Env = platform.EnvOverwritten
		return row
	}
	if q.Argv {
		row.Argv = p.argv
	}
	row.Env = platform.EnvPresent
	for _, entry := range p.env {
		name, value, _ := strings.Cut(entry, "=")
		if slices.Contains(q.Names, name) {
			row.Vars = append(row.Vars, platform.Var{Name: name, Value: value})
		}
	}
	return row
}

// surveyed is a row of the second pass.
func (p *process) surveyed() platform.Process {
	comm := p.argv[0][strings.LastIndexByte(p.argv[0], '/')+1:]
	return platform.Process{PID: p.pid, PPID: p.ppid, PGID: p.pgid, SID: p.sid, UID: p.uid, State: p.state, Threads: 1,
		Start: p.start, Foreground: -1, Ending: p.ending, Comm: comm[:min(15, len(comm))], Namespace: platform.Yes}
}
