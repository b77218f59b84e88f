package sweep

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"reaper/match"
	"reaper/platform"
)

// Otherwise is the least that would have to be so for the opposite verdict. For
// orphan and spared what it names was supposed and everything judged anew, trees
// and all, so that it is no guess.
type Otherwise struct {
	Verdict string   `json:"verdict"`          // orphan, spared, or judged: what cannot be supposed hides which; "" where nothing turns it
	If      []string `json:"if"`               // all of these
	Detail  string   `json:"detail,omitempty"` // where there is none: why
}

// standing is what a sweep makes of one process.
type standing struct {
	verdict string // orphan, member, spared, left-behind, unmatched, unknown
	rule    string
	reason  match.Reason
	detail  string
	own     *match.Verdict // where it was spared or is an orphan
	root    *match.Verdict // of the tree that it is in
}

func (s *standing) proven() bool { return s.verdict == "orphan" || s.verdict == "member" }

// hypothesis is a reading of a world in which something is otherwise.
type hypothesis struct {
	rows  []platform.Process
	world match.World
	rules match.Rules
	facts match.Facts
}

func (p *plan) hypothesis() *hypothesis {
	return (&hypothesis{p.reading.table.Rows(), *p.reading.world, *p.s.o.Rules, p.reading.facts}).clone()
}

func (h *hypothesis) clone() *hypothesis {
	return &hypothesis{slices.Clone(h.rows), h.world, h.rules, maps.Clone(h.facts)}
}

// row returns the row of a pid, nil where there is none.
func (h *hypothesis) row(pid int) *platform.Process {
	for i := range h.rows {
		if h.rows[i].PID == pid {
			return &h.rows[i]
		}
	}
	return nil
}

// supposition is one thing that would be otherwise.
type supposition struct {
	what string
	make func(h *hypothesis)
}

// judged is how the process stands in a world like that. What the change brings up
// and is not supposed is asked of the machine.
func (p *plan) judged(ctx context.Context, h *hypothesis) (*reading, growth) {
	s := *p.s
	s.o.Rules = &h.rules
	r := &reading{census: p.reading.census, table: match.NewTable(h.rows), facts: h.facts}
	h.world.Table = r.table
	r.world = &h.world
	r.judged = s.judgement(r)
	e := newStopper(&s)
	return r, s.settle(ctx, r, func(j *match.Judgement) []branch { return e.branches(r.table, j) })
}

func standingIn(r *reading, g growth, pid int) standing {
	if i, ok := g.member[pid]; ok {
		root := &g.branches[i].root
		if root.PID == pid {
			return standing{"orphan", root.Rule, "", root.Detail, root, root}
		}
		return standing{"member", root.Rule, "", fmt.Sprintf("goes with the orphan %d: %s", root.PID, root.Detail), nil, root}
	}
	if v, ok := g.spared[pid]; ok {
		return standing{"spared", v.Rule, v.Reason, v.Detail, &v, nil}
	}
	if v := sparedVerdict(r.judged, pid); v != nil {
		return standing{"spared", v.Rule, v.Reason, v.Detail, v, nil}
	}
	for _, l := range g.left {
		if l.PID == pid {
			return standing{"left-behind", "", l.Reason, fmt.Sprintf("in the tree of the orphan %d, %s", l.Orphan, l.Detail), nil, nil}
		}
	}
	return standing{verdict: "unmatched", detail: "no rule matches it"}
}

// mostSupposed bounds how many things are supposed at once, and mostJudged in how
// many worlds.
const mostSupposed, mostJudged = 3, 64

// imagined is where a search has got to.
type imagined struct {
	*hypothesis
	stands  standing
	reading *reading
	ifs     []string
}

// otherwise looks for the fewest suppositions that turn the verdict, or that leave
// only what cannot be supposed. The guard is why no rule may touch the process.
func (p *plan) otherwise(ctx context.Context, row *platform.Process, stands *standing, guard match.Reason) Otherwise {
	if stands.verdict == "unmatched" && guard != "" && guard != match.OtherUser {
		return Otherwise{If: []string{}, Detail: never(row, &standing{reason: guard})}
	}
	worlds := []imagined{{hypothesis: p.hypothesis(), stands: *stands, reading: p.reading}}
	budget := mostJudged
	for at := 0; at < len(worlds); at++ {
		w := worlds[at]
		for _, s := range suppositions(&w, row.PID) {
			if budget--; budget < 0 || slices.Contains(w.ifs, s.what) || len(w.ifs) == mostSupposed {
				break
			}
			n := imagined{hypothesis: w.clone(), ifs: append(slices.Clone(w.ifs), s.what)}
			s.make(n.hypothesis)
			r, g := p.judged(ctx, n.hypothesis)
			n.stands, n.reading = standingIn(r, g, row.PID), r
			if n.stands.proven() != stands.proven() {
				return Otherwise{Verdict: map[bool]string{true: "spared", false: "orphan"}[stands.proven()], If: n.ifs}
			}
			if n.stands.detail != w.stands.detail {
				worlds = append(worlds, n)
			}
		}
	}
	for _, w := range worlds {
		if what := p.toBeJudged(row, &w.stands); what != "" {
			return Otherwise{Verdict: "judged", If: append(w.ifs, what)}
		}
	}
	return Otherwise{If: []string{}, Detail: never(row, stands)}
}

// toBeJudged is what would let the rules decide on the process, and cannot be supposed.
func (p *plan) toBeJudged(row *platform.Process, s *standing) string {
	switch {
	case row.Exited() || row.Kernel || row.PID <= 1:
		return ""
	case s.reason == match.EnvUnreadable && row.Env == platform.EnvUnreadable:
		return "its environment could be read: its own user and root may"
	case s.reason == match.OtherNamespace:
		return "the sweep ran in its pid namespace"
	case s.reason == match.UnknownReason:
		return "what cannot be told were told"
	case s.verdict == "unmatched" && row.UID != p.reading.world.System.UID && !p.reading.world.AllUsers:
		return "--all-users were given and " + p.toMatch(row)
	case s.verdict == "unmatched":
		return p.toMatch(row)
	}
	return ""
}

// toMatch is what the process lacks for the rule that is nearest.
func (p *plan) toMatch(row *platform.Process) string {
	for _, r := range p.s.o.Rules.Rules {
		fits := func(c match.Pattern) bool { return c.Match(row.Argv) }
		if len(r.Marker) > 0 && (len(r.Command) == 0 || slices.ContainsFunc(r.Command, fits)) {
			var markers []string
			for _, m := range r.Marker {
				markers = append(markers, m.String())
			}
			return fmt.Sprintf("it carried %s (rule %s)", strings.Join(markers, " or "), r.Name)
		}
	}
	return "a rule matched it"
}

// never says why nothing turns the verdict.
func never(row *platform.Process, s *standing) string {
	switch {
	case row.Exited():
		return fmt.Sprintf("it has exited, and stays in the table until its parent %d has waited for it", row.PPID)
	case row.Kernel:
		return "a kernel thread is never touched"
	case row.PID == 1:
		return "pid 1 is never touched"
	}
	switch s.reason {
	case match.ParentRunning:
		if s.own != nil && s.own.Blocker == row.PID {
			return "it follows itself"
		}
	case match.Protected:
		return "a server that outlives by design whoever started it is never touched"
	case match.Sweeper:
		return "a sweep touches neither itself nor another one"
	case match.Service, match.NotAdopted:
		return "what its service manager started is that one's to stop"
	case match.EnvUnreadable:
		return "macOS does not show its environment to anyone"
	}
	if s.verdict == "" {
		return "it is never touched, whatever a rule says"
	}
	return "nothing was found that turns it by itself"
}

func (h *hypothesis) runs(pid int, start uint64) {
	h.facts[match.Fact{Kind: match.FactRunning, PID: pid}] = match.Known{Live: platform.Liveness{Running: platform.Yes, Start: max(start, 1)}}
}

func (h *hypothesis) set(kind match.FactKind, is platform.Answer) {
	for f := range h.facts {
		if f.Kind == kind {
			h.facts[f] = match.Known{Is: is}
		}
	}
}

// exits takes a process out of the table. Its children go to the next adopter above it.
func (h *hypothesis) exits(pid int, judged *match.Judgement) {
	h.facts[match.Fact{Kind: match.FactRunning, PID: pid}] = match.Known{Live: platform.Liveness{Running: platform.No}}
	gone := h.row(pid)
	if gone == nil {
		return
	}
	for i := range h.rows {
		child := &h.rows[i]
		if child.PPID != pid || child.PID == pid {
			continue
		}
		child.PPID = h.adopter(gone.PPID, child, judged)
		h.facts[match.Fact{Kind: match.FactMainPID, Process: child.ID()}] = match.Known{Is: platform.No}
		child.Reparented = platform.Yes
	}
	h.rows = slices.DeleteFunc(h.rows, func(q platform.Process) bool { return q.PID == pid })
}

func (h *hypothesis) adopter(above int, child *platform.Process, judged *match.Judgement) int {
	seen := map[int]bool{}
	for q := h.row(above); q != nil && !seen[q.PID]; q = h.row(q.PPID) {
		if seen[q.PID] = true; judged.Adopter(q, child) {
			return q.PID
		}
	}
	return 1
}

// hasParent gives the process a live parent that is in no table.
func (h *hypothesis) hasParent(pid int) {
	child := h.row(pid)
	if child == nil {
		return
	}
	parent := *child
	parent.PID, parent.Start, parent.Vars, parent.Argv, parent.Comm, parent.State, parent.Threads = h.unused(), 1, nil, []string{"?"}, "?", 'S', 1
	parent.TTY, parent.Env, parent.Detailed, parent.Reparented = 0, platform.EnvPresent, true, platform.Unknown
	child.PPID = parent.PID
	h.runs(parent.PID, parent.Start)
	h.rows = append(h.rows, parent)
}

// unused is a pid that nothing holds.
func (h *hypothesis) unused() int {
	pid := h.world.System.MaxPID
	for h.row(pid) != nil {
		pid--
	}
	return pid
}

func (h *hypothesis) later(d time.Duration) {
	h.world.Now += uint64(d.Seconds()*float64(h.world.System.TicksPerSecond)) + 1
}
