package match

import "reaper/platform"

// downstream tells whether a process reads what this sweep writes, or what another
// such one writes: the rest of its pipeline, which a shell puts into one process
// group. It would take the report with it.
func (j *judge) downstream(p *platform.Process) platform.Answer {
	group := j.world.System.PGID
	self := j.world.Table.Get(j.world.System.PID)
	if group == 0 || p.PGID != group || self == nil || p.UID != self.UID && !j.world.AllUsers {
		return platform.No
	}
	written := map[uint64]bool{}
	answers := map[int]platform.Answer{self.PID: platform.Yes}
	for next := []int{self.PID}; len(next) > 0; next = j.readers(group, written, answers) {
		for _, pid := range next {
			if k, _ := j.ask(j.pipes(pid)); k.Is == platform.Yes {
				written[k.Pipes[1]], written[k.Pipes[2]] = true, true
			}
		}
		delete(written, 0) // no pipe
		if len(written) == 0 {
			return platform.No
		}
	}
	return answers[p.PID]
}

func (j *judge) pipes(pid int) Fact {
	return Fact{Kind: FactPipes, Process: j.world.Table.Get(pid).ID()}
}

// readers returns the members of the group that are found to read one of the
// pipes, and notes the answer for every other one.
func (j *judge) readers(group int, written map[uint64]bool, answers map[int]platform.Answer) []int {
	var found []int
	for _, pid := range j.world.Table.Group(group) {
		if answers[pid] == platform.Yes || j.world.Table.Get(pid).Exited() {
			continue
		}
		k, ok := j.ask(j.pipes(pid))
		switch {
		case !ok || k.Is != platform.Yes:
			answers[pid] = platform.Unknown
		case written[k.Pipes[0]]:
			answers[pid] = platform.Yes
			found = append(found, pid)
		default:
			answers[pid] = platform.No
		}
	}
	return found
}
