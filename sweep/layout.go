package sweep

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"reaper/match"
)

// A report as text: each process is one line of cells, in the order in which one
// asks: what would go, since when, how much it holds, what it is. Above the
// processes that it holds for stands why, below them what else is to be said. A dry
// run and what the sweep then did have the same lines in the same order.

// row is the line of one process, or of several alike; of a sentence about them;
// or of a heading.
type row struct {
	outcome       string // first cell; painted where it tells how something ended
	how           Outcome
	pid, age, rss string
	tree          string // lines that draw the tree
	group         string // that it is in the tree by
	argv          []string
	sentence      string
	heading       string
}

// screenful is how many processes a screen takes, so that more are drawn closer together.
const screenful = 40

// layout collects the rows of a report.
type layout struct {
	report *Report
	view   View
	rules  int // how many rules have something to show
	from   int // how many must be alike to be drawn as one
	folded bool
	rows   []row
}

// lay puts a report into rows.
func lay(r *Report, v View) []row {
	l := &layout{report: r, view: v, from: foldFrom}
	if r.Totals.Processes+len(r.Spared) > screenful {
		l.from = 2
	}
	l.countRules()
	if len(r.Orphans) > 0 {
		if r.Rules != "" && r.Orphans[0].Why.Test != match.Named {
			l.heading("rules: " + r.rules(v.Home))
		}
		l.orphans()
		l.left()
	}
	if !v.Quiet {
		l.spared()
	}
	if len(l.rows) > 0 {
		l.heading("")
	}
	l.notes()
	l.heading(r.sentence(v))
	return l.rows
}

func (l *layout) heading(s string) { l.rows = append(l.rows, row{heading: s}) }

func (l *layout) say(label, sentence string) {
	l.rows = append(l.rows, row{sentence: label + ": " + sentence})
}

func (l *layout) countRules() {
	rules := map[string]bool{}
	for _, o := range l.report.Orphans {
		rules[o.Rule] = true
	}
	for _, s := range l.report.Spared {
		rules[s.Rule] = true
	}
	l.rules = len(rules)
}

// orphans are grouped by rule, those that only report last, each group the oldest
// first; those that are alike come as one, before the others.
func (l *layout) orphans() {
	byRule := map[string][]*node{}
	var names []string
	for i := range l.report.Orphans {
		o := &l.report.Orphans[i]
		if byRule[o.Rule] == nil {
			names = append(names, o.Rule)
		}
		byRule[o.Rule] = append(byRule[o.Rule], treeOf(o))
	}
	slices.SortFunc(names, func(a, b string) int {
		reports := func(name string) bool { return byRule[name][0].orphans[0].Action == match.ActionReport }
		return cmp.Or(compareBool(reports(a), reports(b)), cmp.Compare(a, b))
	})
	for i, name := range names {
		trees := byRule[name]
		slices.SortStableFunc(trees, older)
		if i > 0 {
			l.heading("")
		}
		if i == 0 {
			l.rows = append(l.rows, row{outcome: "OUTCOME", pid: "PID", age: "AGE", rss: "RSS", argv: []string{"COMMAND"}})
		}
		if name != "" && trees[0].orphans[0].Why.Test != match.Named {
			l.heading("rule " + name + l.subtotal(trees))
		}
		if !l.view.Verbose {
			trees = fold(trees, l.from)
		}
		for _, group := range l.together(trees) {
			l.group(group)
		}
	}
}

// subtotal sums a rule's trees up where there is more than one rule.
func (l *layout) subtotal(trees []*node) string {
	if len(trees) == len(l.report.Orphans) {
		return ""
	}
	processes, rss := 0, uint64(0)
	for _, tree := range trees {
		tree.eachMember(func(m Member) { processes, rss = processes+1, rss+m.RSSBytes })
	}
	return fmt.Sprintf(": %s, %s, %s", count(len(trees), "orphan", "orphans"), count(processes, "process", "processes"), match.Size(rss))
}

// together groups the trees that share a sentence, and those folded ones that have
// several.
func (l *layout) together(trees []*node) [][]*node {
	var groups [][]*node
	at := map[string]int{}
	slices.SortStableFunc(trees, func(a, b *node) int { return -compareBool(a.count > 1, b.count > 1) })
	for _, tree := range trees {
		var whys []string
		for _, o := range tree.orphans {
			whys = append(whys, o.why())
		}
		o := tree.orphans[0]
		key := fmt.Sprint(shared(whys), "\x00", o.User, "\x00", o.Action)
		if l.view.Verbose {
			key += fmt.Sprint(o.Markers)
		}
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], tree)
	}
	return groups
}

// group is why some trees are orphans, a sentence for each test that proved any,
// the trees, and what else holds for all of them.
func (l *layout) group(trees []*node) {
	var all []*Orphan
	var tests []match.TestKind
	whys := map[match.TestKind][]string{}
	for _, tree := range trees {
		for _, o := range tree.orphans {
			test := o.Why.Test
			if whys[test] == nil {
				tests = append(tests, test)
			}
			all, whys[test] = append(all, o), append(whys[test], o.why())
		}
	}
	for _, test := range tests {
		label := "why"
		if len(tests) > 1 {
			label = fmt.Sprintf("why (%d of %d)", len(whys[test]), len(all))
		} else if len(all) > 1 {
			label = fmt.Sprintf("why (%d orphans)", len(all))
		}
		l.say(label, alike(whys[test]))
	}
	for _, tree := range trees {
		l.draw(tree, "", "")
	}
	if all[0].Action == match.ActionReport {
		l.say("left running", "the rule's action is report")
	}
	if how := oneByOne(trees); how != "" {
		l.say("how", how)
	}
	if l.users() {
		l.say("user", all[0].User)
	}
	if l.view.Verbose && len(all[0].Markers) > 0 {
		l.say("carries", markers(all[0].Markers))
	}
}

// why is the proof as a sentence, and how far it reaches.
func (o *Orphan) why() string {
	switch o.Why.Test {
	case match.Over:
		return o.Why.Detail + " (a bound that the rule sets, owned or not)"
	case match.Adopted:
		return "its parent has exited: " + o.Why.Detail
	}
	return o.Why.Detail
}

// users says whether the orphans are of more than one user.
func (l *layout) users() bool {
	return slices.ContainsFunc(l.report.Orphans, func(o Orphan) bool { return o.User != l.report.Orphans[0].User })
}

// alike is the first of the sentences, and how many others there are.
func alike(details []string) string {
	different := map[string]bool{}
	for _, d := range details {
		different[d] = true
	}
	if n := len(different) - 1; n > 0 {
		return fmt.Sprintf("%s, and %d more like it", details[0], n)
	}
	return details[0]
}

// shared is the sentence that all have, "" where they differ.
func shared(details []string) string {
	for _, d := range details {
		if d != details[0] {
			return ""
		}
	}
	return details[0]
}

func markers(of map[string]string) string {
	var all []string
	for name, value := range of {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// oneByOne says which of the trees' processes get their signal by themselves and
// not as a whole group, "" where none does.
func oneByOne(trees []*node) string {
	var whom []string
	signalled := 0
	for _, tree := range trees {
		tree.eachMember(func(m Member) {
			if m.Outcome != WouldStop && len(m.Signals) == 0 {
				return
			}
			if signalled++; m.By == "pid" {
				whom = append(whom, fmt.Sprint(m.PID))
			}
		})
	}
	switch n := len(whom); {
	case n == 0:
		return ""
	case n == signalled:
		return "signalled one by one, not as a group"
	case n > foldFrom:
		return fmt.Sprintf("%d of %d signalled one by one, the others as a group", n, signalled)
	}
	return strings.Join(whom, ", ") + " signalled one by one, the others as a group"
}

// draw is the row of a process and those of all below it. The lines stand before
// its command; those that the processes below it have are handed down.
func (l *layout) draw(n *node, line, below string) {
	r := row{outcome: l.outcome(n), how: n.outcome, pid: fmt.Sprint(n.pid), age: Age(n.age), rss: match.Size(n.rss), tree: line, argv: n.argv}
	if n.count > 1 {
		l.folded = true
		r.pid = fmt.Sprintf("%d ×", n.count)
		if r.age != Age(n.youngest) {
			r.age = "≤" + r.age
		}
	}
	if l.view.Verbose && len(n.signals) > 0 {
		r.outcome += " " + strings.Join(n.signals, "+")
	}
	if n.group > 0 {
		r.group = fmt.Sprintf("(group %d) ", n.group)
	}
	l.rows = append(l.rows, r)
	if n.detail != "" {
		l.say(fmt.Sprint(n.pid), n.detail)
	}
	for i, child := range n.children {
		branch, under := "├─ ", "│  "
		if i == len(n.children)-1 {
			branch, under = "└─ ", "   "
		}
		if child.apart {
			branch = strings.Replace(branch, "─", "╌", 1)
		}
		l.draw(child, below+branch, below+under)
	}
}

// outcome is the word for what became of a process, or would.
func (l *layout) outcome(n *node) string {
	if n.outcome == WouldStop && l.report.Refused != "" {
		return "held back"
	}
	return spaced(string(n.outcome))
}

// spaced is a word of the JSON document as text has it.
func spaced(word string) string { return strings.ReplaceAll(word, "-", " ") }

// left are the processes of a tree that stay.
func (l *layout) left() {
	for i, b := range l.report.LeftBehind {
		if i == 0 {
			l.heading("")
		}
		l.rows = append(l.rows, row{outcome: "left alone", pid: fmt.Sprint(b.PID), argv: b.Command})
		l.say(spaced(string(b.Reason)), fmt.Sprintf("%s; it is in the tree of %d", b.Detail, b.Orphan))
	}
}

func (l *layout) notes() {
	r := l.report
	say := func(when bool, s string) {
		if when {
			l.heading(s)
		}
	}
	verbose := func(n int, one, many, what string) {
		say(n > 0 && l.view.Verbose, count(n, one, many)+" "+what)
	}
	say(l.folded, "like ones are counted (×): --verbose lists each")
	say(r.Refused != "", r.Refused)
	say(r.Exit == ExitInterrupted, "interrupted: what was signalled and not seen to exit may still run; run the sweep again")
	say(r.Cut, "the reading was cut short, by its deadline or for want of descriptors or memory: what was not read is not judged")
	say(r.PIDNamespace == "nested" && l.view.Verbose, "in a pid namespace of its own: pids from outside mean nothing here")
	say(len(r.Idle) > 0 && l.view.Verbose, "nothing here is by "+map[bool]string{true: "rule ", false: "the rules "}[len(r.Idle) == 1]+strings.Join(r.Idle, ", "))
	verbose(r.Census.Unreadable, "environment", "environments", "could not be read, those processes were not judged")
	verbose(r.Census.Withheld, "environment", "environments", "of macOS's own programs not shown to anyone, those processes were not judged")
	verbose(r.Census.Overwritten, "environment", "environments", "empty or overwritten, what was there cannot be seen")
}

// widths are those of the cells that stand in columns.
type widths struct{ outcome, pid, age, rss int }

func widthsOf(rows []row) widths {
	w := widths{}
	for _, r := range rows {
		w.outcome = max(w.outcome, columns(r.outcome))
		w.pid = max(w.pid, columns(r.pid))
		w.age = max(w.age, columns(r.age))
		w.rss = max(w.rss, columns(r.rss))
	}
	if w.outcome > 0 {
		w.outcome = max(w.outcome, len("would stop")) // so that a plan and its outcome stand side by side
	}
	return w
}

// commandLeast is the narrowest that a command gets; a narrower terminal breaks the line.
const commandLeast, commandPiped = 16, 120

// lines are what a row shows, in so many columns, 0 for a pipe.
func (w widths) lines(r row, width int) []string {
	if r.sentence != "" {
		return wrap(r.sentence, w.outcome+2, width)
	}
	if r.outcome == "" {
		return wrap(r.heading, 0, width)
	}
	cells := pad(r.outcome, w.outcome, false) + "  " + pad(r.pid, w.pid, true) + "  "
	for _, c := range []struct {
		text  string
		width int
	}{{r.age, w.age}, {r.rss, w.rss}} {
		if c.width > 0 {
			cells += pad(c.text, c.width, true) + "  "
		}
	}
	room := commandPiped
	if width > 0 {
		room = max(width-columns(cells), commandLeast)
	}
	tree := r.tree
	if deepest := room / 2; columns(tree) > deepest {
		tree = "…" + end(tree, deepest-1)
	}
	command := shortCommand(r.argv, max(room-columns(tree)-len(r.group), commandLeast))
	return []string{strings.TrimRight(cells+tree+r.group+command, " ")}
}

// pad fills a cell up, on its left for numbers.
func pad(s string, width int, left bool) string {
	blanks := strings.Repeat(" ", max(0, width-columns(s)))
	if left {
		return blanks + s
	}
	return s + blanks
}
