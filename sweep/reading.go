package sweep

import (
	"context"
	"fmt"
	"slices"
	"time"

	"reaper/match"
	"reaper/platform"
)

// Options are the words of one run.
type Options struct {
	Rules    *match.Rules
	AllUsers bool
	Max      int            // refuse to stop more orphans than this; 0: no limit
	Grace    *time.Duration // overrides every rule's own
	Confirm  *time.Duration
	TmpDirs  []string      // what <tmp> stands for, as spelled
	Deadline time.Duration // for one reading of the table
	Version  string
	Names    *match.Names // what is stopped, instead of what the rules prove
	Progress *Progress    // is told how the stopping goes; may be nil
}

// session is what all readings of one run share.
type session struct {
	m      Machine
	o      Options
	system platform.System
	query  platform.Query
	tmp    []match.TmpRoot
	named  []int // whose kin every reading shows, matched or not
}

// reading is one census and what the rules say of it. Table is empty where
// nothing matched.
type reading struct {
	census *platform.Census
	table  *match.Table
	world  *match.World
	facts  match.Facts
	judged *match.Judgement
}

func newSession(ctx context.Context, m Machine, o Options) (*session, error) {
	system, err := m.System()
	if err != nil {
		return nil, err
	}
	s := &session{m: m, o: o, system: system}
	s.query = platform.Query{Names: o.Rules.Names(), Detail: []string{match.SystemdMark}, Argv: o.Rules.NeedsArgv(), Texts: o.Rules.Texts()}
	if o.Names != nil {
		s.name(*o.Names)
	}
	return s, nil
}

// tmpRoots says where the temporary directories are, once it is asked.
func (s *session) tmpRoots(ctx context.Context) []match.TmpRoot {
	for _, dir := range s.o.TmpDirs[len(s.tmp):] {
		links := s.m.Answer(ctx, match.Fact{Kind: match.FactLinks, Path: dir}).Links
		root := match.TmpRoot{Path: dir}
		if len(links) > 0 {
			root.Real = links[len(links)-1].Real
		}
		s.tmp = append(s.tmp, root)
	}
	return s.tmp
}

func (s *session) name(n match.Names) {
	for _, id := range n.IDs {
		s.named = append(s.named, id.PID)
	}
	if n.Mine {
		s.named = append(s.named, s.system.PID)
	}
	if n.Marker.Name != "" {
		s.query.Names = append(s.query.Names, n.Marker.Name)
	}
}

// judgement is what the rules prove, or what was named.
func (s *session) judgement(r *reading) *match.Judgement {
	if s.o.Names != nil {
		return match.Name(*s.o.Names, s.o.Rules, r.world, r.facts)
	}
	return match.Judge(s.o.Rules, r.world, r.facts)
}

// read takes a whole new reading. The extra pids are looked at in detail though
// no rule may match them.
func (s *session) read(ctx context.Context, extra []int) (*reading, error) {
	limited, cancel := context.WithTimeout(ctx, s.o.Deadline)
	defer cancel()
	c, err := s.m.Scan(limited, s.query)
	if err != nil {
		return nil, err
	}
	r := &reading{census: c}
	if len(extra)+len(s.named) == 0 && !s.anyCandidate(c) {
		r.judge(s, match.NewTable(nil), nil)
		return r, ctx.Err()
	}
	return r, s.refresh(ctx, r, extra)
}

// refresh reads parentage, groups and the details of all that matters once more
// and judges anew.
func (s *session) refresh(ctx context.Context, r *reading, extra []int) error {
	limited, cancel := context.WithTimeout(ctx, s.o.Deadline)
	defer cancel()
	if err := s.m.Survey(limited, r.census, s.query); err != nil {
		return err
	}
	table := match.NewTable(r.census.Processes)
	related := table.Related(slices.Concat(s.candidates(r.census), s.named, extra))
	up, _ := table.Ancestors(s.system.PID)
	s.m.Inspect(limited, r.census, union(related, append(up, s.system.PID)), s.query)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("reading the process table: %w", err)
	}
	r.judge(s, match.NewTable(r.census.Processes), s.tmpRoots(ctx))
	return nil
}

func (r *reading) judge(s *session, table *match.Table, tmp []match.TmpRoot) {
	r.table = table
	r.world = &match.World{Table: table, System: s.system, Now: s.m.Ticks(), AllUsers: s.o.AllUsers, TmpRoots: tmp}
	r.facts = match.Facts{}
	r.judged = s.judgement(r)
}

// maxRounds bounds how often verdicts may ask for facts. Each round answers all
// that the one before named; a judgement asks in at most four steps.
const maxRounds = 8

// settle answers the facts that judging and then growing need until nothing is
// missing, and returns the last growth.
func (s *session) settle(ctx context.Context, r *reading, branches func(*match.Judgement) []branch) growth {
	ctx, cancel := context.WithTimeout(ctx, s.o.Deadline) // for all look-ups together
	defer cancel()
	for round := 0; ; round++ {
		g := grow(r.table, r.judged, branches(r.judged))
		needs := r.judged.Needs()
		if len(needs) == 0 || round == maxRounds {
			return g
		}
		for _, f := range needs {
			r.facts[f] = s.m.Answer(ctx, f)
		}
		r.judged = s.judgement(r)
	}
}

func (s *session) anyCandidate(c *platform.Census) bool {
	for i := range c.Processes {
		if s.candidate(&c.Processes[i]) {
			return true
		}
	}
	return false
}

func (s *session) candidate(p *platform.Process) bool {
	return s.o.Rules.Candidate(p, s.system.MaxPID) || s.o.Names != nil && s.o.Names.Candidate(p)
}

func (s *session) candidates(c *platform.Census) []int {
	var pids []int
	for i := range c.Processes {
		if s.candidate(&c.Processes[i]) {
			pids = append(pids, c.Processes[i].PID)
		}
	}
	return pids
}

func union(a, b []int) []int {
	seen := make(map[int]bool, len(a)+len(b))
	out := make([]int, 0, len(a)+len(b))
	for _, list := range [][]int{a, b} {
		for _, pid := range list {
			if !seen[pid] {
				seen[pid] = true
				out = append(out, pid)
			}
		}
	}
	return out
}
