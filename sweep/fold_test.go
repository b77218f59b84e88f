package sweep

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"reaper/match"
)

// anyReport draws trees of any shape, torn ones too, of few kinds of processes.
func anyReport(t *rapid.T) *Report {
	r := scene()
	pid := 100
	outcomes := []Outcome{Stopped, Stopped, Stopped, Stopped, Vanished, Denied, Unconfirmed}
	for range rapid.IntRange(0, 12).Draw(t, "trees") {
		first := pid
		o := Orphan{Rule: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "rule"), User: "ann", Action: match.ActionStop,
			Why: Why{match.Follows, follows(rapid.IntRange(1, 3).Draw(t, "followed"), "not running")}}
		tr := &tree{}
		for range rapid.IntRange(1, 8).Draw(t, "members") {
			m := Member{PID: pid, Parent: rapid.IntRange(first-1, pid+2).Draw(t, "parent"), PGID: rapid.IntRange(first, pid).Draw(t, "group"),
				AgeS: float64(rapid.IntRange(0, 100).Draw(t, "age")), RSSBytes: mib, By: "group", Outcome: rapid.SampledFrom(outcomes).Draw(t, "outcome"),
				Command: []string{"node", rapid.SampledFrom([]string{"/x/daemon/main.ts", "/x/host/main.ts", "worker 7", "worker 12"}).Draw(t, "command")}}
			if m.Outcome == Unconfirmed {
				m.Detail = "started again by supervise (90)"
			}
			o.RSSBytes += m.RSSBytes
			o.Members, tr.targets, pid = append(o.Members, m), append(tr.targets, &target{outcome: m.Outcome}), pid+1
		}
		o.PID, o.Outcome = first, tr.outcome()
		r.add(o)
	}
	return r
}

// shownIn are how many processes the rows speak of, by outcome, and the pids that
// have a row of their own.
func shownIn(rows []row) (counts map[Outcome]int, pids []int) {
	counts = map[Outcome]int{}
	for _, r := range rows {
		if r.how == "" {
			continue
		}
		n, word := 0, ""
		fmt.Sscan(r.pid, &n, &word)
		if word == "×" {
			counts[r.how] += n
			continue
		}
		counts[r.how]++
		pids = append(pids, n)
	}
	return counts, pids
}

// TestFoldingHidesNothing guards what is drawn as one, for trees of any shape: as
// many processes of each outcome are shown as there are, what is not confirmed has
// a line of its own, with who started it again, and --verbose has all by their pids.
func TestFoldingHidesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := anyReport(t)
		want := map[Outcome]int{}
		var all, alone []int
		for _, o := range r.Orphans {
			for _, m := range o.Members {
				want[m.Outcome]++
				if all = append(all, m.PID); m.Outcome == Unconfirmed {
					alone = append(alone, m.PID)
				}
			}
		}
		counts, pids := shownIn(lay(r, View{}))
		for outcome, n := range want {
			if counts[outcome] != n {
				t.Fatalf("%d %s instead of %d:\n%s", counts[outcome], outcome, n, shownAs(r, View{}))
			}
		}
		text := shownAs(r, View{})
		for _, pid := range alone {
			if !slices.Contains(pids, pid) || !strings.Contains(text, fmt.Sprintf(" %d: started again by supervise (90)\n", pid)) {
				t.Fatalf("%d is hidden:\n%s", pid, text)
			}
		}
		_, pids = shownIn(lay(r, View{Verbose: true}))
		slices.Sort(pids)
		if !slices.Equal(pids, all) {
			t.Fatalf("--verbose has %v instead of %v", pids, all)
		}
	})
}

func shownAs(r *Report, v View) string {
	var b strings.Builder
	r.Text(&b, v)
	return b.String()
}

// FuzzShortCommand guards what is cut: never wider than asked, valid text, and
// what fits stands as it is.
func FuzzShortCommand(f *testing.F) {
	for _, argv := range append(append(hostileCommands(), wideCommands...), []string{"sh", "-c", "x y"}, []string{"java", "-cp", "/a/b:/c/d", "org.example.Main"}) {
		f.Add(strings.Join(argv, "\x00"), 40)
	}
	f.Fuzz(func(t *testing.T, joined string, room int) {
		room = commandLeast + max(room, 0)%300
		var argv []string
		for _, word := range strings.Split(joined, "\x00") {
			argv = append(argv, printable(word))
		}
		got := shortCommand(argv, room)
		if columns(got) > room || len(got) > 30*room+100 || printable(got) != got || got == "" {
			t.Errorf("%d columns of %d, %d bytes: %q of %q", columns(got), room, len(got), got, argv)
		}
		if whole := strings.Join(argv, " "); columns(whole) <= room && len(whole) <= room && strings.TrimSpace(whole) != "" && got != whole {
			t.Errorf("%q of %q", got, whole)
		}
		for _, line := range wrap(strings.Join(argv, " "), 12, 12+room) {
			if columns(line) > 12+room {
				t.Errorf("%d columns: %q", columns(line), line)
			}
		}
	})
}

// TestAlikeIsWhatItIs guards what counts as alike: other numbers and other places
// of the same file do, another script or argument does not.
func TestAlikeIsWhatItIs(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"node /x/host/main.ts --port 41", "node /y/z/host/main.ts --port 7", true},
		{"node /tmp/roost-aXbY/server.js", "node /tmp/roost-QQQQ/server.js", true},
		{"node /tmp/r1/server.js", "node /tmp/r22/server.js", true},
		{"node /x/host/main.ts", "node /x/daemon/main.ts", false},
		{"node host.ts --a", "node host.ts --b", false},
		{"sleep 1", "sleep 200", true},
		{"sleep 1", "sleep 1 2", false},
		{"node a.js", "deno a.js", false},
	} {
		if got := commandKey(words(c.a)) == commandKey(words(c.b)); got != c.want {
			t.Errorf("%s, %s: alike %t", c.a, c.b, got)
		}
	}
	for _, c := range []struct {
		all  []string
		want string
	}{
		{[]string{"node /tmp/r-a/host/main.ts --port 41", "node /tmp/r-bc/host/main.ts --port 4"}, "node /tmp/r-…/host/main.ts --port 4…"},
		{[]string{"a xyx", "a xyxyx", "a xyx"}, "a xyx…"},
		{[]string{"a b c", "a b"}, "a b …"},
		{[]string{"ä é", "ä è"}, "ä …"},
	} {
		var commands [][]string
		for _, a := range c.all {
			commands = append(commands, words(a))
		}
		if got := strings.Join(common(commands), " "); got != c.want {
			t.Errorf("%q: %q instead of %q", c.all, got, c.want)
		}
	}
}
