package sweep

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"reaper/match"
)

// Text writes for each named process what every rule says, and the verdict.
func (e *Explanation) Text(w io.Writer, _ View) error {
	p := &explainer{}
	for _, x := range e.Explained {
		p.line(fmt.Sprintf("%d  %s", x.PID, strings.Join(x.Command, " ")))
		p.line(fmt.Sprintf("  parent %d, group %d, session %d, user %d, %s old", x.PPID, x.PGID, x.SID, x.UID, Age(x.AgeS)))
		if x.Guard != "" {
			p.line(fmt.Sprintf("  never touched (%s): %s", x.Guard, x.GuardDetail))
		}
		for _, r := range x.Rules {
			p.rule(r)
		}
		verdict := x.Verdict
		if x.Rule != "" {
			verdict += " by rule " + x.Rule
		}
		if x.Reason != "" {
			verdict += " (" + string(x.Reason) + ")"
		}
		p.line(fmt.Sprintf("  verdict: %s: %s", verdict, x.Detail))
		if would := e.would(x.PID); would != "" {
			p.line("  a sweep would " + would)
		}
	}
	for _, gone := range e.Gone {
		p.line(gone.String())
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

// would is what a sweep does with the tree that the process is in, "" where it is in none.
func (e *Explanation) would(pid int) string {
	for _, o := range e.Orphans {
		if !slices.ContainsFunc(o.Members, func(m Member) bool { return m.PID == pid }) {
			continue
		}
		if o.Action == match.ActionReport {
			return "report it and leave it running"
		}
		var whom []string
		for _, m := range o.Members {
			whom = append(whom, fmt.Sprint(m.PID))
		}
		return "signal " + count(len(o.Members), "process", "processes") + ": " + strings.Join(whom, ", ")
	}
	return ""
}

// explainer collects the lines.
type explainer struct{ out strings.Builder }

func (p *explainer) line(s string) {
	p.out.WriteString(s)
	p.out.WriteByte('\n')
}

func (p *explainer) rule(r match.RuleAnswer) {
	p.line("  rule " + r.Rule + map[bool]string{true: " matches", false: " does not match"}[r.Matches])
	p.line("    command: " + r.Command)
	p.line("    marker: " + r.Marker)
	if !r.Matches {
		return
	}
	for _, t := range r.Tests {
		line := fmt.Sprintf("    %s: %s, %s", t.Test, t.Answer, t.Detail)
		if t.Decides {
			line += "  <- decides"
		}
		p.line(line)
	}
	if r.OlderThan != "" {
		p.line("    older_than: " + r.OlderThan)
	}
}
