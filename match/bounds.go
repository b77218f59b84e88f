package match

import (
	"fmt"
	"path"
	"time"

	"reaper/platform"
)

// newborn is how long a process may be about to create the path that its
// variable names.
const newborn = 10 * time.Second

// testGone proves by a variable's absolute path that exists neither for the process
// itself nor for the sweep. It never spares: anything else abstains.
func (j *judge) testGone(t Test, p *platform.Process, vars []platform.Var, v Verdict) (Verdict, bool) {
	if j.age(p) < newborn {
		return v, false
	}
	gone, where := false, ""
	for _, o := range vars {
		if o.Name != t.Name {
			continue
		}
		if !path.IsAbs(o.Value) {
			return v, false
		}
		k, ok := j.ask(Fact{Kind: FactGone, Process: p.ID(), Path: o.Value})
		if !ok || k.Is != platform.Yes {
			return v, false
		}
		gone, where = true, o.Value
	}
	if !gone {
		return v, false
	}
	return v.prove(Gone, fmt.Sprintf("%s=%s no longer exists", t.Name, where)), true
}

// testOver proves nothing about orphanhood: the rule's author set a bound on the
// proportional memory (PSS and swapped PSS) of the whole tree.
func (j *judge) testOver(t Test, p *platform.Process, v Verdict) (Verdict, bool) {
	sum, complete := j.memory(p)
	if !complete || sum <= t.Over {
		return v, false
	}
	return v.prove(Over, fmt.Sprintf("its tree holds %s of PSS and swap, over the rule's %s", Size(sum), Size(t.Over))), true
}

// memory is what the process and all below it hold, and whether all could be read.
func (j *judge) memory(p *platform.Process) (sum uint64, complete bool) {
	complete = true
	for _, pid := range append(j.world.Table.Below(p.PID), p.PID) {
		q := j.world.Table.Get(pid)
		if q.Exited() {
			continue
		}
		k, ok := j.ask(Fact{Kind: FactMemory, Process: q.ID()})
		if !ok || k.Is != platform.Yes {
			complete = false
			continue
		}
		sum += k.Bytes
	}
	return sum, complete
}

// Size prints bytes with a binary unit and three digits at most.
func Size(bytes uint64) string {
	const units = "KMGTPE"
	if bytes < 1024 {
		return fmt.Sprintf("%d B", bytes)
	}
	value, unit := float64(bytes)/1024, 0
	for value >= 1023.5 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	if value < 9.95 {
		return fmt.Sprintf("%.1f %ciB", value, units[unit])
	}
	return fmt.Sprintf("%.0f %ciB", value, units[unit])
}
