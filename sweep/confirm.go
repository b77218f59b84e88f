package sweep

import (
	"context"
	"slices"

	"reaper/match"
	"reaper/platform"
)

// confirm reads the processes of the plan once more, as a stop does right before
// its first signal, and plans anew where one has exited or become another while it
// was judged. The rest of the machine is not read again.
func (p *plan) confirm(ctx context.Context) {
	for try := 0; try < maxAgain && len(p.known) > 0; try++ {
		limited, cancel := context.WithTimeout(ctx, p.s.o.Deadline)
		p.s.m.Inspect(limited, p.reading.census, p.relevant(), p.s.query)
		cancel()
		if !p.moved() {
			return
		}
		p.reading.judge(p.s, match.NewTable(p.reading.census.Processes), p.reading.world.TmpRoots)
		p.stopper = newStopper(p.s)
		p.assess(ctx, p.reading)
	}
}

// moved says whether any process of the plan is not as it was judged.
func (p *plan) moved() bool {
	rows := p.reading.census.Processes
	for _, t := range p.known {
		at, ok := slices.BinarySearchFunc(rows, t.row.PID, func(row platform.Process, pid int) int { return row.PID - pid })
		if !ok || !sameAs(&t.row, &rows[at]) {
			return true
		}
	}
	return false
}

// sameAs says whether two readings of a process agree in what is judged.
func sameAs(a, b *platform.Process) bool {
	return a.ID() == b.ID() && a.PPID == b.PPID && a.PGID == b.PGID && a.SID == b.SID && a.UID == b.UID && a.TTY == b.TTY &&
		a.Exiting() == b.Exiting() && a.Ending == b.Ending && a.Detailed == b.Detailed && a.Env == b.Env &&
		slices.Equal(a.Argv, b.Argv) && slices.Equal(a.Vars, b.Vars)
}
