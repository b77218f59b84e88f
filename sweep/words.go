package sweep

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"reaper/match"
)

// sentence sums the report up: what would go or what went, what is left, what was spared and why.
func (r *Report) sentence(v View) string {
	if r.Nothing != "" {
		return r.Nothing
	}
	spared := r.sparedPart()
	if v.Quiet {
		spared = ""
	}
	if len(r.Orphans) == 0 {
		return "no orphans among " + count(r.Census.Processes, "process", "processes") + r.source(v.Home) + spared
	}
	trees := count(r.Totals.Orphans, "orphan", "orphans")
	if r.Orphans[0].Why.Test == match.Named {
		trees = count(r.Totals.Orphans, "tree", "trees")
	}
	whole := trees + ", " + count(r.Totals.Processes, "process", "processes")
	sums := r.sums()
	for _, all := range []Outcome{WouldStop, Stopped} {
		if sums[all].processes == r.Totals.Processes && r.Refused == "" {
			return whole + ", " + r.memory() + " " + inWords(all) + spared
		}
	}
	var parts []string
	for _, o := range []Outcome{WouldStop, Stopped, Vanished, Unconfirmed, Denied, Changed, Recycled, Reported} {
		switch s := sums[o]; {
		case s.processes == 0:
		case o == WouldStop && r.Refused != "":
			parts = append(parts, "nothing "+map[bool]string{true: "would be", false: "was"}[r.DryRun]+" stopped")
		default:
			parts = append(parts, fmt.Sprintf("%d %s", s.processes, inWords(o))+s.note(o))
		}
	}
	return whole + ": " + strings.Join(parts, ", ") + spared
}

// sum is what ended in one way.
type sum struct {
	processes int
	rss       uint64
}

func (r *Report) sums() map[Outcome]sum {
	sums := map[Outcome]sum{}
	for _, o := range r.Orphans {
		for _, m := range o.Members {
			s := sums[m.Outcome]
			sums[m.Outcome] = sum{s.processes + 1, s.rss + m.RSSBytes}
		}
	}
	return sums
}

// note says of an outcome what its name alone does not, and what it holds.
func (s sum) note(o Outcome) string {
	note := map[Outcome]string{Vanished: "exited before any signal", Unconfirmed: "may still run", Reported: "left running"}[o]
	switch {
	case note == "" && s.rss == 0:
		return ""
	case s.rss > 0 && note != "":
		note = ", " + note
	}
	if s.rss > 0 {
		note = match.Size(s.rss) + note
	}
	return " (" + note + ")"
}

func inWords(o Outcome) string {
	switch o {
	case WouldStop:
		return "would be stopped"
	case Unconfirmed:
		return "stop unconfirmed"
	}
	return spaced(string(o))
}

// memory is what all trees hold: the sum of the RSS column, and what is swapped out.
func (r *Report) memory() string {
	swap := uint64(0)
	for _, o := range r.Orphans {
		swap += o.SwapBytes
	}
	if swap == 0 {
		return match.Size(r.Totals.RSSBytes)
	}
	return match.Size(r.Totals.RSSBytes) + " and " + match.Size(swap) + " of swap"
}

// source names the rules where nothing else tells that any were in force.
func (r *Report) source(home string) string {
	if r.Rules == "" {
		return ""
	}
	return " (rules: " + r.rules(home) + ")"
}

// rules names the files in force, ~ for what is below the home.
func (r *Report) rules(home string) string {
	files := strings.Split(r.Rules, ", ")
	for i, file := range files {
		if rest, below := strings.CutPrefix(file, home+"/"); below && home != "" {
			files[i] = "~/" + rest
		}
	}
	return strings.Join(files, ", ")
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
	for _, reason := range rank {
		switch n := reasons[reason]; {
		case n == len(r.Spared):
			words = append(words, spaced(string(reason)))
		case n > 0:
			words = append(words, fmt.Sprintf("%d %s", n, spaced(string(reason))))
		}
	}
	return fmt.Sprintf("; %d spared (%s)", len(r.Spared), strings.Join(words, ", "))
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Age prints seconds by their two largest units: "2d 3h", "5m 10s", "12s", "1h".
func Age(seconds float64) string {
	s := int64(time.Duration(seconds * float64(time.Second)).Round(time.Second).Seconds())
	units := []struct {
		name string
		size int64
	}{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}}
	i := slices.IndexFunc(units, func(u struct {
		name string
		size int64
	}) bool {
		return s >= u.size
	})
	if i < 0 {
		return "0s"
	}
	first := fmt.Sprintf("%d%s", s/units[i].size, units[i].name)
	if i+1 == len(units) || s%units[i].size/units[i+1].size == 0 {
		return first
	}
	return fmt.Sprintf("%s %d%s", first, s%units[i].size/units[i+1].size, units[i+1].name)
}
