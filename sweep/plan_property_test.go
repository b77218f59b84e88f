package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"reaper/match"
	"reaper/platform"
)

// Random tables: a few processes with any parent there could be, itself, missing
// ones and cycles included, in any group, following anything.

const randomSelf = 4 // the sweeper, somewhere in the middle of the table

var randomSystem = platform.System{PID: randomSelf, PGID: randomSelf, UID: planUser}

func randomTable(t *rapid.T) []platform.Process {
	n := rapid.IntRange(3, 14).Draw(t, "processes")
	pid := rapid.IntRange(2, n+2) // two of them in no table
	rows := []platform.Process{{
		PID: 1, PPID: rapid.SampledFrom([]int{0, 0, 0, 0, 1}).Draw(t, "init's parent"), State: 'S', Threads: 1, UID: planUser,
		Argv: []string{"/sbin/init"}, Comm: "init", Env: platform.EnvPresent, Detailed: true, Namespace: platform.Yes,
	}}
	for i := 2; i <= n; i++ {
		rows = append(rows, randomProcess(t, i, pid))
	}
	return rows
}

// often draws the usual value three times out of four.
func often[T any](t *rapid.T, name string, usual T, others ...T) T {
	if rapid.IntRange(0, 3).Draw(t, name+"?") > 0 {
		return usual
	}
	return rapid.SampledFrom(others).Draw(t, name)
}

func randomProcess(t *rapid.T, pid int, any *rapid.Generator[int]) platform.Process {
	name := func(what string) string { return fmt.Sprintf("%d's %s", pid, what) }
	p := platform.Process{
		PID: pid, UID: often(t, name("user"), planUser, planUser+1), Threads: 1,
		Start: rapid.Uint64Range(1, 20).Draw(t, name("start")), Comm: "node", Env: platform.EnvPresent,
		State:     often[byte](t, name("state"), 'S', 'S', 'Z', 'T'),
		Detailed:  often(t, name("detail"), true, true, false),
		Namespace: often(t, name("namespace"), platform.Yes, platform.Yes, platform.No),
		Argv:      []string{often(t, name("command"), "node", "tmux", "reaper", "node")},
	}
	p.PPID = rapid.OneOf(rapid.Just(1), rapid.IntRange(1, max(1, pid-1)), any, rapid.Just(0)).Draw(t, name("parent"))
	p.PGID = rapid.OneOf(rapid.Just(pid), any, any).Draw(t, name("group"))
	p.SID = rapid.OneOf(rapid.Just(p.PGID), any, rapid.Just(0)).Draw(t, name("session"))
	for i := range rapid.IntRange(0, 2).Draw(t, name("variables")) {
		variable := rapid.SampledFrom([]string{"M", "M", "S", "R", "H"}).Draw(t, name(fmt.Sprint("variable ", i)))
		value := rapid.OneOf(rapid.Just("99"), rapid.Map(any, func(pid int) string { return fmt.Sprint(pid) })).Draw(t, name(fmt.Sprint("value ", i)))
		p.Vars = append(p.Vars, platform.Var{Name: variable, Value: value})
	}
	if p.Argv[0] == "reaper" {
		p.Argv = append(p.Argv, "sweep")
	}
	return p
}

// naive is the definition of the trees, written down once more in the plainest
// way: sets, grown until they no longer change.
type naive struct {
	rows   []platform.Process
	r      *reading
	tree   map[int]int  // pid to its tree's root
	out    map[int]bool // taken out for the sake of live work
	atHand map[int]map[int]bool
}

func newNaive(rows []platform.Process, r *reading) *naive {
	n := &naive{rows: rows, r: r, out: map[int]bool{}}
	for more := true; more; {
		n.grow()
		more = n.takeOut()
	}
	return n
}

func (n *naive) row(pid int) *platform.Process {
	i := slices.IndexFunc(n.rows, func(p platform.Process) bool { return p.PID == pid })
	if i < 0 {
		return nil
	}
	return &n.rows[i]
}

// above is every process on the way up, as far as it can be seen and only once.
func (n *naive) above(pid int) []int {
	var up []int
	for p := n.row(pid); p != nil; {
		if p = n.row(p.PPID); p == nil || p.PID == pid || slices.Contains(up, p.PID) {
			break
		}
		up = append(up, p.PID)
	}
	return up
}

// grow builds the trees: outer orphans first, then older ones, then by pid.
func (n *naive) grow() {
	n.tree, n.atHand = map[int]int{}, map[int]map[int]bool{}
	roots := slices.Clone(n.r.judged.Orphans)
	slices.SortFunc(roots, func(a, b match.Verdict) int {
		return cmp.Or(cmp.Compare(len(n.above(a.PID)), len(n.above(b.PID))), cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	for _, root := range roots {
		if _, taken := n.tree[root.PID]; taken || n.out[root.PID] || !n.row(root.PID).Detailed {
			continue
		}
		n.tree[root.PID] = root.PID
		n.atHand[root.PID] = map[int]bool{}
		through := map[int]bool{} // other users' processes in it
		for changed := true; changed; {
			changed = false
			for _, p := range n.rows {
				if _, taken := n.tree[p.PID]; taken || through[p.PID] || p.Exited() || !n.belongs(p, root.PID, through) {
					continue
				}
				reason, _ := n.r.judged.MemberGuard(&p)
				switch {
				case n.out[p.PID] || !p.Detailed || reason != "" && reason != match.OtherUser || n.leftRunning(p.PID, root):
					n.atHand[root.PID][p.PID] = true
				case reason == match.OtherUser:
					n.atHand[root.PID][p.PID], through[p.PID], changed = true, true, true
				default:
					n.tree[p.PID], changed = root.PID, true
				}
			}
		}
	}
}

func (n *naive) belongs(p platform.Process, root int, through map[int]bool) bool {
	in := func(pid int) bool { return n.row(pid) != nil && n.tree[pid] == root }
	if in(p.PPID) || through[p.PPID] {
		return true
	}
	return p.PGID != p.PID && in(p.PGID) && p.Namespace != platform.No && n.r.judged.Adopted(&p)
}

func (n *naive) leftRunning(pid int, root match.Verdict) bool {
	return root.Action == match.ActionStop && slices.ContainsFunc(n.r.judged.Orphans, func(v match.Verdict) bool {
		return v.PID == pid && v.Action == match.ActionReport
	})
}

// takeOut marks what follows live work outside its tree, all below, and all above.
func (n *naive) takeOut() bool {
	before := len(n.out)
	tree := maps.Clone(n.tree)
	for _, p := range n.rows {
		for root := range n.atHand {
			if !n.liveOutside(p, root, tree) {
				continue
			}
			for _, q := range n.rows {
				if tree[q.PID] == root && (q.PID == p.PID || slices.Contains(n.above(p.PID), q.PID) ||
					tree[p.PID] == root && slices.Contains(n.above(q.PID), p.PID)) {
					n.out[q.PID] = true
				}
			}
		}
	}
	return len(n.out) > before
}

// liveOutside: the process belongs to the tree, as a member or as one that is
// left there or below such a one, and follows something outside of it.
func (n *naive) liveOutside(p platform.Process, root int, tree map[int]int) bool {
	owner, member := tree[p.PID]
	near := n.atHand[root][p.PID] || slices.ContainsFunc(n.above(p.PID), func(a int) bool { return n.atHand[root][a] })
	if p.Exited() || p.Namespace == platform.No || member && owner != root || !member && !near {
		return false
	}
	return slices.ContainsFunc(n.r.judged.LiveFollows(&p), func(f match.Follow) bool {
		followed, inside := tree[f.PID]
		return f.PID == p.PID || f.State == match.FollowUnknown || !inside || followed != root
	})
}

func TestTreesAreWhatTheDefinitionSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := randomTable(t)
		r, g := growAll(t, rows, randomSystem, nil)
		want := newNaive(rows, r)
		members := map[int]int{}
		for pid, i := range g.member {
			members[pid] = g.branches[i].root.PID
		}
		if diff := gocmp.Diff(want.tree, members); diff != "" {
			t.Errorf("members and their trees' roots (-definition +got):\n%s", diff)
		}
		out := map[int]bool{}
		for pid := range g.spared {
			out[pid] = true
		}
		if diff := gocmp.Diff(want.out, out); diff != "" {
			t.Errorf("taken out for live work (-definition +got):\n%s", diff)
		}
	})
}

func TestNoPlanTouchesWhatItMustNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := randomTable(t)
		r, g := growAll(t, rows, randomSystem, nil)
		n := &naive{rows: rows, r: r}
		own := append(n.above(randomSelf), randomSelf)
		for _, pid := range g.order {
			p := n.row(pid)
			root := g.branches[g.member[pid]].root.PID
			if pid <= 1 || p.Exited() || p.Argv[0] == "tmux" || p.Argv[0] == "reaper" || p.UID != planUser || slices.Contains(own, pid) {
				t.Errorf("%d is a member of %d: %+v", pid, root, p)
			}
			up := n.above(pid)
			if at := slices.Index(up, root); at > 0 && slices.ContainsFunc(up[:at], func(a int) bool { return n.row(a).Argv[0] != "node" }) {
				t.Errorf("%d is a member of %d, from below a protected process", pid, root)
			}
			if f, live := runsFor(n, p, func(other int) bool { in, ok := g.member[other]; return ok && in == g.member[pid] }); live && p.Namespace == platform.Yes {
				t.Errorf("%d is a member of %d and follows %s, which runs outside", pid, root, f)
			}
		}
		for _, v := range r.judged.Orphans {
			if p := n.row(v.PID); p.Namespace == platform.No || p.Argv[0] != "node" {
				t.Errorf("proven: %+v", p)
			}
		}
	})
}

// runsFor returns what a process follows that runs and is not inside, read from
// its variables alone.
func runsFor(n *naive, p *platform.Process, inside func(int) bool) (string, bool) {
	for _, v := range p.Vars {
		for _, q := range n.rows {
			if v.Name != "H" && v.Value == fmt.Sprint(q.PID) && q.PID > 1 && !q.Exited() && (q.PID == p.PID || !inside(q.PID)) {
				return v.Value, true
			}
		}
	}
	return "", false
}

func TestEachProcessHasOneFate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := randomTable(t)
		r, g := growAll(t, rows, randomSystem, nil)
		if len(g.order) != len(g.member) {
			t.Errorf("%d members in order %v", len(g.member), g.order)
		}
		seen := map[int]bool{}
		for _, pid := range g.order {
			if _, out := g.spared[pid]; out || seen[pid] {
				t.Errorf("%d is a member twice, or also spared", pid)
			}
			seen[pid] = true
		}
		for _, v := range sparedBy(r, g) {
			if v.Orphan || v.Reason == "" || seen[v.PID] {
				t.Errorf("spared without a reason, or also something else: %+v", v)
			}
			seen[v.PID] = true
		}
		for _, l := range g.left {
			if _, member := g.member[l.PID]; member {
				t.Errorf("%d is left and a member", l.PID)
			}
		}
		for _, v := range r.judged.Orphans {
			if !seen[v.PID] && r.table.Get(v.PID).Detailed {
				t.Errorf("nothing becomes of orphan %d", v.PID)
			}
		}
	})
}

func TestOrderOfRowsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := randomTable(t)
		r, g := growAll(t, rows, randomSystem, nil)
		mixed := slices.Clone(rows)
		source := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 0))
		source.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		r2, g2 := growAll(t, mixed, randomSystem, nil)
		for what, pair := range map[string][2]any{
			"orphans": {r.judged.Orphans, r2.judged.Orphans}, "spared by verdict": {r.judged.Spared, r2.judged.Spared},
			"members": {g.order, g2.order}, "spared": {sparedBy(r, g), sparedBy(r2, g2)}, "left": {g.left, g2.left}, "fates": {fates(r, g), fates(r2, g2)},
		} {
			if diff := gocmp.Diff(pair[0], pair[1]); diff != "" {
				t.Errorf("%s (-first +other order):\n%s", what, diff)
			}
		}
	})
}

func oneSession(rows []platform.Process, pgid int) bool {
	sid := -1
	for _, p := range rows {
		if p.PGID == pgid && sid >= 0 && p.SID != sid {
			return false
		}
		if p.PGID == pgid {
			sid = p.SID
		}
	}
	return true
}

func TestAGroupIsWholeOnlyIfAllOfItIsToStop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := randomTable(t)
		r, g := growAll(t, rows, randomSystem, nil)
		set := map[int]bool{}
		for _, pid := range g.order {
			set[pid] = true
		}
		whole := wholeGroups(r.table, set, randomSystem.PGID)
		for _, pid := range g.order {
			pgid := r.table.Get(pid).PGID
			sessions := map[int]bool{}
			want := pgid > 1 && pgid != randomSystem.PGID
			for _, p := range rows {
				want = want && (p.PGID != pgid || p.Exited() || set[p.PID])
				sessions[p.SID] = sessions[p.SID] || !p.Exited() && !set[p.PID]
			}
			for _, member := range g.order { // of a group in two sessions, which no kernel has, any may be asked
				if p := r.table.Get(member); p.PGID == pgid && (p.SID == 0 || sessions[p.SID]) {
					want = want && whole[pgid]
				}
			}
			if whole[pgid] && (r.table.Get(pid).SID == 0 || sessions[r.table.Get(pid).SID]) && oneSession(rows, pgid) {
				t.Errorf("group %d whole in a session that somebody else lives in", pgid)
			}
			if whole[pgid] != want {
				t.Errorf("group %d whole: %v, want %v", pgid, whole[pgid], want)
			}
		}
	})
}
