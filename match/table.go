package match

import (
	"slices"

	"reaper/platform"
)

// Table is a census with its family relations looked up once. It is cheap to
// ask and never changes.
type Table struct {
	procs    []platform.Process
	index    map[int]int
	children map[int][]int
	groups   map[int][]int
	withheld map[int][]int // by session, those whose environment macOS does not show
}

// NewTable builds the relations of the rows, whatever their order.
func NewTable(rows []platform.Process) *Table {
	t := &Table{
		procs:    rows,
		index:    make(map[int]int, len(rows)),
		children: make(map[int][]int),
		groups:   make(map[int][]int),
		withheld: make(map[int][]int),
	}
	for i := range rows {
		p := &rows[i]
		t.index[p.PID] = i
		t.children[p.PPID] = append(t.children[p.PPID], p.PID)
		t.groups[p.PGID] = append(t.groups[p.PGID], p.PID)
		if p.Env == platform.EnvWithheld {
			t.withheld[p.SID] = append(t.withheld[p.SID], p.PID)
		}
	}
	for _, lists := range []map[int][]int{t.children, t.groups, t.withheld} {
		for _, pids := range lists {
			slices.Sort(pids)
		}
	}
	return t
}

// Get returns the row of the pid, nil where there is none.
func (t *Table) Get(pid int) *platform.Process {
	if i, ok := t.index[pid]; ok {
		return &t.procs[i]
	}
	return nil
}

// Rows returns all rows, in the order of the census.
func (t *Table) Rows() []platform.Process { return t.procs }

// Children returns the pids whose parent is pid, ascending.
func (t *Table) Children(pid int) []int { return t.children[pid] }

// Group returns the pids whose process group is pgid, ascending.
func (t *Table) Group(pgid int) []int { return t.groups[pgid] }

// Withheld returns the pids in the session that sid leads whose environment macOS
// does not show, ascending. Such a process may carry a marker and cannot be found by it.
func (t *Table) Withheld(sid int) []int { return t.withheld[sid] }

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
		for _, child := range t.children[queue[0]] {
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
			queue = slices.Concat(queue, t.children[pid], t.groups[pid], t.withheld[pid])
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
