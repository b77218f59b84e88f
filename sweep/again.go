package sweep

import (
	"fmt"
	"slices"

	"reaper/match"
	"reaper/platform"
)

// branches returns what the trees grow from in this reading: what is left of the
// known ones, and new orphans that have to do with what was stopped.
func (e *stopper) branches(t *match.Table, j *match.Judgement) []branch {
	proven := map[platform.Identity]match.Verdict{}
	for _, v := range j.Orphans {
		proven[platform.Identity{PID: v.PID, Start: v.Start}] = v
	}
	var out []branch
	roots := map[platform.Identity]bool{}
	for _, tr := range e.trees {
		id := platform.Identity{PID: tr.root.PID, Start: tr.root.Start}
		roots[id] = true
		tr.unsure = false
		br := branch{tree: tr, root: tr.root, known: e.live(tr, t), led: e.ledBy(tr, t)}
		if row := t.Get(id.PID); row != nil && (row.Start == id.Start || row.Start == 0) && !row.Exited() && !row.Ending {
			if _, still := proven[id]; !still { // nothing of the tree remains, or nobody can tell
				v := sparedVerdict(j, id.PID)
				tr.unsure = unread(&tr.targets[0].row, row) || v != nil && untold(v)
				continue
			}
			br.alive = true
		}
		out = append(out, br)
	}
	for _, v := range j.Orphans {
		if !roots[platform.Identity{PID: v.PID, Start: v.Start}] && e.concerns(v, t) {
			out = append(out, branch{root: v, alive: true})
		}
	}
	return out
}

// live returns the tree's members that still run, the root aside.
func (e *stopper) live(tr *tree, t *match.Table) []int {
	var pids []int
	for _, m := range tr.targets {
		row := t.Get(m.row.PID)
		if m.open() && row != nil && row.Start == m.row.Start && m.row.PID != tr.root.PID {
			pids = append(pids, m.row.PID)
		}
	}
	return pids
}

// ledBy returns the groups that the tree's exited members led. A number that a
// process holds again has no such group: it is not given away while one lasts.
func (e *stopper) ledBy(tr *tree, t *match.Table) []led {
	var out []led
	for _, m := range tr.targets {
		row := t.Get(m.row.PID)
		if m.exited && (row == nil || row.Start == m.row.Start) {
			out = append(out, led{m.row.PID, e.exitTicks[m.row.PID]})
		}
	}
	return out
}

// concerns says whether an orphan that this reading proves belongs to this
// sweep: always before the first signal; afterwards if it was named or is known,
// if what it followed was stopped, or if it carries the same value as a stopped tree.
func (e *stopper) concerns(v match.Verdict, t *match.Table) bool {
	id := platform.Identity{PID: v.PID, Start: v.Start}
	if e.first.IsZero() || v.Test == match.Named || e.known[id] != nil {
		return true
	}
	if blocker, ok := e.waits[id]; ok && e.stopped(blocker) {
		return true
	}
	return e.sameValue(v, t) != nil
}

func (e *stopper) stopped(pid int) bool {
	_, ok := e.exitTicks[pid]
	return ok
}

// sameValue finds the stopped tree whose rule and marker value the orphan
// shares; for a rule without markers, whose command line.
func (e *stopper) sameValue(v match.Verdict, t *match.Table) *tree {
	for _, tr := range e.trees {
		if tr.root.Rule != v.Rule || tr.root.Action != v.Action {
			continue
		}
		for _, m := range v.Markers {
			if slices.Contains(tr.root.Markers, m) {
				return tr
			}
		}
		row := t.Get(v.PID)
		if len(v.Markers) == 0 && row != nil && slices.Equal(row.Argv, tr.targets[0].row.Argv) {
			return tr
		}
	}
	return nil
}

// again tells a straggler, which a member forked in its last moment, from a
// process that somebody outside has started since: that one's parent is neither
// ours nor an adopter, or it was born after all that carried its value had
// exited. It is named and never signalled. In a session that nobody else was in
// nobody else can start anything (setsid(2)): there it changes its pid.
func (e *stopper) again(r *reading, v match.Verdict) *target {
	if e.first.IsZero() || v.Start <= e.firstTicks || v.Test == match.Named {
		return nil
	}
	tr, row := e.sameValue(v, r.table), r.table.Get(v.PID)
	if tr == nil || e.private[row.SID] {
		return nil
	}
	parent := r.table.Get(row.PPID)
	by := ""
	switch {
	case parent == nil:
		by = fmt.Sprintf("started again; its parent %d cannot be seen", row.PPID)
	case !r.judged.Adopted(row) && e.known[parent.ID()] == nil:
		by = "started again by " + describe(parent)
	case e.allGoneBefore(v) && tr.had(row):
		by = fmt.Sprintf("in the group of what was stopped, %d: it changes its pid, or was started again there; its parent is %s", row.PGID, describe(parent))
	case e.allGoneBefore(v):
		by = "started again by someone unseen; its parent is " + describe(parent)
	default:
		return nil
	}
	return &target{row: *row, parent: row.PPID, usage: e.s.m.Usage([]int{row.PID})[0], tree: tr, outcome: Unconfirmed, detail: by}
}

// sessions are those in which the reading shows nobody but what is to be stopped,
// and what was born since the plan.
func (e *stopper) sessions() map[int]bool {
	own := map[int]bool{}
	if e.lacks() {
		return own
	}
	for _, t := range e.known {
		own[t.row.SID] = t.row.SID > 0
	}
	for _, p := range e.table.Rows() {
		if t := e.known[p.ID()]; !p.Exited() && !p.Ending && (t == nil && p.Start < e.planned || t != nil && t.tree.root.Action == match.ActionReport) {
			own[p.SID] = false
		}
	}
	return own
}

// had says whether a member was in the process's group and session. Numbers come
// again, so that this is a hint for a person, not a proof.
func (tr *tree) had(row *platform.Process) bool {
	return slices.ContainsFunc(tr.targets, func(t *target) bool { return t.row.PGID == row.PGID && t.row.SID == row.SID })
}

// allGoneBefore says whether every member of the trees with the orphan's value
// had exited before it was born.
func (e *stopper) allGoneBefore(v match.Verdict) bool {
	for _, tr := range e.trees {
		if tr.root.Rule != v.Rule {
			continue
		}
		for _, t := range tr.targets {
			if !t.exited || e.exitTicks[t.row.PID] >= v.Start {
				return false
			}
		}
	}
	return true
}

func describe(p *platform.Process) string {
	return fmt.Sprintf("%s (%d)", p.Program(), p.PID)
}
