package sweep

import (
	"fmt"
	"path"
	"slices"
	"time"

	"reaper/match"
	"reaper/platform"
)

// suppositions are what could be otherwise, most likely first, where the process
// stands as it does.
func suppositions(w *imagined, pid int) []supposition {
	row := w.row(pid)
	switch {
	case row == nil || row.Exited() || row.Kernel || pid <= 1:
		return nil
	case w.stands.proven():
		return w.againstProof(w.stands.root)
	case w.stands.verdict == "unmatched":
		return append(w.foreign(row), w.toMatch(row)...)
	}
	return w.againstReason(row)
}

// againstProof takes from an orphan what proves it.
func (w *imagined) againstProof(root *match.Verdict) []supposition {
	row := w.row(root.PID)
	var out []supposition
	rule := w.rule(root.Rule)
	if row == nil || rule == nil {
		return nil
	}
	for _, t := range rule.Orphan {
		if t.Kind != root.Test {
			continue
		}
		switch t.Kind {
		case match.Follows:
			out = append(out, w.toRun(row, t.Name)...)
		case match.Adopted:
			out = append(out, supposition{fmt.Sprintf("the process that started %d still ran", row.PID), func(h *hypothesis) { h.hasParent(row.PID) }})
		case match.Unowned:
			out = append(out, supposition{fmt.Sprintf("%s, or whatever else started %d, still ran above it", t.Owner.Text, row.PID), func(h *hypothesis) { h.hasParent(row.PID) }})
		case match.Gone:
			for _, value := range row.Values(t.Name) {
				out = append(out, supposition{value + " existed", func(h *hypothesis) { h.set(match.FactGone, platform.No) }})
			}
		case match.Over:
			out = append(out, supposition{"its tree held no more than " + match.Size(t.Over), func(h *hypothesis) { h.set(match.FactMemory, platform.Yes) }})
		}
	}
	return out
}

// toRun supposes of what a variable names that it runs.
func (w *imagined) toRun(row *platform.Process, name string) []supposition {
	var out []supposition
	for _, value := range row.Values(name) {
		if id, start, _, ok := match.ParseFollowed(value, w.world.System.MaxPID); ok {
			out = append(out, supposition{value + " were running", func(h *hypothesis) { h.runs(id, start) }})
		}
	}
	return out
}

// againstReason takes away what spares the process.
func (w *imagined) againstReason(row *platform.Process) []supposition {
	var out []supposition
	add := func(what string, make func(h *hypothesis)) { out = append(out, supposition{what, make}) }
	switch s := &w.stands; s.reason {
	case match.ParentRunning, match.PossiblyRecycled, match.HostsLiveWork, match.Owned, match.NotAdopted:
		blocker := 0
		if s.own != nil {
			blocker = s.own.Blocker
		}
		if blocker > 1 && blocker != row.PID {
			add(w.name(blocker)+" exited", func(h *hypothesis) { h.exits(blocker, w.reading.judged) })
		} else if init := w.row(1); blocker == 1 && init != nil && s.reason != match.ParentRunning {
			add(fmt.Sprintf("pid 1 only adopted and were named so (adopters: [%s])", init.Program()), func(h *hypothesis) {
				h.rules.Adopters = append(slices.Clone(h.rules.Adopters), init.Program())
			})
		}
	case match.TooYoung:
		if rule := w.rule(s.rule); rule != nil {
			missing := rule.OlderThan - w.world.Age(row.Start)
			add(fmt.Sprintf("it were %s old, in %s", match.Duration(rule.OlderThan), Age(missing.Seconds())), func(h *hypothesis) { h.later(missing) })
		}
	case match.OnTerminal:
		terminal, name := row.TTY, platform.TerminalName(row.TTY)
		if row.SID != row.PID {
			add("it were not in the foreground of its terminal", func(h *hypothesis) { h.row(row.PID).Foreground = -1 })
		}
		add("its terminal "+map[bool]string{true: name + " "}[name != ""]+"were closed", func(h *hypothesis) { h.hangUp(terminal) })
	case match.OtherUser:
		out = append(out, w.foreign(row)...)
	case match.Protected:
		for _, p := range w.rules.Protect {
			if p.Match(row.Argv) {
				add(fmt.Sprintf("protect did not have %q", p.Text), func(h *hypothesis) {
					h.rules.Protect = slices.DeleteFunc(slices.Clone(h.rules.Protect), func(q match.Pattern) bool { return q.Text == p.Text })
				})
			}
		}
		if s.own != nil && len(out) == 0 {
			add("it had been given a marker of its own", func(h *hypothesis) { h.restamp(row.PID) })
		}
	case match.Sweeper:
		if row.PID != w.world.System.PID {
			add("the sweep did not run below it", func(h *hypothesis) { h.world.System.PID = h.unused() })
		}
	case match.Service:
		if row.Reparented != platform.No {
			add("it were not a service's main process", func(h *hypothesis) { h.noService(row.PID) })
		}
	case match.Undecided:
		if rule := w.rule(s.rule); rule != nil {
			for _, t := range rule.Orphan {
				out = append(out, w.toAnswer(row, t)...)
			}
		}
	}
	return out
}

// foreign supposes that other users' processes are judged, where this is one.
func (w *imagined) foreign(row *platform.Process) []supposition {
	if row.UID == w.world.System.UID || w.world.AllUsers {
		return nil
	}
	return []supposition{{"--all-users were given", func(h *hypothesis) { h.world.AllUsers = true }}}
}

// toAnswer supposes what a test that said nothing would take for a proof.
func (w *imagined) toAnswer(row *platform.Process, t match.Test) []supposition {
	var out []supposition
	switch t.Kind {
	case match.Follows:
		out = append(out, w.toFollow(row, t.Name))
	case match.Over:
		out = append(out, supposition{"its tree held more than " + match.Size(t.Over), func(h *hypothesis) {
			h.facts[match.Fact{Kind: match.FactMemory, Process: row.ID()}] = match.Known{Is: platform.Yes, Bytes: t.Over + 1}
		}})
	case match.Gone:
		for _, value := range row.Values(t.Name) {
			if path.IsAbs(value) {
				out = append(out, supposition{value + " did not exist", func(h *hypothesis) {
					h.later(max(0, 10*time.Second-h.world.Age(row.Start)))
					h.facts[match.Fact{Kind: match.FactGone, Process: row.ID(), Path: value}] = match.Known{Is: platform.Yes}
				}})
			}
		}
	}
	return out
}

// toFollow supposes that the process has the variable, and that what it names has exited.
func (w *imagined) toFollow(row *platform.Process, name string) supposition {
	return supposition{fmt.Sprintf("it carried %s with the pid of a process that has exited", name), func(h *hypothesis) {
		pid := h.unused()
		mine := h.row(row.PID)
		mine.Vars = append(slices.DeleteFunc(slices.Clone(mine.Vars), func(v platform.Var) bool { return v.Name == name }), platform.Var{Name: name, Value: fmt.Sprint(pid)})
		h.facts[match.Fact{Kind: match.FactRunning, PID: pid}] = match.Known{Live: platform.Liveness{Running: platform.No}}
	}}
}

// toMatch supposes a marker that some rule follows.
func (w *imagined) toMatch(row *platform.Process) []supposition {
	var out []supposition
	if row.Env == platform.EnvUnreadable || row.Env == platform.EnvWithheld {
		return nil
	}
	for i := range w.rules.Rules {
		for _, m := range w.rules.Rules[i].Marker {
			if m.Glob == "" && slices.Contains(w.rules.FollowNames(), m.Name) {
				out = append(out, w.toFollow(row, m.Name))
			}
		}
	}
	return out
}

func (w *imagined) rule(name string) *match.Rule {
	for i := range w.rules.Rules {
		if w.rules.Rules[i].Name == name {
			return &w.rules.Rules[i]
		}
	}
	return nil
}

// name is a process in a sentence.
func (w *imagined) name(pid int) string {
	if row := w.row(pid); row != nil {
		return describe(row)
	}
	return fmt.Sprint(pid)
}

// restamp names another process that has exited by each variable of the process
// that its rules follow.
func (h *hypothesis) restamp(pid int) {
	row := h.row(pid)
	row.Vars = slices.Clone(row.Vars)
	other := h.unused()
	h.facts[match.Fact{Kind: match.FactRunning, PID: other}] = match.Known{Live: platform.Liveness{Running: platform.No}}
	for i, v := range row.Vars {
		if slices.Contains(h.rules.FollowNames(), v.Name) {
			row.Vars[i].Value = fmt.Sprint(other)
		}
	}
}

func (h *hypothesis) hangUp(terminal int) {
	for i := range h.rows {
		if h.rows[i].TTY == terminal {
			h.rows[i].TTY, h.rows[i].Foreground = 0, -1
		}
	}
}

func (h *hypothesis) noService(pid int) {
	row := h.row(pid)
	row.Vars = slices.DeleteFunc(slices.Clone(row.Vars), func(v platform.Var) bool { return v.Name == match.SystemdMark })
	h.facts[match.Fact{Kind: match.FactMainPID, Process: row.ID()}] = match.Known{Is: platform.No}
}
