package platform

import "slices"

// recount derives the counts of the rows from the rows; Vanished has none.
func (c *Census) recount() {
	counts := Counts{Processes: len(c.Processes), Vanished: c.Counts.Vanished}
	for i := range c.Processes {
		p := &c.Processes[i]
		switch {
		case p.Env == EnvUnreadable:
			counts.Unreadable++
		case p.overwritten():
			counts.Overwritten++
		}
		if p.Namespace == No {
			counts.OtherNamespace++
		}
	}
	c.Counts = counts
}

// overwritten says whether the block, not the process, is what is missing.
func (p *Process) overwritten() bool {
	return p.Env == EnvOverwritten && !p.Kernel && !p.Ending && !p.Exited()
}

// find is the index of the pid's row.
func (c *Census) find(pid int) (int, bool) {
	return slices.BinarySearchFunc(c.Processes, pid, func(p Process, pid int) int { return p.PID - pid })
}

// drop removes the rows of these pids, which vanished.
func (c *Census) drop(pids []int) {
	before := len(c.Processes)
	c.Processes = slices.DeleteFunc(c.Processes, func(p Process) bool { return slices.Contains(pids, p.PID) })
	c.Counts.Vanished += before - len(c.Processes)
}
