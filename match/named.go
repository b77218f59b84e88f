package match

import (
	"slices"

	"reaper/platform"
)

// Named is the test of a root that no rule proves: it was named, by its identity
// alone. What is never touched is not touched for that either, and live work in
// its tree is spared as in any.
const Named TestKind = "named"

// Names are the processes that somebody answers for: a person by giving an
// identity, a run for all that it has started.
type Names struct {
	IDs    []platform.Identity
	Mine   bool         // also the children of the process that asks, the adopted ones included
	Marker platform.Var // also what carries this variable by itself; "" for none
	Why    string       // in words
}

// WithoutRules returns what holds of the rules whatever they prove: whom they
// protect, who adopts, what they follow, and the stop defaults.
func (r *Rules) WithoutRules() *Rules {
	bare := *r
	bare.Rules, bare.followed = nil, r.FollowNames()
	if bare.Stop == (Stop{}) { // of several files
		bare.Stop = DefaultStop
	}
	return &bare
}

// Name judges as Judge does, and the named processes by nothing but their names:
// each that runs is an orphan by the test Named, or is spared as what must be
// left out of every tree.
func Name(names Names, rules *Rules, world *World, facts Facts) *Judgement {
	out := Judge(rules, world, facts)
	for i := range world.Table.Rows() {
		p := &world.Table.Rows()[i]
		if p.Exited() || !names.include(out.judge, p) {
			continue
		}
		v := Verdict{PID: p.PID, Start: p.Start, Rule: string(Named), Action: ActionStop, Stop: rules.Stop}
		if reason, detail := out.MemberGuard(p); reason != "" {
			out.Spared = append(out.Spared, v.spare(reason, detail, 0))
		} else {
			out.Orphans = append(out.Orphans, v.prove(Named, names.Why))
		}
	}
	out.sort()
	return out
}

// Candidate says whether a row of a census's first pass carries the marker.
func (n *Names) Candidate(p *platform.Process) bool {
	return n.Marker.Name != "" && has(p.Vars, n.Marker)
}

func (n *Names) include(j *judge, p *platform.Process) bool {
	if slices.Contains(n.IDs, p.ID()) || n.Mine && p.PPID == j.world.System.PID {
		return true
	}
	if p.Doubtful != "" || !n.Candidate(p) {
		return false
	}
	own, _ := j.ownVars(p)
	return has(own, n.Marker) && !slices.ContainsFunc(own, func(v platform.Var) bool { return v.Name == n.Marker.Name && v != n.Marker })
}

// Overrides says whether a root's proof holds although something in its tree
// follows f, which runs: its rule's bound or its name, if f is what the root
// itself follows, and its name, if f is the process that asks.
func (j *Judgement) Overrides(root Verdict, f Follow) bool {
	if root.Test == Named && f.PID == j.judge.world.System.PID {
		return true
	}
	row := j.judge.world.Table.Get(root.PID)
	if row == nil || root.Test != Over && root.Test != Named {
		return false
	}
	return slices.ContainsFunc(j.LiveFollows(row), func(own Follow) bool { return own.PID == f.PID })
}
