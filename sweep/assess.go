package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"

	"reaper/match"
	"reaper/platform"
)

// assess compares the reading with what is known and returns whether it found
// members that no earlier one had shown, so that no handle on them was open.
func (e *stopper) assess(ctx context.Context, r *reading) bool {
	g := e.s.settle(ctx, r, func(j *match.Judgement) []branch { return e.branches(r.table, j) })
	e.failed, e.table, e.cut, e.late = nil, r.table, r.census.Cut, nil
	seen := map[*target]bool{}
	for _, pid := range g.order {
		row := r.table.Get(pid)
		if t := e.known[row.ID()]; t != nil {
			t.row, t.whole, t.doubt, seen[t] = *row, t.handle != nil, "", true
		}
	}
	if e.first.IsZero() {
		e.replan(r, g, seen)
	}
	for id, t := range e.known {
		if !seen[t] && t.open() {
			e.unseen(id, t, r, g)
		}
	}
	return e.join(r, g)
}

// replan keeps the plan in step with the reading as long as nothing has been
// signalled: what is spared by now was never part of it.
func (e *stopper) replan(r *reading, g growth, seen map[*target]bool) {
	e.spared, e.left = sparedBy(r, g), g.left
	spared := map[platform.Identity]bool{}
	for _, v := range e.spared {
		id := platform.Identity{PID: v.PID, Start: v.Start}
		spared[id], e.waits[id] = true, v.Blocker
	}
	e.trees = slices.DeleteFunc(e.trees, func(tr *tree) bool {
		rootless := !seen[tr.targets[0]] && spared[tr.targets[0].row.ID()]
		tr.targets = slices.DeleteFunc(tr.targets, func(t *target) bool {
			if !rootless && (seen[t] || !spared[t.row.ID()]) {
				return false
			}
			e.forget(t)
			return true
		})
		return rootless
	})
}

func (e *stopper) forget(t *target) {
	delete(e.known, t.row.ID())
	if t.handle != nil {
		t.handle.Close()
	}
}

// sparedBy lists the matched processes that are in no tree, in order of start.
func sparedBy(r *reading, g growth) []match.Verdict {
	var out []match.Verdict
	for _, v := range r.judged.Spared {
		_, member := g.member[v.PID]
		if _, taken := g.spared[v.PID]; !member && !taken {
			out = append(out, v)
		}
	}
	for _, v := range g.spared {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b match.Verdict) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	return out
}

// join takes in the members that no earlier reading has shown, and says whether
// there were any.
func (e *stopper) join(r *reading, g growth) bool {
	homes := map[int]*tree{} // by branch; nil for what was started again
	var found []*target
	for _, pid := range g.order {
		row := r.table.Get(pid)
		if e.known[row.ID()] != nil {
			continue
		}
		i := g.member[pid]
		tr, ok := homes[i]
		if !ok {
			tr = e.homeOf(r, g.branches[i])
			homes[i] = tr
		}
		if tr != nil {
			found = append(found, e.add(tr, row))
		}
	}
	pids := make([]int, len(found))
	for i, t := range found {
		pids[i] = t.row.PID
	}
	for i, usage := range e.s.m.Usage(pids) {
		found[i].usage = usage
	}
	return len(found) > 0
}

// homeOf is the tree that a branch's members belong to, a new one for a new
// orphan, nil for one that somebody outside has started again.
func (e *stopper) homeOf(r *reading, br branch) *tree {
	if tr := e.home(br); tr != nil {
		return tr
	}
	if again := e.again(r, br.root); again != nil {
		e.late = append(e.late, again)
		return nil
	}
	return e.addTree(br.root)
}

// home is the tree that a branch belongs to, nil for a new orphan.
func (e *stopper) home(br branch) *tree {
	if br.tree != nil {
		return br.tree
	}
	if t := e.known[platform.Identity{PID: br.root.PID, Start: br.root.Start}]; t != nil {
		return t.tree
	}
	return nil
}

func (e *stopper) addTree(root match.Verdict) *tree {
	tr := &tree{root: root, stop: root.Stop}
	if e.s.o.Grace != nil {
		tr.stop.Grace = *e.s.o.Grace
	}
	if e.s.o.Confirm != nil {
		tr.stop.Confirm = *e.s.o.Confirm
	}
	e.trees = append(e.trees, tr)
	return tr
}

func (e *stopper) add(tr *tree, row *platform.Process) *target {
	t := &target{row: *row, parent: row.PPID, tree: tr}
	tr.targets = append(tr.targets, t)
	e.known[row.ID()] = t
	return t
}

// spareDescriptors are left free for reading the table when handles use up the rest.
const spareDescriptors = 16

// openNew takes a handle on every target that has none. Where the limit on open
// files is lower than their number it takes as many as there is room for; the
// others follow in later looks, when some of these have exited.
func (e *stopper) openNew() {
	var opened []*target
	later := e.short
	if e.short = false; later {
		e.release()
	}
	for _, t := range e.unheld() {
		h, err := e.s.m.Open(t.row.PID)
		switch {
		case errors.Is(err, platform.ErrGone):
			e.exited(t, e.s.m.Now())
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			t.detail, e.short = err.Error(), true
			e.leaveRoom(opened, err)
			return
		case err != nil:
			t.detail = err.Error()
		default:
			t.handle, t.detail = h, ""
			if later {
				t.held = e.s.m.Now()
			}
			opened = append(opened, t)
		}
	}
}

// leaveRoom closes the last of these handles again. While others are still waited
// for all of them may go; alone, half of them must make progress.
func (e *stopper) leaveRoom(opened []*target, why error) {
	most := len(opened)
	if len(e.waiting()) <= len(opened) {
		most /= 2
	}
	for _, t := range opened[len(opened)-min(spareDescriptors, most):] {
		t.handle.Close()
		t.handle, t.detail = nil, why.Error()
	}
}

func (e *stopper) unheld() []*target {
	var out []*target
	for _, tr := range e.trees {
		for _, t := range tr.targets {
			if tr.root.Action != match.ActionReport && t.handle == nil && t.open() {
				out = append(out, t)
			}
		}
	}
	return out
}

// release gives back the handles of what has exited.
func (e *stopper) release() {
	for _, t := range e.known {
		if t.handle != nil && t.exited {
			t.handle.Close()
			t.handle = nil
		}
	}
}

// unseen settles a target that is no member in this reading.
func (e *stopper) unseen(id platform.Identity, t *target, r *reading, g growth) {
	t.whole = false
	runs := false
	if t.handle != nil {
		gone, err := t.handle.Exited()
		if err == nil && gone {
			e.exited(t, e.s.m.Now())
			return
		}
		runs = err == nil
	}
	row := r.table.Get(id.PID)
	switch {
	case row == nil && runs:
		t.doubt = "it runs and is not in the process table"
	case row == nil:
		e.exited(t, e.s.m.Now())
	case row.Start != id.Start && row.Start != 0 && len(t.signals) > 0:
		e.exited(t, e.s.m.Now())
	case row.Start != id.Start && row.Start != 0:
		t.settle(Recycled, fmt.Sprintf("%d is held by %s now", id.PID, row.ID()))
	case row.Exited():
		e.exited(t, e.s.m.Now())
	default:
		detail, final := whyNot(t, row, r, g)
		if final {
			t.settle(Changed, detail)
		} else {
			t.doubt = detail
		}
	}
}

// whyNot says why a process is not stopped in this reading, and whether that is
// an answer rather than none.
func whyNot(t *target, row *platform.Process, r *reading, g growth) (string, bool) {
	if unread(&t.row, row) {
		return "it could not be read again", false
	}
	if t.tree.unsure {
		return fmt.Sprintf("whether %d is an orphan could not be told again", t.tree.root.PID), false
	}
	if v, ok := g.spared[row.PID]; ok {
		return v.Detail, !untold(&v)
	}
	if v := sparedVerdict(r.judged, row.PID); v != nil {
		return v.Detail, !untold(v)
	}
	return "no longer part of an orphan's tree", true
}

// unread says whether a row says nothing of a process that was read before: it is
// exiting, within an exec, or its reading was refused or given up.
func unread(before, now *platform.Process) bool {
	return now.Start == 0 || now.Ending || !now.Detailed || now.Env != platform.EnvPresent && before.Env == platform.EnvPresent
}

// untold says whether a verdict spares for want of an answer.
func untold(v *match.Verdict) bool {
	return v.Unsure || v.Reason == match.UnknownReason || v.Reason == match.EnvUnreadable
}

func sparedVerdict(j *match.Judgement, pid int) *match.Verdict {
	for i := range j.Spared {
		if j.Spared[i].PID == pid {
			return &j.Spared[i]
		}
	}
	return nil
}
