package platform

import (
	"errors"
	"slices"
)

// reading is one process as a worker read it.
type reading struct {
	row    Process
	gone   bool // vanished while it was read
	recent bool // not the process that Scan read, or not surely
	bare   bool // it runs without an environment, or without the command line that is asked for
}

var errNotListed = errors.New("cannot read the process table: this process is not in it")

// recount derives the counts of the rows from the rows; Vanished has none.
func (c *Census) recount() {
	counts := Counts{Processes: len(c.Processes) + c.plain, Vanished: c.Counts.Vanished}
	for i := range c.Processes {
		p := &c.Processes[i]
		switch {
		case p.Env == EnvUnreadable:
			counts.Unreadable++
		case p.Env == EnvWithheld:
			counts.Withheld++
		case p.overwritten():
			counts.Overwritten++
		}
		if p.Namespace == No {
			counts.OtherNamespace++
		}
	}
	c.Counts = counts
}

// overwritten says whether the block alone is missing: a kernel thread, a zombie
// and a process that is ending have none.
func (p *Process) overwritten() bool {
	return p.Env == EnvOverwritten && !p.Kernel && !p.Ending && !p.Exited()
}

// halfway says whether the leader has exited and other threads go on.
func (p *Process) halfway() bool { return p.Exiting() && !p.Exited() }

// unreadable is what a row becomes whose process could not be read.
func (p *Process) unreadable() { p.Env, p.Vars, p.Detailed = EnvUnreadable, nil, false }

// find is the index of the pid's row.
func (c *Census) find(pid int) (int, bool) {
	return slices.BinarySearchFunc(c.Processes, pid, func(p Process, pid int) int { return p.PID - pid })
}

// drop removes the rows of processes that vanished.
func (c *Census) drop(pids map[int]bool) {
	before := len(c.Processes)
	c.Processes = slices.DeleteFunc(c.Processes, func(p Process) bool { return pids[p.PID] })
	c.Counts.Vanished += before - len(c.Processes)
}
