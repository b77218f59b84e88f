package sweep_test

import (
	"time"

	"reaper/platform"
)

// What differs where the kernel is macOS's: start tokens of µs, no handle that the
// kernel keeps, so that an exit shows by the table alone and kill(2) would succeed
// on a zombie; groups by number only, and one of zombies is refused; other users'
// arguments and some programs' environments are not shown; pid 1 starts processes
// as well as adopting them.

// becomeXNU has to come before the script's own processes.
func (k *kernel) becomeXNU() {
	k.xnu = true
	k.table[1].argv = words("launchd")
	for _, p := range k.table {
		p.xnu = true
	}
}

// onXNU plays a world there.
func onXNU(world func(*kernel)) func(*kernel) {
	return func(k *kernel) {
		k.becomeXNU()
		world(k)
	}
}

// tick is the unit of start tokens.
func (k *kernel) tick() time.Duration {
	if k.xnu {
		return time.Microsecond
	}
	return 10 * time.Millisecond
}

func (h *handle) exited() bool {
	if !h.k.xnu {
		return h.p.exited()
	}
	holder := h.k.table[h.p.pid]
	return holder == nil || holder.start != h.start || holder.exited()
}

// lost says whether a signal has nothing to go to.
func (h *handle) lost() bool { return h.p.gone || h.k.xnu && h.exited() }

func (p *process) scannedByXNU(q platform.Query) platform.Process {
	row := p.surveyed()
	switch {
	case p.exited():
		row.Env = platform.EnvOverwritten
		return row
	case p.uid != me || p.blank || p.ending:
		row.Env = platform.EnvUnreadable // EINVAL or EIO
		return row
	}
	row.Argv = p.argv
	if p.withheld {
		row.Env = platform.EnvWithheld
		return row
	}
	row.Env = platform.EnvPresent
	for _, name := range q.Names {
		for _, entry := range p.env {
			if len(entry) > len(name) && entry[:len(name)+1] == name+"=" {
				row.Vars = append(row.Vars, platform.Var{Name: name, Value: entry[len(name)+1:]})
			}
		}
	}
	return row
}

// reparented is what the unique ids tell: those of a child of another process do
// unless the script says otherwise.
func (p *process) reparented() platform.Answer {
	switch {
	case !p.xnu || p.ppid != 1:
		return platform.Unknown
	case p.adopted != platform.Unknown:
		return p.adopted
	}
	return platform.Yes
}

// olderThan says whether the kernel shows that the process executed its program
// before the holder was born.
func (k *kernel) olderThan(id platform.Identity, holder *process) bool {
	p := k.running(id.PID)
	return k.counts && p != nil && p.start == id.Start && holder != nil && holder.start > max(p.start, p.execed)
}

// launched is what launchd itself started.
func launched(p *process) { p.adopted = platform.No }

func apples(p *process) {
	p.withheld = true
	if p.argv == nil {
		p.argv = words("/bin/sleep 60")
	}
}

func inSession(sid int) func(*process) { return func(p *process) { p.sid = sid } }
