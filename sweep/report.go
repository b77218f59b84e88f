package sweep

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"reaper/match"
	"reaper/platform"
)

// Report is the JSON document of one sweep; text is rendered from it as well.
type Report struct {
	Schema       int             `json:"schema"`
	Version      string          `json:"version"`
	DryRun       bool            `json:"dry_run"`
	Rules        string          `json:"rules"` // file in force, or "built-in default"
	BootID       string          `json:"boot_id"`
	PIDNamespace string          `json:"pid_namespace"` // initial or nested
	Started      string          `json:"started"`       // RFC 3339
	TookMS       float64         `json:"took_ms"`
	Census       platform.Counts `json:"census"`
	Cut          bool            `json:"census_cut,omitempty"` // the first or the last reading was cut short, or the last one failed
	Orphans      []Orphan        `json:"orphans"`
	Spared       []Spared        `json:"spared"`
	LeftBehind   []LeftBehind    `json:"left_behind"`
	Totals       Totals          `json:"totals"`
	Refused      string          `json:"refused,omitempty"` // why nothing was done
	Exit         int             `json:"exit"`
	Nothing      string          `json:"-"` // for the text: why there is no tree of what was named
	Idle         []string        `json:"-"` // for the text: the rules that nothing in it is by
}

// Orphan is one proven orphan with its tree.
type Orphan struct {
	Rule      string            `json:"rule"`
	PID       int               `json:"pid"`
	Start     uint64            `json:"start"`
	PPID      int               `json:"ppid"`
	PGID      int               `json:"pgid"`
	SID       int               `json:"sid"`
	User      string            `json:"user"`
	AgeS      float64           `json:"age_s"`
	Command   []string          `json:"command"`
	Markers   map[string]string `json:"markers"`
	Why       Why               `json:"why"`
	Action    match.Action      `json:"action"`
	Outcome   Outcome           `json:"outcome"`
	RSSBytes  uint64            `json:"rss_bytes"`  // of the whole tree
	SwapBytes uint64            `json:"swap_bytes"` // of the whole tree
	Members   []Member          `json:"members"`    // the orphan first
}

// Why is the test that proved an orphan, and its facts in words.
type Why struct {
	Test   match.TestKind `json:"test"`
	Detail string         `json:"detail"`
}

// Member is one process of an orphan's tree.
type Member struct {
	PID      int      `json:"pid"`
	Start    uint64   `json:"start"`
	PPID     int      `json:"ppid"`
	PGID     int      `json:"pgid"`
	AgeS     float64  `json:"age_s"` // 0 where it was born after the first reading
	Command  []string `json:"command"`
	RSSBytes uint64   `json:"rss_bytes"` // when it was first seen
	By       string   `json:"by"`        // group or pid
	Signals  []string `json:"signals"`
	Outcome  Outcome  `json:"outcome"`
	Detail   string   `json:"detail,omitempty"`
	Parent   int      `json:"-"`                 // when it was first seen: ppid is as last read
	TookMS   *float64 `json:"took_ms,omitempty"` // from its first signal to its exit
}

// LeftBehind is a process of a tree that is left alone, with its command.
type LeftBehind struct {
	Left
	Command []string `json:"command"`
}

// Spared is a matched process that is not stopped.
type Spared struct {
	PID     int          `json:"pid"`
	Start   uint64       `json:"start"`
	Rule    string       `json:"rule"`
	Reason  match.Reason `json:"reason"`
	Detail  string       `json:"detail"`
	Command []string     `json:"command"`
}

// Totals sums the orphans up.
type Totals struct {
	Orphans     int    `json:"orphans"`
	Processes   int    `json:"processes"`
	Stopped     int    `json:"stopped"`
	Unconfirmed int    `json:"unconfirmed"`
	Denied      int    `json:"denied"`
	RSSBytes    uint64 `json:"rss_bytes"`
}

func (p *plan) report() *Report {
	r := &Report{
		Schema: 1, Version: p.s.o.Version, Rules: printable(p.s.o.Rules.Source), BootID: p.s.system.BootID, PIDNamespace: "initial",
		Started: p.started.UTC().Format("2006-01-02T15:04:05.000Z"),
		Census:  p.reading.census.Counts, Cut: p.reading.census.Cut || p.cut || p.failed != nil && !errors.Is(p.failed, context.Canceled),
		Orphans: []Orphan{}, Spared: []Spared{}, LeftBehind: []LeftBehind{},
	}
	if p.s.system.Nested {
		r.PIDNamespace = "nested"
	}
	for _, tr := range p.trees {
		r.add(p.orphan(tr))
	}
	for _, v := range p.spared {
		if p.known[platform.Identity{PID: v.PID, Start: v.Start}] == nil {
			r.Spared = append(r.Spared, p.sparedOne(v))
		}
	}
	for _, l := range p.left {
		if l.Reason == match.EnvUnreadable && p.cleared(l) {
			continue
		}
		l.Detail = printable(l.Detail)
		r.LeftBehind = append(r.LeftBehind, LeftBehind{l, p.commandOf(l.PID)})
	}
	if r.Totals.Unconfirmed+r.Totals.Denied > 0 || r.Cut {
		r.Exit = ExitLeft
	}
	r.Idle = r.idle(p.s.o.Rules.Rules)
	r.TookMS = milliseconds(p.s.m.Now().Sub(p.began))
	return r
}

func (r *Report) idle(rules []match.Rule) []string {
	busy := map[string]bool{}
	for _, o := range r.Orphans {
		busy[o.Rule] = true
	}
	for _, s := range r.Spared {
		busy[s.Rule] = true
	}
	var idle []string
	for _, rule := range rules {
		if !busy[rule.Name] {
			idle = append(idle, rule.Name)
		}
	}
	return idle
}

// cleared says whether what could not be read when the plan was made became a
// member later, or has exited.
func (p *plan) cleared(l Left) bool {
	row := p.table.Get(l.PID)
	return p.known[platform.Identity{PID: l.PID, Start: l.Start}] != nil || row == nil || row.Exited() || row.Start != l.Start && row.Start != 0
}

func (r *Report) add(o Orphan) {
	r.Orphans = append(r.Orphans, o)
	r.Totals.Orphans++
	r.Totals.RSSBytes += o.RSSBytes
	for _, m := range o.Members {
		r.Totals.Processes++
		switch m.Outcome {
		case Stopped:
			r.Totals.Stopped++
		case Unconfirmed:
			r.Totals.Unconfirmed++
		case Denied:
			r.Totals.Denied++
		}
	}
}

func (p *plan) orphan(tr *tree) Orphan {
	root := tr.targets[0]
	o := Orphan{
		Rule: tr.root.Rule, PID: tr.root.PID, Start: tr.root.Start, PPID: root.row.PPID, PGID: root.row.PGID, SID: root.row.SID,
		User: root.usage.User, AgeS: p.age(tr.root.Start), Command: command(&root.row),
		Markers: map[string]string{}, Why: Why{tr.root.Test, printable(tr.root.Detail)},
		Action: tr.root.Action, Outcome: tr.outcome(),
	}
	for _, v := range tr.root.Markers {
		if _, twice := o.Markers[v.Name]; !twice { // a block may hold it twice; getenv(3) finds the first
			o.Markers[v.Name] = printable(v.Value)
		}
	}
	for _, t := range tr.targets {
		o.RSSBytes += t.usage.RSS
		o.SwapBytes += t.usage.Swap
		o.Members = append(o.Members, t.member(p.age(t.row.Start)))
	}
	return o
}

func (t *target) member(age float64) Member {
	m := Member{
		PID: t.row.PID, Start: t.row.Start, PPID: t.row.PPID, PGID: t.row.PGID, AgeS: age,
		Command: command(&t.row), RSSBytes: t.usage.RSS, By: "pid", Signals: append([]string{}, t.signals...), Outcome: t.outcome, Detail: printable(t.detail), Parent: t.parent,
	}
	if t.group {
		m.By = "group"
	}
	if t.outcome == Stopped {
		took := milliseconds(t.took)
		m.TookMS = &took
	}
	return m
}

func (p *plan) sparedOne(v match.Verdict) Spared {
	return Spared{PID: v.PID, Start: v.Start, Rule: v.Rule, Reason: v.Reason, Detail: printable(v.Detail), Command: p.commandOf(v.PID)}
}

// age is in seconds at the end of the first reading.
func (p *plan) age(start uint64) float64 { return p.reading.world.Age(start).Seconds() }

func (p *plan) commandOf(pid int) []string {
	if row := p.reading.table.Get(pid); row != nil {
		return command(row)
	}
	return []string{}
}

// command is a process's argument list as it can be shown: its name in brackets
// where it has none.
func command(p *platform.Process) []string {
	if len(p.Argv) == 0 {
		return []string{"[" + printable(p.Comm) + "]"}
	}
	shown := make([]string, len(p.Argv))
	for i, arg := range p.Argv {
		shown[i] = printable(arg)
	}
	return shown
}

// printable escapes what could forge a line, move the cursor or break the JSON:
// control characters, bytes that are no UTF-8, and the invisible characters that
// turn the writing direction.
func printable(s string) string {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] >= 0x20 && s[i] < 0x7f
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r) && r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}

// hidden: C1 controls, line and paragraph separators, and what has no shape of
// its own (Cf: marks of writing direction and of no width, tags, the byte order
// mark; and the plane that has only such).
func hidden(r rune) bool {
	return r >= 0x80 && r < 0xa0 || r >= 0xe0000 && r <= 0xe0fff || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

func milliseconds(d time.Duration) float64 {
	return float64(d.Microseconds()) / 1000
}
