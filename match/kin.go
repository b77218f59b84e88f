package match

import (
	"fmt"
	"slices"
	"strings"

	"reaper/platform"
)

// RoleKind is what a process is to one below it. Beside these, whatever a process
// is never touched for is a role, by its Reason.
type RoleKind string

const (
	RoleAdopter  RoleKind = "adopter"  // took in the process below it, whose parent died
	RoleParent   RoleKind = "parent"   // started the process below it, or is taken to have
	RoleUnsure   RoleKind = "unknown"  // whether it started or adopted that one cannot be told
	RoleOwner    RoleKind = "owner"    // a rule's `unowned` names it
	RoleLauncher RoleKind = "launcher" // a rule with `unowned` matches it as well
	RoleFollowed RoleKind = "followed" // a variable of the process names it
	RoleFollower RoleKind = "follower" // carries such a variable itself
	RoleExited   RoleKind = "exited"
)

// Role is one of the things that a process is to one below it, with the facts.
type Role struct {
	Is     RoleKind `json:"is"`
	Detail string   `json:"detail"`
}

// Roles says what the ancestor is to p; child is the process between the two that
// is the ancestor's child, or p. Like Judge it may need facts.
func (j *Judgement) Roles(ancestor, child, p *platform.Process) []Role {
	roles := []Role{j.judge.parenthood(ancestor, child)}
	if ancestor.Exited() {
		roles = append(roles, Role{RoleExited, "has exited, and its parent has not waited for it"})
	}
	roles = append(roles, j.judge.ownership(ancestor, p)...)
	for _, v := range p.Vars {
		if f, ok := j.judge.names(v, ancestor.PID); ok {
			roles = append(roles, Role{RoleFollowed, f})
		}
	}
	return append(roles, j.judge.standing(ancestor)...)
}

func (j *judge) parenthood(parent, child *platform.Process) Role {
	a := j.adopted(child)
	switch a.is {
	case platform.Unknown:
		return Role{RoleUnsure, fmt.Sprintf("of %d: %s", child.PID, a.detail)}
	case platform.Yes:
		_, because, _ := strings.Cut(a.detail, ": ")
		return Role{RoleAdopter, strings.TrimSuffix(fmt.Sprintf("took in %d: %s", child.PID, because), ": ")}
	}
	plain := "its parent is " + label(parent)
	if more, ok := strings.CutPrefix(a.detail, plain); ok {
		return Role{RoleParent, strings.TrimPrefix(more, ", ")}
	}
	return Role{RoleParent, fmt.Sprintf("%d %s", child.PID, a.detail)}
}

// ownership is what the rules that ask who is above p say of a process there.
func (j *judge) ownership(ancestor, p *platform.Process) []Role {
	var roles []Role
	own, _ := j.ownVars(p)
	for _, r := range j.matching(p, own) {
		for _, t := range r.Orphan {
			switch {
			case t.Kind != Unowned || ancestor.Exited():
			case t.Owner.Match(ancestor.Argv):
				roles = append(roles, Role{RoleOwner, fmt.Sprintf("rule %s: matches unowned: %s", r.Name, t.Owner.Text)})
			case j.launcher(r, ancestor):
				roles = append(roles, Role{RoleLauncher, fmt.Sprintf("rule %s matches it too", r.Name)})
			}
		}
	}
	return roles
}

// standing is what a process is by itself: whom it follows, and why it is never touched.
func (j *judge) standing(p *platform.Process) []Role {
	var roles []Role
	for _, name := range j.rules.FollowNames() {
		for _, f := range j.followAll(p, p.Vars, name) {
			roles = append(roles, Role{RoleFollower, f.Detail})
		}
	}
	if p.PID == 1 || p.Exited() {
		return roles
	}
	reason, detail := j.guard(p)
	if reason != "" {
		roles = append(roles, Role{RoleKind(reason), detail})
	}
	if terminal, detail := j.onTerminal(p); terminal != "" && terminal != reason {
		roles = append(roles, Role{RoleKind(terminal), detail})
	}
	return roles
}

// names says whether a variable that some rule follows names the pid.
func (j *judge) names(v platform.Var, pid int) (string, bool) {
	named, _, _, ok := ParseFollowed(v.Value, j.world.System.MaxPID)
	return fmt.Sprintf("%s=%s", v.Name, v.Value), ok && named == pid && j.follows(v.Name)
}

func (j *judge) follows(name string) bool {
	return slices.Contains(j.rules.FollowNames(), name)
}

// Followers returns the pids of the processes that carry a variable by which some
// rule would have them follow p: work that hangs on it. Ascending.
func (j *Judgement) Followers(p *platform.Process) []int {
	var pids []int
	for i := range j.judge.world.Table.Rows() {
		q := &j.judge.world.Table.Rows()[i]
		for _, v := range q.Vars {
			if _, start, hasStart, _ := ParseFollowed(v.Value, j.judge.world.System.MaxPID); hasStart && start != p.Start {
				continue
			}
			if _, ok := j.judge.names(v, p.PID); ok && q.PID != p.PID && !q.Exited() {
				pids = append(pids, q.PID)
				break
			}
		}
	}
	return pids
}

// Adopter says whether q would take p in if p's parent died below q.
func (j *Judgement) Adopter(q, p *platform.Process) bool {
	return j.judge.adopter(q, p) == platform.Yes
}
