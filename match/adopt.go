package match

import (
	"fmt"
	"slices"
	"strings"

	"reaper/platform"
)

// inits are the programs that as pid 1 take in every orphan of their namespace.
// Any other pid 1 (a test runner, a shell) is a live parent: its children were
// born below it.
var inits = []string{"systemd", "init", "launchd", "tini", "tini-static", "dumb-init", "docker-init", "podman-init",
	"catatonit", "s6-svscan", "s6-linux-init", "runit", "runit-init", "openrc-init", "procd", "dinit", "finit", "shepherd"}

// carriers are inits that run one program, their oldest child, which is not adopted.
var carriers = []string{"tini", "tini-static", "dumb-init", "docker-init", "podman-init", "catatonit"}

// adoption is the answer to "is the parent an adopter": yes and no with the
// facts in words, or unknown.
type adoption struct {
	is     platform.Answer
	parent int
	detail string
}

// adopted tells whether the process was taken in by an adopter.
func (j *judge) adopted(p *platform.Process) adoption {
	unknown := func(format string, args ...any) adoption {
		return adoption{platform.Unknown, p.PPID, fmt.Sprintf(format, args...)}
	}
	if p.PPID == 0 {
		return unknown("its parent is outside this pid namespace")
	}
	parent := j.world.Table.Get(p.PPID)
	switch {
	case parent == nil:
		return unknown("its parent %d cannot be seen", p.PPID)
	case parent.Exiting():
		return unknown("its parent %d is exiting", p.PPID)
	case parent.Start > p.Start:
		return unknown("its parent %d is younger than itself: the reading is torn", p.PPID)
	}
	if _, top := j.world.Table.Ancestors(p.PID); top == TopCycle {
		return unknown("its ancestors form a cycle")
	}
	if isLaunchd(parent) {
		return byLaunchd(parent, p)
	}
	name := label(parent)
	switch is := j.adopter(parent, p); is {
	case platform.Unknown:
		return unknown("its parent %s cannot be told from an adopter", name)
	case platform.No:
		return j.sessionLeft(parent, p)
	}
	if slices.Contains(carriers, parent.Program()) || isRelay(parent) {
		if j.oldestChild(parent.PID) == p.PID {
			return adoption{platform.No, parent.PID, fmt.Sprintf("is the program that %s runs", name)}
		}
	}
	return adoption{platform.Yes, parent.PID, "adopted by " + name}
}

// adopter tells whether q takes in children whose parent died, as far as p is concerned.
func (j *judge) adopter(q, p *platform.Process) platform.Answer {
	if j.namedAdopter(q) {
		return platform.Yes
	}
	if len(q.Argv) == 0 {
		return platform.Unknown
	}
	if q.PID == 1 {
		// Both names: a shell script called init has comm "init" and argv[0] "/bin/sh".
		return platform.AnswerOf(slices.Contains(inits, programWord(q.Program())) && slices.Contains(inits, q.Comm) || isRelay(q))
	}
	if isRelay(q) {
		return platform.Yes
	}
	if q.UID != p.UID {
		return platform.No
	}
	return j.userManager(q)
}

// userManager tells whether a process is a `systemd --user`: it says so by its
// arguments and its comm, and its executable has that name. Only root may look at
// another user's executable, and systemd's own user often may not either
// (ambient capabilities): then what it says counts.
func (j *judge) userManager(q *platform.Process) platform.Answer {
	const name = "systemd"
	if q.Program() != name || q.Comm != name || len(q.Argv) < 2 || !slices.Contains(q.Argv[1:], "--user") {
		return platform.No
	}
	k, ok := j.ask(Fact{Kind: FactProgram, Process: q.ID(), Path: name})
	if !ok {
		return platform.Unknown
	}
	return platform.AnswerOf(k.Is != platform.No)
}

// sessionLeft is the proof below a pid 1 that is no known init: the process was
// born in a session that is neither its own nor pid 1's, and whose leader is
// gone, so whoever started it has died. A gone group leader proves nothing: of
// `a | b` run by a job-control shell, b outlives a.
func (j *judge) sessionLeft(parent, p *platform.Process) adoption {
	no := adoption{platform.No, parent.PID, "its parent is " + label(parent)}
	if parent.PID == 1 {
		no.detail += ", no known init: if it only adopts, name it under adopters"
	}
	if parent.PID != 1 || p.SID == 0 || p.SID == p.PID || p.SID == parent.SID {
		return no
	}
	k, ok := j.ask(Fact{Kind: FactRunning, PID: p.SID})
	if !ok || k.Live.Running != platform.No {
		return no
	}
	return adoption{platform.Yes, parent.PID, fmt.Sprintf("adopted by %s: its session's leader %d is gone", label(parent), p.SID)}
}

// isLaunchd recognises macOS's pid 1. It adopts, and it starts every agent, daemon
// and application as well, so that to be its child proves nothing.
func isLaunchd(q *platform.Process) bool { return q.PID == 1 && q.Comm == "launchd" }

// byLaunchd is the answer for a child of launchd.
func byLaunchd(launchd, p *platform.Process) adoption {
	name := label(launchd)
	switch p.Reparented {
	case platform.Yes:
		return adoption{platform.Yes, launchd.PID, "adopted by " + name}
	case platform.No:
		return adoption{platform.No, launchd.PID, "was started by " + name + " itself"}
	}
	return adoption{platform.Unknown, launchd.PID, "whether " + name + " adopted or started it cannot be told"}
}

func (j *judge) namedAdopter(q *platform.Process) bool {
	for _, name := range j.rules.Adopters {
		short := name
		if len(short) > 15 { // the kernel keeps 15 bytes, proc_pid_comm(5)
			short = short[:15]
		}
		if q.Comm == short || len(q.Argv) > 0 && q.Program() == name {
			return true
		}
	}
	return false
}

// isRelay recognises WSL's init and the relays it forks for each console.
func isRelay(q *platform.Process) bool {
	return len(q.Argv) > 0 && q.Argv[0] == "/init" &&
		(q.Comm == "init" || strings.HasPrefix(q.Comm, "init(") || strings.HasPrefix(q.Comm, "Relay("))
}

// oldestChild is the first started child; within one tick the lower pid counts as
// older. A child whose start cannot be read does not take another one's place.
func (j *judge) oldestChild(pid int) int {
	oldest, start := 0, uint64(0)
	for _, child := range j.world.Table.Children(pid) {
		if c := j.world.Table.Get(child); c.Start != 0 && (oldest == 0 || c.Start < start) {
			oldest, start = child, c.Start
		}
	}
	return oldest
}

func programWord(s string) string {
	word, _, _ := strings.Cut(s, " ")
	return word
}

// label is a process in a sentence: "systemd --user (1203)".
func label(p *platform.Process) string {
	name := p.Program()
	if name == "systemd" && len(p.Argv) > 1 && slices.Contains(p.Argv[1:], "--user") {
		name += " --user"
	}
	if name == "" {
		name = p.Comm
	}
	return fmt.Sprintf("%s (%d)", name, p.PID)
}

func (j *judge) testAdopted(p *platform.Process, v Verdict) Verdict {
	switch a := j.adopted(p); a.is {
	case platform.Yes:
		return v.prove(Adopted, a.detail)
	case platform.No:
		return v.spare(NotAdopted, a.detail, a.parent)
	default:
		return v.spare(UnknownReason, a.detail, 0)
	}
}

// testUnowned walks up: processes that the rule matches (launchers and their
// payload) count as one; the walk must reach an adopter, and no owner may run
// anywhere above, an adopter's own ancestors included.
func (j *judge) testUnowned(t Test, r *Rule, p *platform.Process, v Verdict) Verdict {
	up, top := j.world.Table.Ancestors(p.PID)
	unread := ""
	for _, pid := range up {
		switch a := j.world.Table.Get(pid); {
		case a.Exited():
		case t.Owner.Match(a.Argv):
			return v.spare(Owned, "owned by "+label(a)+", which is running", pid)
		case len(a.Argv) == 0 && unread == "" && !isLaunchd(a): // whose arguments only root may read
			unread = "the command of its ancestor " + label(a) + " cannot be read"
		}
	}
	switch {
	case top == TopMissing:
		return v.spare(UnknownReason, "one of its ancestors cannot be seen", 0)
	case unread != "":
		return v.spare(UnknownReason, unread, 0)
	}
	for link := p; ; {
		a := j.adopted(link)
		switch a.is {
		case platform.Yes:
			return v.prove(Unowned, fmt.Sprintf("no running %s above it, %s", t.Owner.Text, a.detail))
		case platform.Unknown:
			return v.spare(UnknownReason, a.detail, 0)
		}
		parent := j.world.Table.Get(link.PPID)
		if !j.launcher(r, parent) {
			return v.spare(Owned, "below "+label(parent)+", which is running", parent.PID)
		}
		link = parent
	}
}

// launcher says whether a process counts as one with what it started: the rule
// matches it, by what is its own, and it may be stopped itself. A terminal's
// shell or a multiplexer that carries a stale marker is an owner like any other.
func (j *judge) launcher(r *Rule, p *platform.Process) bool {
	if reason, _ := j.guard(p); reason != "" {
		return false
	}
	own, _ := j.ownVars(p)
	return j.matches(r, p, own) && j.surely(r, own)
}

// Adopted says whether an adopter has taken the process in.
func (j *Judgement) Adopted(p *platform.Process) bool {
	return j.judge.adopted(p).is == platform.Yes
}
