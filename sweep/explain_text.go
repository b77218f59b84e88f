package sweep

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"reaper/match"
)

// An explanation as text, a block for each process: what it is, the verdict with
// what a sweep would do and what would turn it, then what that rests on, the rules
// and tests first. The last cell of a line is broken where it does not fit.

// Text writes the explanation for a person.
func (e *Explanation) Text(w io.Writer, v View) error {
	p := &explainer{width: v.Width}
	for i, x := range e.Explained {
		if i > 0 {
			p.line("")
		}
		p.process(e, &x)
	}
	if len(e.Explained) > 0 && len(e.Gone) > 0 {
		p.line("")
	}
	for _, gone := range e.Gone {
		p.line(gone.String())
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

// explainer collects lines.
type explainer struct {
	width int // 0: no terminal
	out   strings.Builder
}

func (p *explainer) line(s string) {
	p.out.WriteString(strings.TrimRight(s, " "))
	p.out.WriteByte('\n')
}

// cells writes a line of cells of these widths and a last one that is wrapped below itself.
func (p *explainer) cells(widths []int, cells []string, last string) {
	head := ""
	for i, cell := range cells {
		head += pad(cell, widths[i], false) + "  "
	}
	if last == "" {
		p.line(head)
		return
	}
	lines := wrap(last, columns(head), p.width)
	p.line(head + strings.TrimLeft(lines[0], " "))
	for _, line := range lines[1:] {
		p.line(line)
	}
}

// table writes rows whose first cells stand in columns.
func (p *explainer) table(rows [][]string) {
	widths := make([]int, len(rows[0])-1)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], columns(row[i]))
		}
	}
	p.line("")
	for _, row := range rows {
		p.cells(widths, row[:len(widths)], row[len(widths)])
	}
}

// say writes a labelled sentence.
func (p *explainer) say(label, sentence string) {
	p.cells([]int{len("otherwise")}, []string{label}, sentence)
}

func (p *explainer) process(e *Explanation, x *Explained) {
	head := fmt.Sprintf("%d@%d  ", x.PID, x.Start)
	p.line(head + shortCommand(x.Command, max(p.room()-len(head), commandLeast)))
	p.say("is", x.facts())
	p.say("verdict", x.verdictLine())
	if x.Guard != "" && x.Guard != x.Reason {
		p.say("besides", fmt.Sprintf("never touched, whatever a rule says: %s", x.GuardDetail))
	}
	p.say("a sweep", e.would(x.PID, p.most()))
	p.say("otherwise", x.Otherwise.sentence())
	p.rules(x)
	p.ancestors(x)
	p.line("")
	p.circles(x)
	if len(x.Followers) > 0 {
		p.say("followers", fmt.Sprintf("%s: %s", count(len(x.Followers), "process follows it", "processes follow it"), list(x.Followers, p.most())))
	}
}

func (p *explainer) circles(x *Explained) {
	p.say("group", x.Group.sentence(p.most()))
	session := x.Session.sentence(p.most())
	if x.Session.ID == x.Group.ID && len(x.Session.Others) == len(x.Group.Others) {
		session = "the same"
	}
	switch x.Terminal {
	case "":
		session += "; no terminal"
	case "?":
		session += "; on a terminal"
	default:
		session += "; on the terminal " + x.Terminal
	}
	p.say("session", session)
}

func (p *explainer) room() int {
	if p.width == 0 {
		return commandPiped
	}
	return p.width
}

// most is how many processes are listed by name.
func (p *explainer) most() int { return max(4, p.room()/20) }

// facts are what the process is by itself.
func (x *Explained) facts() string {
	if x.State == "exited" || x.State == "kernel thread" {
		return fmt.Sprintf("%s, parent %d", x.State, x.PPID)
	}
	user := x.User
	if user == "" {
		user = fmt.Sprint(x.UID)
	}
	return fmt.Sprintf("%s, user %s, %s old, %s, parent %d", x.State, user, Age(x.AgeS), match.Size(x.RSSBytes), x.PPID)
}

func (x *Explained) verdictLine() string {
	s := map[string]string{"left-behind": "left alone", "member": "part of an orphan's tree", "unknown": "not judged"}[x.Verdict]
	if s == "" {
		s = x.Verdict
	}
	if x.Rule != "" {
		s += " by rule " + x.Rule
	}
	if x.Reason != "" {
		s += " (" + spaced(string(x.Reason)) + ")"
	}
	if x.Detail != "" {
		s += ": " + x.Detail
	}
	return s
}

// would is what a sweep does with the process and the tree that it is in.
func (e *Explanation) would(pid, most int) string {
	for _, o := range e.Orphans {
		at := slices.IndexFunc(o.Members, func(m Member) bool { return m.PID == pid })
		if at < 0 {
			continue
		}
		var others []Companion
		for _, m := range o.Members {
			if m.PID != pid {
				others = append(others, Companion{m.PID, m.Start, m.Command})
			}
		}
		s := "would stop it"
		if o.Action == match.ActionReport {
			s = "would report it and leave it running"
		}
		if len(others) > 0 {
			s += fmt.Sprintf(" with %s: %s", count(len(others), "other", "others"), list(others, most))
		} else if o.Action != match.ActionReport {
			s += ", alone"
		}
		for _, l := range e.LeftBehind {
			if l.Orphan == o.PID {
				s += fmt.Sprintf("; and leave %d (%s)", l.PID, spaced(string(l.Reason)))
			}
		}
		return s
	}
	return "would leave it alone"
}

func (o *Otherwise) sentence() string {
	if o.Verdict == "" {
		return "the same: " + o.Detail
	}
	return o.Verdict + ", if " + strings.Join(o.If, " and ")
}

func (p *explainer) rules(x *Explained) {
	rows := [][]string{{"RULE, TEST", "ANSWER", "FACTS"}}
	add := func(name, answer, facts string) {
		rows = append(rows, []string{shorten(name, max(commandLeast, p.room()*2/5)), answer, facts})
	}
	for _, r := range x.Rules {
		if r.Matches == "no" {
			add(r.Rule, "no match", whyNoMatch(r))
			continue
		}
		add(r.Rule, map[string]string{"yes": "matches", "unknown": "unknown"}[r.Matches], "")
		add("  command", r.Command.Answer, r.Command.Detail)
		add("  marker", r.Marker.Answer, r.Marker.Detail)
		for _, t := range r.Tests {
			add("  "+t.Test, t.Answer, map[bool]string{true: "decides: "}[t.Decides]+t.Detail)
		}
		if r.OlderThan != nil {
			add("  older_than", r.OlderThan.Answer, r.OlderThan.Detail)
		}
	}
	p.table(rows)
}

// whyNoMatch is what a rule misses.
func whyNoMatch(r match.RuleAnswer) string {
	var missing []string
	if r.Command.Answer == "no" {
		missing = append(missing, "command: "+r.Command.Detail)
	}
	if r.Marker.Answer == "no" {
		missing = append(missing, "marker: "+r.Marker.Detail)
	}
	return strings.Join(missing, "; ")
}

// ancestors are shown with their commands cut to a third of the line.
func (p *explainer) ancestors(x *Explained) {
	rows := [][]string{{"ABOVE IT", "COMMAND", "WHAT IT IS"}}
	for _, a := range x.Ancestors {
		var roles []string
		for _, role := range a.Roles {
			switch {
			case role.Is == match.RoleFollower:
				roles = append(roles, role.Detail)
			case role.Detail == "":
				roles = append(roles, string(role.Is))
			default:
				roles = append(roles, spaced(string(role.Is))+": "+role.Detail)
			}
		}
		rows = append(rows, []string{fmt.Sprint(a.PID), shortCommand(a.Command, p.room()/3), strings.Join(roles, "; ")})
	}
	switch {
	case x.Top == "missing":
		rows = append(rows, []string{"?", "", "its parent cannot be seen"})
	case x.Top == "cycle":
		rows = append(rows, []string{"?", "", "the parents lead back to one of these: the reading is torn"})
	case len(x.Ancestors) == 0:
		rows = append(rows, []string{"0", "", map[bool]string{true: "the kernel", false: "nothing in this pid namespace"}[x.State == "kernel thread"]})
	}
	p.table(rows)
}

// sentence says who leads a group or session and who else is in it.
func (c *Circle) sentence(most int) string {
	s := fmt.Sprintf("%d, ", c.ID)
	switch c.Leader {
	case "itself":
		s += "which it leads"
	case "running":
		s += "its leader runs"
	case "exited":
		s += "its leader has exited"
	case "outside":
		return "of another pid namespace"
	case "none":
		return "none"
	default:
		s += "whether its leader runs cannot be told"
	}
	if len(c.Others) == 0 {
		return s + "; nobody else is in it"
	}
	return s + "; also in it: " + list(c.Others, most)
}

// list names processes, so many of them.
func list(of []Companion, most int) string {
	var names []string
	for i, c := range of {
		if i == most && len(of) > most+1 {
			names = append(names, fmt.Sprintf("and %d more", len(of)-i))
			break
		}
		names = append(names, fmt.Sprintf("%d (%s)", c.PID, shorten(strings.Trim(shortPath(c.Command[0], true), "[]"), 20)))
	}
	return strings.Join(names, ", ")
}
