package sweep

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/mattn/go-runewidth"
	"github.com/muesli/termenv"

	"reaper/match"
)

// Text rules: one process is one line; what a process says of itself has been
// made printable in the report; colour says nothing that words do not say too;
// the terminal is asked nothing. The last line is one sentence of totals.

// View says how a report is shown as text.
type View struct {
	Width   int  // columns to fit lines into; 0: do not cut
	Color   bool // 16 plain colours, readable on light and dark
	Verbose bool // every spared process, and every member of a tree
	Quiet   bool // nothing where nothing was found and nothing is left
}

// Text writes the report for a person.
func (r *Report) Text(w io.Writer, v View) error {
	if v.Quiet && len(r.Orphans) == 0 && r.Exit == ExitDone {
		return nil
	}
	p := newPainter(v)
	p.orphans(r)
	p.spared(r)
	p.left(r)
	p.notes(r)
	p.line(r.sentence())
	_, err := io.WriteString(w, p.out.String())
	return err
}

type painter struct {
	view View
	out  strings.Builder
	good lipgloss.Style
	bad  lipgloss.Style
}

func newPainter(v View) *painter {
	renderer := lipgloss.NewRenderer(io.Discard)
	renderer.SetHasDarkBackground(true) // else it asks the terminal
	renderer.SetColorProfile(termenv.Ascii)
	if v.Color {
		renderer.SetColorProfile(termenv.ANSI)
	}
	return &painter{
		view: v,
		good: renderer.NewStyle().Foreground(lipgloss.Color("2")),
		bad:  renderer.NewStyle().Foreground(lipgloss.Color("1")).Bold(true),
	}
}

// line writes a sentence, which is never cut: a terminal wraps it.
func (p *painter) line(s string) {
	p.out.WriteString(s)
	p.out.WriteByte('\n')
}

func (p *painter) cut(s string) string {
	if p.view.Width > 0 {
		return runewidth.Truncate(s, p.view.Width, "…")
	}
	return s
}

func (p *painter) orphans(r *Report) {
	if len(r.Orphans) == 0 {
		return
	}
	rows := [][]string{{"RULE", "PID", "AGE", "MEMORY", "TREE", "OUTCOME", "WHY", "COMMAND"}}
	for _, o := range r.Orphans {
		rows = append(rows, []string{o.Rule, fmt.Sprint(o.PID), Age(o.AgeS), match.Size(o.RSSBytes), fmt.Sprint(len(o.Members)),
			string(o.Outcome), o.Why.Detail, strings.Join(o.Command, " ")})
		for _, m := range o.Members[1:] {
			if p.view.Verbose || m.Outcome == Unconfirmed || m.Outcome == Denied {
				rows = append(rows, []string{"", fmt.Sprint(m.PID), "", "", "", string(m.Outcome), m.Detail, strings.Join(m.Command, " ")})
			}
		}
	}
	p.table(rows, 5, "")
}

// table pads the columns to their widest cell, cuts, and colours last.
func (p *painter) table(rows [][]string, outcome int, indent string) {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
	}
	for _, row := range rows {
		line, at := indent, -1
		for i, cell := range row {
			if i == outcome {
				at = len(line)
			}
			if i == len(row)-1 {
				line += cell
				break
			}
			line += runewidth.FillRight(cell, widths[i]) + "  "
		}
		p.line(p.paint(p.cut(strings.TrimRight(line, " ")), row, outcome, at))
	}
}

// paint colours the outcome, which stands at that byte unless it was cut off.
func (p *painter) paint(line string, row []string, outcome, at int) string {
	if outcome < 0 || at >= len(line) || !strings.HasPrefix(line[at:], row[outcome]) {
		return line
	}
	word, style := row[outcome], p.good
	switch Outcome(word) {
	case Unconfirmed, Denied:
		style = p.bad
	case Stopped, Vanished:
	default:
		return line
	}
	return line[:at] + style.Render(word) + line[at+len(word):]
}

func (p *painter) spared(r *Report) {
	if len(r.Spared) == 0 {
		return
	}
	p.line("spared:")
	rows := [][]string{}
	others := 0
	for _, s := range r.Spared {
		if s.Reason == match.OtherUser && !p.view.Verbose {
			others++
			continue
		}
		rows = append(rows, []string{s.Rule, fmt.Sprint(s.PID), string(s.Reason), s.Detail, strings.Join(s.Command, " ")})
	}
	if len(rows) > 0 {
		p.table(rows, -1, "  ")
	}
	if others > 0 {
		p.line(fmt.Sprintf("  %s of other users: --all-users would judge them too", count(others, "matching process", "matching processes")))
	}
}

func (p *painter) left(r *Report) {
	if len(r.LeftBehind) == 0 {
		return
	}
	p.line("left behind:")
	rows := [][]string{}
	for _, l := range r.LeftBehind {
		rows = append(rows, []string{fmt.Sprint(l.PID), string(l.Reason), l.Detail, fmt.Sprintf("in the tree of %d", l.Orphan)})
	}
	p.table(rows, -1, "  ")
}

func (p *painter) notes(r *Report) {
	if r.Refused != "" {
		p.line(r.Refused)
	}
	if r.Exit == ExitInterrupted {
		p.line("interrupted: what was signalled and not seen to exit may still run; run the sweep again")
	}
	if r.Cut {
		p.line("the reading was cut short by its deadline: what was not read is not judged")
	}
	if r.PIDNamespace == "nested" && (len(r.Orphans) > 0 || len(r.Spared) > 0) {
		p.line("in a pid namespace of its own: pids from outside mean nothing here")
	}
	if n := r.Census.Unreadable; n > 0 && p.view.Verbose {
		p.line(count(n, "environment", "environments") + " could not be read, those processes were not judged")
	}
	if n := r.Census.Withheld; n > 0 && p.view.Verbose {
		p.line(count(n, "environment", "environments") + " of macOS's own programs not shown to anyone, those processes were not judged")
	}
	if n := r.Census.Overwritten; n > 0 && p.view.Verbose {
		p.line(count(n, "environment", "environments") + " empty or overwritten, no marker can be seen there")
	}
}

// sentence sums the report up: what would go or what went, what is left, what was spared and why.
func (r *Report) sentence() string {
	if r.Nothing != "" {
		return r.Nothing
	}
	if len(r.Orphans) == 0 {
		return "no orphans among " + count(r.Census.Processes, "process", "processes") + r.source() + r.sparedPart()
	}
	trees := count(r.Totals.Orphans, "orphan", "orphans")
	if r.Orphans[0].Why.Test == match.Named {
		trees = count(r.Totals.Orphans, "tree", "trees")
	}
	whole := trees + ", " + count(r.Totals.Processes, "process", "processes") +
		", " + match.Size(r.Totals.RSSBytes)
	var parts []string
	outcomes := map[Outcome]int{}
	for _, o := range r.Orphans {
		for _, m := range o.Members {
			outcomes[m.Outcome]++
		}
	}
	for _, o := range []Outcome{WouldStop, Stopped, Vanished, Unconfirmed, Denied, Changed, Recycled, Reported} {
		if n := outcomes[o]; n > 0 && o != WouldStop {
			parts = append(parts, fmt.Sprintf("%d %s", n, o))
		}
	}
	switch n := outcomes[WouldStop]; {
	case n > 0 && r.Refused != "":
		return whole + ": nothing was stopped" + r.sparedPart()
	case n == r.Totals.Processes:
		return whole + " would be stopped" + r.sparedPart()
	case n > 0:
		parts = append([]string{fmt.Sprintf("%d would be stopped", n)}, parts...)
	}
	return whole + ": " + strings.Join(parts, ", ") + r.sparedPart()
}

// source names the rules where nothing else tells that any were in force.
func (r *Report) source() string {
	if r.Rules == "" {
		return ""
	}
	return " by " + r.Rules
}

func (r *Report) sparedPart() string {
	if len(r.Spared) == 0 {
		return ""
	}
	reasons := map[match.Reason]int{}
	for _, s := range r.Spared {
		reasons[s.Reason]++
	}
	var words []string
	for reason, n := range reasons {
		words = append(words, fmt.Sprintf("%d %s", n, strings.ReplaceAll(string(reason), "-", " ")))
	}
	slices.Sort(words)
	if len(words) == 1 {
		for reason := range reasons {
			words[0] = strings.ReplaceAll(string(reason), "-", " ")
		}
	}
	return fmt.Sprintf("; %d spared (%s)", len(r.Spared), strings.Join(words, ", "))
}
