package sweep

import (
	"context"
	"slices"
	"strings"

	"reaper/match"
	"reaper/platform"
)

// Companion is a process beside an explained one.
type Companion struct {
	PID     int      `json:"pid"`
	Start   uint64   `json:"start"`
	Command []string `json:"command"`
}

// Ancestor is a process above an explained one, and what it is to that.
type Ancestor struct {
	Companion
	Roles []match.Role `json:"roles"`
}

// Circle is a process group or a session.
type Circle struct {
	ID     int         `json:"id"`
	Leader string      `json:"leader"` // itself, running, exited, outside (of the pid namespace), none (a kernel thread) or unknown
	Others []Companion `json:"others"` // that run in it
}

// Kin are the processes that an explained one has to do with.
type Kin struct {
	Ancestors []Ancestor  `json:"ancestors"` // parent first
	Top       string      `json:"top"`       // how the way up ends: root, missing (a parent that cannot be seen) or cycle
	Group     Circle      `json:"group"`
	Session   Circle      `json:"session"`
	Terminal  string      `json:"terminal,omitempty"` // that controls it, below /dev; ? where it has no known name
	Followers []Companion `json:"followers"`          // that carry its pid in a variable that a rule follows
}

func companion(row *platform.Process) Companion {
	return Companion{row.PID, row.Start, command(row)}
}

// kin is of the reading and its trees; like accounts it may need facts.
func (p *plan) kin(ctx context.Context, row *platform.Process, g growth) Kin {
	r := p.reading
	up, top := r.table.Ancestors(row.PID)
	k := Kin{Ancestors: []Ancestor{}, Followers: []Companion{},
		Top: map[match.Top]string{match.TopRoot: "root", match.TopMissing: "missing", match.TopCycle: "cycle"}[top]}
	child := row
	for _, pid := range up {
		a := r.table.Get(pid)
		k.Ancestors = append(k.Ancestors, Ancestor{companion(a), withStanding(r.judged.Roles(a, child, row), standingIn(r, g, pid))})
		child = a
	}
	k.Group = p.circle(ctx, row, row.PGID, func(q *platform.Process) int { return q.PGID })
	k.Session = p.circle(ctx, row, row.SID, func(q *platform.Process) int { return q.SID })
	if row.TTY != 0 {
		if k.Terminal = platform.TerminalName(row.TTY); k.Terminal == "" {
			k.Terminal = "?"
		}
	}
	for _, pid := range r.judged.Followers(row) {
		k.Followers = append(k.Followers, companion(r.table.Get(pid)))
	}
	return k
}

// withStanding adds what a sweep makes of the ancestor, where no role tells that.
func withStanding(roles []match.Role, s standing) []match.Role {
	said := func(r match.Role) bool { return string(r.Is) == string(s.reason) }
	if s.verdict == "unmatched" || slices.ContainsFunc(roles, said) {
		return roles
	}
	roles = slices.DeleteFunc(roles, func(r match.Role) bool { return r.Is == match.RoleFollower && r.Detail == s.detail })
	brief, _, _ := strings.Cut(s.detail, ", which follows") // that one's own line has it
	return append(roles, match.Role{Is: match.RoleKind(s.verdict), Detail: brief})
}

// printable makes what roles say fit to be shown.
func (k *Kin) printable() {
	for i := range k.Ancestors {
		for t := range k.Ancestors[i].Roles {
			role := &k.Ancestors[i].Roles[t]
			role.Detail = printable(role.Detail)
		}
	}
}

func (p *plan) circle(ctx context.Context, row *platform.Process, id int, of func(*platform.Process) int) Circle {
	c := Circle{ID: id, Leader: p.leader(ctx, row, id), Others: []Companion{}}
	for i := range p.reading.table.Rows() {
		q := &p.reading.table.Rows()[i]
		if of(q) == id && id > 0 && q.PID != row.PID && !q.Exited() && !q.Kernel {
			c.Others = append(c.Others, companion(q))
		}
	}
	return c
}

// leader says what has become of the process that a group or session is named after.
func (p *plan) leader(ctx context.Context, row *platform.Process, id int) string {
	switch {
	case id == row.PID:
		return "itself"
	case id == 0 && p.s.system.Nested && !row.Kernel:
		return "outside"
	case id == 0:
		return "none"
	}
	switch p.s.m.Answer(ctx, match.Fact{Kind: match.FactRunning, PID: id}).Live.Running {
	case platform.Yes:
		return "running"
	case platform.No:
		return "exited"
	}
	return "unknown"
}
