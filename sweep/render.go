package sweep

import (
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Text rules: one process is one line; what a process says of itself has been
// made printable in the report; colour says nothing that words do not say too;
// the terminal is asked nothing. The last line is one sentence of totals.

// View says how a report is shown as text.
type View struct {
	Width   int    // columns to fit lines into; 0: no terminal, commands have 120
	Color   bool   // 16 plain colours, readable on light and dark
	Verbose bool   // nothing folded; markers and signals as well
	Home    string // is written ~
	Quiet   bool   // nothing where nothing was stopped and nothing is left; nothing of what is spared
}

// Text writes the report for a person.
func (r *Report) Text(w io.Writer, v View) error {
	if v.Quiet && r.Exit == ExitDone && r.onlyReported() {
		return nil
	}
	rows := lay(r, v)
	widths, paint := widthsOf(rows), painter(v.Color)
	var out strings.Builder
	for _, row := range rows {
		for _, line := range widths.lines(row, v.Width) {
			out.WriteString(paint(row, line))
			out.WriteByte('\n')
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// onlyReported says whether there is nothing that was or would be stopped.
func (r *Report) onlyReported() bool {
	for _, o := range r.Orphans {
		if o.Outcome != Reported {
			return false
		}
	}
	return true
}

// painter colours the outcome at the head of a row's line, where it is good or bad.
func painter(color bool) func(row, string) string {
	if !color {
		return func(_ row, line string) string { return line }
	}
	renderer := lipgloss.NewRenderer(io.Discard)
	renderer.SetHasDarkBackground(true) // else it asks the terminal
	renderer.SetColorProfile(termenv.ANSI)
	good := renderer.NewStyle().Foreground(lipgloss.Color("2"))
	bad := renderer.NewStyle().Foreground(lipgloss.Color("1")).Bold(true)
	return func(r row, line string) string {
		style := good
		switch r.how {
		case Unconfirmed, Denied:
			style = bad
		case Stopped, Vanished:
		default:
			return line
		}
		return style.Render(r.outcome) + strings.TrimPrefix(line, r.outcome)
	}
}
