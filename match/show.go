package match

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Show writes the rules as a rules file with every default filled in. Loading it
// again gives the same rules.
func (r *Rules) Show() string {
	var b strings.Builder
	fmt.Fprintf(&b, "version: 1\n")
	if len(r.Adopters) > 0 {
		fmt.Fprintf(&b, "adopters: %s\n", list(r.Adopters))
	}
	if len(r.Protect) > 0 {
		fmt.Fprintf(&b, "protect: %s\n", list(texts(r.Protect)))
	}
	if r.Stop != (Stop{}) {
		fmt.Fprintf(&b, "stop: %s\n", r.Stop)
	}
	b.WriteString("rules:\n")
	for i := range r.Rules {
		r.Rules[i].show(&b)
	}
	return b.String()
}

func (r *Rule) show(b *strings.Builder) {
	fmt.Fprintf(b, "  - name: %s\n", scalar(r.Name))
	if len(r.Command) > 0 {
		fmt.Fprintf(b, "    command: %s\n", list(texts(r.Command)))
	}
	if len(r.Marker) == 0 {
		b.WriteString("    marker: none\n")
	} else {
		markers := make([]string, len(r.Marker))
		for i, m := range r.Marker {
			markers[i] = m.String()
		}
		fmt.Fprintf(b, "    marker: %s\n", list(markers))
	}
	b.WriteString("    orphan:\n")
	for _, t := range r.Orphan {
		b.WriteString("      - " + t.show() + "\n")
	}
	if r.OlderThan > 0 {
		fmt.Fprintf(b, "    older_than: %s\n", Duration(r.OlderThan))
	}
	fmt.Fprintf(b, "    action: %s\n    stop: %s\n", r.Action, r.Stop)
}

func (t Test) show() string {
	switch t.Kind {
	case Follows, Gone:
		return fmt.Sprintf("%s: %s", t.Kind, scalar(t.Name))
	case Unowned:
		return fmt.Sprintf("%s: %s", t.Kind, scalar(t.Owner.Text))
	case Over:
		return fmt.Sprintf("%s: %s", t.Kind, exactSize(t.Over))
	}
	return string(t.Kind)
}

// String is the marker as a rules file writes it.
func (m Marker) String() string {
	if m.Glob == "" {
		return m.Name
	}
	return m.Name + "=" + m.Glob
}

func (s Stop) String() string {
	return fmt.Sprintf("{grace: %s, confirm: %s}", Duration(s.Grace), Duration(s.Confirm))
}

// Duration prints a duration without the zero units that time.Duration has: 1h, not 1h0m0s.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// exactSize uses the largest unit that loses nothing.
func exactSize(n uint64) string {
	for _, u := range []struct {
		name string
		size uint64
	}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}} {
		if n >= u.size && n%u.size == 0 {
			return fmt.Sprintf("%d%s", n/u.size, u.name)
		}
	}
	return fmt.Sprint(n)
}

func texts(patterns []Pattern) []string {
	out := make([]string, len(patterns))
	for i, p := range patterns {
		out[i] = p.Text
	}
	return out
}

func list(items []string) string {
	quoted := make([]string, len(items))
	for i, s := range items {
		quoted[i] = scalar(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// scalar quotes what YAML could take for anything but this text; a JSON string is
// one in YAML too.
func scalar(s string) string {
	plain := s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./<>=-", r))
	})
	first := s[:min(1, len(s))]
	plain = plain && strings.ContainsAny(first, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_/<")
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "y", "n", "null", "none":
		plain = false
	}
	if plain {
		return s
	}
	var quoted strings.Builder
	enc := json.NewEncoder(&quoted)
	enc.SetEscapeHTML(false) // <tmp> is to be read
	if err := enc.Encode(s); err != nil {
		return `""` // a string always marshals
	}
	return strings.TrimSuffix(quoted.String(), "\n")
}
