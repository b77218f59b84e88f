package sweep

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"reaper/match"
)

// node is a process in a drawn tree, or several like it that are drawn as one.
type node struct {
	pid      int
	count    int // processes that it stands for
	outcome  Outcome
	detail   string
	signals  []string
	age      float64 // seconds, the oldest's
	youngest float64
	rss      uint64
	argv     []string
	members  []Member // that it stands for
	orphans  []*Orphan
	apart    bool // in the tree, and not below another member
	group    int  // that it is in the tree by, if apart; 0: none
	alone    bool // it, or one below it, must be shown by itself
	children []*node
}

// treeOf draws an orphan's tree by parentage, as that was when each member was
// first seen. A member whose parent is none hangs below the root, apart.
func treeOf(o *Orphan) *node {
	nodes := make(map[int]*node, len(o.Members))
	var all []*node
	for _, m := range o.Members {
		n := &node{pid: m.PID, count: 1, outcome: m.Outcome, detail: m.Detail, signals: m.Signals, age: m.AgeS, youngest: m.AgeS,
			rss: m.RSSBytes, argv: m.Command, members: []Member{m}}
		all = append(all, n)
		if nodes[m.PID] == nil {
			nodes[m.PID] = n
		}
	}
	root := all[0]
	root.orphans = []*Orphan{o}
	over := map[*node]*node{} // the node that each hangs below
	for _, n := range all[1:] {
		parent := nodes[n.members[0].Parent]
		for up := parent; up != nil; up = over[up] {
			if up == n { // a torn reading has cycles
				parent = nil
				break
			}
		}
		if parent == nil || parent == n {
			parent, n.apart = root, true
			if led := n.members[0].PGID; nodes[led] != nil && led != n.pid {
				n.group = led
			}
		}
		over[n] = parent
		parent.children = append(parent.children, n)
	}
	for _, n := range all {
		slices.SortStableFunc(n.children, older)
	}
	root.setAlone()
	return root
}

// setAlone: what is not confirmed is shown by itself, with who started it again.
func (n *node) setAlone() bool {
	n.alone = n.outcome == Unconfirmed
	for _, child := range n.children {
		n.alone = child.setAlone() || n.alone
	}
	return n.alone
}

// older puts the older process first, and what is apart last.
func older(a, b *node) int {
	return cmp.Or(compareBool(a.apart, b.apart), cmp.Compare(b.age, a.age), cmp.Compare(a.pid, b.pid))
}

// foldFrom is how many processes must be alike to be drawn as one.
const foldFrom = 4

// fold draws those as one that are alike, if there are so many, with what is
// below them.
func fold(nodes []*node, from int) []*node {
	groups := map[string][]*node{}
	for _, n := range nodes {
		if !n.alone {
			groups[n.key()] = append(groups[n.key()], n)
		}
	}
	var out []*node
	for _, n := range nodes {
		if n.alone || len(groups[n.key()]) < from {
			n.children = fold(n.children, foldFrom)
			out = append(out, n)
		} else if alike := groups[n.key()]; alike[0] == n {
			out = append(out, merge(alike))
		}
	}
	return out
}

// key is the same for processes that are alike: what they are by name, and how each
// ended and why. What is over a bound is no orphan like the others.
func (n *node) key() string {
	key := commandKey(n.argv) + "\x00" + string(n.outcome) + "\x00" + n.detail
	if n.apart {
		key += "\x00apart"
	}
	for _, o := range n.orphans {
		key += fmt.Sprint("\x00", o.Why.Test == match.Over, o.Action, o.User)
	}
	return key
}

func merge(alike []*node) *node {
	if len(alike) == 1 {
		alike[0].children = fold(alike[0].children, 1)
		return alike[0]
	}
	sum := &node{outcome: alike[0].outcome, detail: alike[0].detail, signals: alike[0].signals, apart: alike[0].apart, group: alike[0].group, youngest: alike[0].youngest}
	var commands [][]string
	var below []*node
	for _, n := range alike {
		sum.count += n.count
		sum.rss += n.rss
		sum.age, sum.youngest = max(sum.age, n.age), min(sum.youngest, n.youngest)
		sum.members = append(sum.members, n.members...)
		sum.orphans = append(sum.orphans, n.orphans...)
		if !slices.Equal(sum.signals, n.signals) {
			sum.signals = nil
		}
		if n.group != sum.group {
			sum.group = 0
		}
		commands = append(commands, n.argv)
		below = append(below, n.children...)
	}
	sum.argv = common(commands)
	slices.SortStableFunc(below, older)
	sum.children = fold(below, 1)
	return sum
}

// eachMember calls f for every process that the tree stands for.
func (n *node) eachMember(f func(Member)) {
	for _, m := range n.members {
		f(m)
	}
	for _, child := range n.children {
		child.eachMember(f)
	}
}

// commandKey is the same for commands that differ only in numbers and in where
// their files lie.
func commandKey(argv []string) string {
	var b strings.Builder
	for _, word := range argv[:min(len(argv), 16)] {
		dir, name := path.Split(word[max(0, len(word)-200):])
		if parent := path.Base(dir); dir != "" && !strings.ContainsAny(parent, "0123456789") && path.Dir(path.Dir(dir)) != "/tmp" {
			name = parent + "/" + name
		}
		digit := false
		for _, r := range name {
			if now := r >= '0' && r <= '9'; !now || !digit {
				if digit = now; now {
					r = '#'
				}
				b.WriteRune(r)
			}
		}
		b.WriteByte(0)
	}
	return b.String()
}

// common is what the argument lists have in common; an ellipsis stands for the rest.
func common(commands [][]string) []string {
	shortest := slices.MinFunc(commands, func(a, b []string) int { return cmp.Compare(len(a), len(b)) })
	out := make([]string, len(shortest))
	longer := false
	for i := range shortest {
		head, tail := commands[0][i], commands[0][i]
		same := true
		for _, argv := range commands[1:] {
			if argv[i] == commands[0][i] {
				continue
			}
			same = false
			head, tail = head[:sharedStart(head, argv[i])], tail[len(tail)-sharedEnd(tail, argv[i]):]
		}
		out[i] = commands[0][i]
		if !same {
			out[i] = apartFrom(head, tail, commands, i)
		}
	}
	for _, argv := range commands {
		longer = longer || len(argv) > len(shortest)
	}
	if longer {
		out = append(out, "…")
	}
	return out
}

// apartFrom joins head and tail where they do not overlap in the shortest word.
func apartFrom(head, tail string, commands [][]string, i int) string {
	least := len(commands[0][i])
	for _, argv := range commands {
		least = min(least, len(argv[i]))
	}
	if len(head)+len(tail) > least {
		tail = tail[len(head)+len(tail)-least:]
		for tail != "" && !utf8.RuneStart(tail[0]) {
			tail = tail[1:]
		}
	}
	return head + "…" + tail
}

func sharedStart(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

func sharedEnd(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[len(a)-1-n] == b[len(b)-1-n] {
		n++
	}
	for n > 0 && !utf8.RuneStart(a[len(a)-n]) {
		n--
	}
	return n
}
