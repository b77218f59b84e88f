package sweep

import (
	"fmt"
	"slices"

	"reaper/match"
)

// rank orders the reasons of what is spared by how much they ask to be looked at.
var rank = []match.Reason{match.ParentRunning, match.PossiblyRecycled, match.HostsLiveWork, match.Owned, match.NotAdopted, match.TooYoung,
	match.Undecided, match.UnknownReason, match.Protected, match.Service, match.OnTerminal, match.Sweeper, match.OtherNamespace,
	match.EnvUnreadable, match.OtherUser}

// sparedMost is how many rows of what is spared for one reason are shown, unless
// all are asked for; one where there are many processes.
const sparedMost = 4

// spared are grouped by reason.
func (l *layout) spared() {
	byReason := map[match.Reason][]Spared{}
	for _, s := range l.report.Spared {
		byReason[s.Reason] = append(byReason[s.Reason], s)
	}
	if len(byReason) > 0 && len(l.rows) > 0 {
		l.heading("")
	}
	for _, reason := range rank {
		all := byReason[reason]
		switch {
		case len(all) == 0:
		case reason == match.OtherUser && !l.view.Verbose:
			r, them := row{outcome: "spared", pid: fmt.Sprintf("%d ×", len(all)), argv: []string{"of other users"}}, "them"
			if len(all) == 1 {
				r.pid, r.argv, them = fmt.Sprint(all[0].PID), []string{"of another user"}, "it"
			}
			l.say(spaced(string(reason)), "--all-users would judge "+them+" too")
			l.rows = append(l.rows, r)
		default:
			l.sparedFor(reason, all)
		}
	}
}

// sparedFor are the rows of one reason, and a sentence above those that share it.
func (l *layout) sparedFor(reason match.Reason, all []Spared) {
	nodes := make([]*node, len(all))
	for i, s := range all {
		nodes[i] = &node{pid: s.PID, count: 1, argv: s.Command, members: []Member{{PID: s.PID, Detail: l.by(s)}}}
	}
	if !l.view.Verbose {
		nodes = l.fewer(fold(nodes, l.from))
	}
	for len(nodes) > 0 {
		var details []string
		var rows []row
		sentence := shared(nodes[0].details())
		same := func(n *node) bool { return shared(n.details()) == sentence }
		for _, n := range nodes {
			if !same(n) {
				continue
			}
			r := row{outcome: "spared", pid: fmt.Sprint(n.pid), argv: n.argv}
			if n.count > 1 {
				l.folded, r.pid = true, fmt.Sprintf("%d ×", n.count)
			}
			rows, details = append(rows, r), append(details, n.details()...)
		}
		l.say(spaced(string(reason)), alike(details))
		l.rows = append(l.rows, rows...)
		nodes = slices.DeleteFunc(nodes, same)
	}
}

// fewer keeps some of the rows and makes one of the others: of all, by their
// names, where there are many processes.
func (l *layout) fewer(nodes []*node) []*node {
	slices.SortStableFunc(nodes, func(a, b *node) int { return -compareBool(a.count > 1, b.count > 1) })
	most, rest := sparedMost, &node{argv: []string{"others"}}
	if l.from < foldFrom {
		most, rest.argv = 0, nil
	}
	if len(nodes)-most < 2 {
		return nodes
	}
	for i, n := range nodes[most:] {
		rest.count, rest.members = rest.count+n.count, append(rest.members, n.members...)
		if most > 0 {
			continue
		}
		if i > 0 {
			rest.argv[len(rest.argv)-1] += ","
		}
		rest.argv = append(rest.argv, n.argv...)
	}
	return append(nodes[:most:most], rest)
}

// details are why each of these is spared.
func (n *node) details() []string {
	out := make([]string, len(n.members))
	for i, m := range n.members {
		out[i] = m.Detail
	}
	return out
}

// by is why a process is spared, and by which rule where there is more than one.
func (l *layout) by(s Spared) string {
	if l.rules < 2 {
		return s.Detail
	}
	return s.Detail + " (rule " + s.Rule + ")"
}
