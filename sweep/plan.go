package sweep

import (
	"cmp"
	"fmt"
	"slices"

	"reaper/match"
	"reaper/platform"
)

// branch is what a tree grows from: an orphan that this reading proves, or what
// is left of a tree whose root has exited.
type branch struct {
	tree  *tree // nil for an orphan that no earlier reading has shown
	root  match.Verdict
	alive bool  // the root runs, so without its proof nothing of the tree remains
	known []int // live members of earlier readings, the root aside
	led   []led // groups that its members lead or have led
}

// led is a process group that a member leads, or led when it was last seen.
type led struct {
	pgid  int
	until uint64 // ticks at which its leader was seen to have exited, 0 while it has not
}

// growth is how the trees stand in one reading.
type growth struct {
	branches []branch
	order    []int                 // all members, each tree's root first, parents before children
	member   map[int]int           // pid to the index of its branch
	spared   map[int]match.Verdict // taken out of a tree for the sake of live work
	left     []Left
}

// Left is a process that belongs to a tree by birth and is left alone.
type Left struct {
	PID    int          `json:"pid"`
	Start  uint64       `json:"start"`
	Orphan int          `json:"orphan"`
	Reason match.Reason `json:"reason"`
	Detail string       `json:"detail"`
}

// grower builds the trees of one reading.
type grower struct {
	table    *match.Table
	judged   *match.Judgement
	branches []branch
	verdicts map[int]*match.Verdict // by pid, orphans and spared
	spared   map[int]match.Verdict
	growth   growth
	aside    []aside
}

// aside is a process that belongs to a branch's tree by birth and is no member:
// protected, another user's, to be reported, not readable, or taken out before.
type aside struct{ branch, pid int }

// grow builds every branch's tree, takes out what follows live work with the
// path above it, and does so again until nothing is left to take out. An orphan
// that lies in another one's tree has no tree of its own.
func grow(t *match.Table, j *match.Judgement, branches []branch) growth {
	b := &grower{table: t, judged: j, branches: byDepth(t, branches), spared: map[int]match.Verdict{}, verdicts: map[int]*match.Verdict{}}
	for _, list := range [][]match.Verdict{j.Orphans, j.Spared} {
		for i := range list {
			b.verdicts[list[i].PID] = &list[i]
		}
	}
	for {
		b.growth = growth{branches: b.branches, member: map[int]int{}, spared: b.spared}
		b.aside = nil
		for i := range b.branches {
			b.tree(i)
		}
		if !b.spareLiveWork() {
			return b.growth
		}
	}
}

// byDepth puts orphans before those below them, so that the outer one takes them in.
func byDepth(t *match.Table, branches []branch) []branch {
	depth := map[int]int{}
	for _, b := range branches {
		up, _ := t.Ancestors(b.root.PID)
		depth[b.root.PID] = len(up)
	}
	sorted := slices.Clone(branches)
	slices.SortStableFunc(sorted, func(a, b branch) int {
		return cmp.Or(
			-compareBool(len(a.known) > 0 || !a.alive, len(b.known) > 0 || !b.alive),
			cmp.Compare(depth[a.root.PID], depth[b.root.PID]),
			cmp.Compare(a.root.Start, b.root.Start), cmp.Compare(a.root.PID, b.root.PID))
	})
	return sorted
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// tree adds the branch's members: what it is known to have, all below those, and
// the groups that any of them leads.
func (b *grower) tree(i int) {
	br := &b.branches[i]
	if br.alive {
		if _, out := b.spared[br.root.PID]; out {
			return // hosts live work: what is below it is judged on its own
		}
		b.visit(i, br.root.PID)
	}
	for _, pid := range br.known {
		b.visit(i, pid)
	}
	for _, g := range br.led {
		b.group(i, g.pgid, g.until)
	}
}

// visit makes pid a member with all below it and what it leads, unless it is in
// another tree, was taken out, or is guarded.
func (b *grower) visit(i, pid int) {
	p := b.table.Get(pid)
	if p == nil || p.Exited() {
		return
	}
	if _, taken := b.growth.member[pid]; taken {
		return
	}
	if !p.Detailed && p.Start != 0 && !p.Ending && !p.Exiting() {
		b.leave(i, p, match.EnvUnreadable, "it could not be read")
	}
	if _, out := b.spared[pid]; out || !p.Detailed || pid != b.branches[i].root.PID && b.guarded(i, p) {
		b.aside = append(b.aside, aside{i, pid})
		return
	}
	b.growth.member[pid] = i
	b.growth.order = append(b.growth.order, pid)
	for _, child := range b.table.Children(pid) {
		b.visit(i, child)
	}
	b.group(i, pid, 0)
	for _, other := range b.table.Withheld(pid) {
		if b.judged.Adopted(b.table.Get(other)) {
			b.visit(i, other) // born in the session that this member leads, and its parent is gone
		}
	}
}

// guarded leaves a member out. What is below another user's process is looked at
// all the same; what is below any other guarded one is left with it.
func (b *grower) guarded(i int, p *platform.Process) bool {
	reason, detail := b.judged.MemberGuard(p)
	if v := b.verdicts[p.PID]; reason == "" && v != nil && v.Orphan && v.Action == match.ActionReport {
		return b.branches[i].root.Action != match.ActionReport // left running for its supervisor, with all below it
	}
	if reason == "" {
		return false
	}
	b.leave(i, p, reason, detail)
	if reason == match.OtherUser {
		for _, child := range b.table.Children(p.PID) {
			b.visit(i, child)
		}
	}
	return true
}

// leave notes a process that is left alone, unless it is listed as spared.
func (b *grower) leave(i int, p *platform.Process, reason match.Reason, detail string) {
	if v := b.verdicts[p.PID]; v != nil && !v.Orphan {
		return
	}
	l := Left{p.PID, p.Start, b.branches[i].root.PID, reason, detail}
	if !slices.Contains(b.growth.left, l) {
		b.growth.left = append(b.growth.left, l)
	}
}

// group adds the members of a group that a member leads, or led until the given
// tick, if their own parent is an adopter or in the tree: a shell's helper that
// was adopted when the shell exited before it, but not the b of `a | b`, whose
// parent is a live shell, nor what was adopted and has opted out.
func (b *grower) group(i, pgid int, until uint64) {
	for _, pid := range b.table.Group(pgid) {
		p := b.table.Get(pid)
		if pid == pgid || p.Namespace == platform.No || p.Exited() {
			continue
		}
		if until > 0 && p.Start > until {
			continue // born after the leader's exit: the number may lead a stranger's group by now
		}
		if in, ok := b.growth.member[p.PPID]; ok && in == i {
			b.visit(i, pid)
		} else if b.judged.Adopted(p) {
			if name, out := b.judged.OptedOut(p); out {
				b.leave(i, p, match.Undecided, name+" holds no pid: it opted out")
				continue
			}
			b.visit(i, pid)
		}
	}
}

// spareLiveWork takes out the members that follow something that runs outside
// their tree, with all below them and the path above them, also the path above
// those that are no members themselves, and reports whether there were any.
func (b *grower) spareLiveWork() bool {
	before := len(b.spared)
	for _, pid := range slices.Sorted(slices.Values(b.growth.order)) {
		i, p := b.growth.member[pid], b.table.Get(pid)
		if f, live := b.liveOutside(i, p); live {
			b.takeOut(i, p, f)
		}
	}
	for _, a := range b.aside {
		for _, pid := range append(b.table.Below(a.pid), a.pid) {
			p := b.table.Get(pid)
			if _, member := b.growth.member[pid]; member || p.Exited() {
				continue // a member of another tree was looked at with that
			}
			if f, live := b.liveOutside(a.branch, p); live {
				b.spareHosts(a.branch, p, f)
			}
		}
	}
	return len(b.spared) > before
}

// liveOutside returns what the process follows that runs outside the branch's tree.
func (b *grower) liveOutside(i int, p *platform.Process) (match.Follow, bool) {
	if p.Namespace == platform.No {
		return match.Follow{}, false // its numbers are another namespace's; what holds that namespace was asked
	}
	for _, f := range b.judged.LiveFollows(p) {
		if !b.inside(i, p, f) && !b.judged.Overrides(b.branches[i].root, f) {
			return f, true
		}
	}
	return match.Follow{}, false
}

// inside says whether the followed process is another member of the tree.
func (b *grower) inside(i int, p *platform.Process, f match.Follow) bool {
	if f.PID == p.PID || f.State == match.FollowUnknown {
		return false
	}
	in, ok := b.growth.member[f.PID]
	return ok && in == i
}

// takeOut spares a member, all below it and the path above it.
func (b *grower) takeOut(i int, p *platform.Process, f match.Follow) {
	reason := match.ParentRunning
	switch f.State {
	case match.FollowUnknown:
		reason = match.UnknownReason
	case match.FollowRecycled:
		reason = match.PossiblyRecycled
	}
	b.spare(p, i, reason, f.Detail, f)
	for _, pid := range b.table.Below(p.PID) {
		if in, ok := b.growth.member[pid]; ok && in == i {
			b.spare(b.table.Get(pid), i, match.ParentRunning, fmt.Sprintf("below %d, which %s", p.PID, f.Detail), f)
		}
	}
	b.spareHosts(i, p, f)
}

// spareHosts spares the tree's members above a process that follows live work.
func (b *grower) spareHosts(i int, p *platform.Process, f match.Follow) {
	up, _ := b.table.Ancestors(p.PID)
	for _, pid := range up {
		if in, ok := b.growth.member[pid]; ok && in == i {
			b.spare(b.table.Get(pid), i, match.HostsLiveWork, fmt.Sprintf("hosts %d, which %s", p.PID, f.Detail), f)
		}
	}
}

// spare keeps the first reason that a process was taken out for, and its own
// verdict where that spares it too.
func (b *grower) spare(p *platform.Process, i int, reason match.Reason, detail string, f match.Follow) {
	if _, ok := b.spared[p.PID]; ok {
		return
	}
	v := match.Verdict{PID: p.PID, Start: p.Start, Rule: b.branches[i].root.Rule}
	if own := b.verdicts[p.PID]; own != nil {
		v = *own
		if !own.Orphan && reason == match.ParentRunning {
			b.spared[p.PID] = v
			return
		}
	}
	v.Orphan, v.Reason, v.Detail, v.Blocker, v.Unsure = false, reason, detail, f.PID, f.State == match.FollowUnknown
	b.spared[p.PID] = v
}

// wholeGroups returns the groups that may be signalled as such: every live
// process of their session is in the set, so that nobody else can join in the
// moment before the signal (setpgid(2) moves a process within its session only).
// The sweeper's own group and numbers that are no group are none.
func wholeGroups(t *match.Table, set map[int]bool, own int) map[int]bool {
	shared := map[int]bool{} // sessions with a live process outside the set
	for i := range t.Rows() {
		if p := &t.Rows()[i]; !set[p.PID] && !p.Exited() {
			shared[p.SID] = true
		}
	}
	whole := map[int]bool{}
	for pid := range set {
		p := t.Get(pid)
		if _, seen := whole[p.PGID]; seen {
			continue
		}
		whole[p.PGID] = p.PGID > 1 && p.PGID != own && p.SID > 0 && !shared[p.SID]
		for _, other := range t.Group(p.PGID) {
			if !set[other] && !t.Get(other).Exited() {
				whole[p.PGID] = false
			}
		}
	}
	return whole
}
