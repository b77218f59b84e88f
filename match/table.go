package match

import (
	"cmp"
	"slices"

	"reaper/platform"
)

// Table is a census with its family relations looked up once. It is cheap to
// ask and never changes.
type Table struct {
	procs    []platform.Process
	rows     relation // by pid, indices of procs
	children relation // by parent, pids
	groups   relation // by process group, pids
	withheld relation // by session, those whose environment macOS does not show
}

// relation is a multimap of numbers: sorted pairs, which take a tenth of what maps
// of slices do.
type relation []pair

type pair struct{ key, value int32 }

func (r relation) sort() {
	slices.SortFunc(r, func(a, b pair) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.value, b.value)) })
}

// of returns the values of a key, ascending.
func (r relation) of(key int) []int {
	from, found := slices.BinarySearchFunc(r, key, func(p pair, key int) int { return cmp.Compare(int(p.key), key) })
	if !found {
		return nil
	}
	var values []int
	for ; from < len(r) && int(r[from].key) == key; from++ {
		values = append(values, int(r[from].value))
	}
	return values
}

// NewTable builds the relations of the rows, whatever their order.
func NewTable(rows []platform.Process) *Table {
	n := len(rows)
	t := &Table{procs: rows, rows: make(relation, n), children: make(relation, n), groups: make(relation, n)}
	for i := range rows {
		p := &rows[i]
		pid := int32(p.PID)
		t.rows[i] = pair{pid, int32(i)}
		t.children[i] = pair{int32(p.PPID), pid}
		t.groups[i] = pair{int32(p.PGID), pid}
		if p.Env == platform.EnvWithheld {
			t.withheld = append(t.withheld, pair{int32(p.SID), pid})
		}
	}
	for _, r := range []relation{t.rows, t.children, t.groups, t.withheld} {
		r.sort()
	}
	return t
}

// Get returns the row of the pid, nil where there is none.
func (t *Table) Get(pid int) *platform.Process {
	at, found := slices.BinarySearchFunc(t.rows, pid, func(p pair, pid int) int { return cmp.Compare(int(p.key), pid) })
	if !found {
		return nil
	}
	return &t.procs[t.rows[at].value]
}

// Rows returns all rows, in the order of the census.
func (t *Table) Rows() []platform.Process { return t.procs }

// Children returns the pids whose parent is pid, ascending.
func (t *Table) Children(pid int) []int { return t.children.of(pid) }

// Group returns the pids whose process group is pgid, ascending.
func (t *Table) Group(pgid int) []int { return t.groups.of(pgid) }

// Withheld returns the pids in the session that sid leads whose environment macOS
// does not show, ascending. Such a process may carry a marker and cannot be found by it.
func (t *Table) Withheld(sid int) []int { return t.withheld.of(sid) }

// Top says how a walk up the parents ended.
type Top int8

const (
	TopRoot    Top = iota // at a process whose parent is 0
	TopMissing            // at a parent that is not in the table
	TopCycle              // the parents lead back to where the walk has been
)

// Ancestors returns the pids above pid, parent first, and how the walk ended.
// A process that is its own parent, pid reuse within one reading and debuggers'
// trees on macOS make cycles.
func (t *Table) Ancestors(pid int) ([]int, Top) {
	var up []int
	seen := map[int]bool{pid: true}
	for p := t.Get(pid); ; {
		if p == nil {
			return up, TopMissing
		}
		if p.PPID == 0 {
			return up, TopRoot
		}
		if seen[p.PPID] {
			return up, TopCycle
		}
		seen[p.PPID] = true
		next := t.Get(p.PPID)
		if next == nil {
			return up, TopMissing
		}
		up = append(up, p.PPID)
		p = next
	}
}

// Below returns every descendant of pid, without pid, parents before children.
func (t *Table) Below(pid int) []int {
	var below []int
	seen := map[int]bool{pid: true}
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, child := range t.Children(queue[0]) {
			if !seen[child] {
				seen[child] = true
				below = append(below, child)
				queue = append(queue, child)
			}
		}
	}
	return below
}

// Related returns the pids whose details a judgement of the seeds may look at:
// the seeds, what is below them, the groups that any of these leads, or led
// before it exited, with what is below those and the groups that they lead, and
// everything above any of them. Ascending.
func (t *Table) Related(seeds []int) []int {
	seen := map[int]bool{} // exited seeds included: their groups may live on
	for queue := slices.Clone(seeds); len(queue) > 0; queue = queue[1:] {
		if pid := queue[0]; !seen[pid] {
			seen[pid] = true
			queue = append(append(append(queue, t.Children(pid)...), t.Group(pid)...), t.Withheld(pid)...)
		}
	}
	found := map[int]bool{}
	for pid := range seen {
		if t.Get(pid) == nil {
			continue
		}
		found[pid] = true
		up, _ := t.Ancestors(pid)
		for _, a := range up {
			found[a] = true
		}
	}
	return keys(found)
}

func keys(set map[int]bool) []int {
	out := make([]int, 0, len(set))
	for k := range set {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
