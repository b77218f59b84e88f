package sweep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"reaper/match"
	"reaper/platform"
)

// Tables are drawn here as trees, with what becomes of each process on the right:
//
//	50 M=42          | orphan
//	  51             | of 50
//	  52 S=40        | spared parent-running
//	40               |
//
// A line is a pid and what is particular about the process; what it is indented
// below is its parent, else pid 1, an init. Unsaid, it was born at tick 10·pid,
// leads its group, and carries no variable. On the right: an orphan with a tree
// of its own, a member "of" one, spared for a reason, or left behind for one.

const planRules = `
version: 1
rules:
  - {name: follower, marker: [M], orphan: [follows: M]}
  - {name: session, marker: [S], orphan: [follows: S]}
  - {name: supervised, marker: [R], orphan: [follows: R], action: report}
  - {name: home, marker: [H], orphan: [adopted]}
  - {name: others, command: [other.js], marker: [X], orphan: [follows: X]}
  - {name: big, marker: [B], orphan: [over: 1MiB]}
`

const planUser, planSelf = 1000, 900

// drawn is a table read from a drawing, and the right answers.
type drawn struct {
	rows []platform.Process
	want map[int]string
}

func draw(t testing.TB, picture string) drawn {
	t.Helper()
	d := drawn{want: map[int]string{}}
	type open struct{ indent, pid int }
	var path []open
	for line := range strings.Lines(picture) {
		text, want, _ := strings.Cut(line, "|")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		indent := strings.IndexFunc(text, func(r rune) bool { return r != ' ' && r != '\t' })
		for len(path) > 0 && path[len(path)-1].indent >= indent {
			path = path[:len(path)-1]
		}
		parent := 1
		if len(path) > 0 {
			parent = path[len(path)-1].pid
		}
		p := drawProcess(t, words, parent)
		path = append(path, open{indent, p.PID})
		d.rows = append(d.rows, p)
		d.want[p.PID] = strings.TrimSpace(want)
	}
	d.rows = append(d.rows,
		platform.Process{PID: 1, Start: 1, State: 'S', Threads: 1, Argv: []string{"/sbin/init"}, Comm: "init", Env: platform.EnvPresent, Detailed: true, Namespace: platform.Yes},
	)
	if !slices.ContainsFunc(d.rows, func(p platform.Process) bool { return p.PID == planSelf }) {
		d.rows = append(d.rows, platform.Process{PID: planSelf, PPID: 1, PGID: planSelf, SID: planSelf, UID: planUser, Start: 9000, State: 'S', Threads: 1, Argv: []string{"reaper"}, Comm: "reaper", Env: platform.EnvPresent, Detailed: true, Namespace: platform.Yes})
	}
	return d
}

func drawProcess(t testing.TB, words []string, parent int) platform.Process {
	t.Helper()
	number := func(s string) int {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("%v: %v", words, err)
		}
		return n
	}
	pid := number(words[0])
	p := platform.Process{
		PID: pid, PPID: parent, PGID: pid, SID: pid, UID: planUser, State: 'S', Threads: 1, Start: uint64(pid) * 10,
		Argv: []string{"node"}, Comm: "node", Env: platform.EnvPresent, Detailed: true, Namespace: platform.Yes,
	}
	for _, word := range words[1:] {
		if name, value, ok := strings.Cut(word, "="); ok {
			p.Vars = append(p.Vars, platform.Var{Name: name, Value: value})
			continue
		}
		switch what, value, _ := strings.Cut(word, ":"); what {
		case "parent":
			p.PPID = number(value)
		case "group":
			p.PGID = number(value)
		case "born":
			p.Start = uint64(number(value))
		case "user":
			p.UID = number(value)
		case "zombie":
			p.State = 'Z'
		case "container":
			p.Namespace = platform.No
		case "unread":
			p.Detailed = false
		case "hush": // keeps its environment to itself
			p.Env, p.Vars = platform.EnvUnreadable, nil
		case "kernel":
			p.Kernel, p.Argv, p.Comm = true, nil, "kworker/0:1"
		case "tty": // in the foreground of pts/3
			p.TTY, p.Foreground = 34819, p.PGID
		case "session":
			p.SID = number(value)
		default:
			p.Argv, p.Comm = []string{word}, word
		}
	}
	return p
}

// known answers facts from the table: who runs, but not of a process called
// hidden, and 1 MiB for every process.
func known(table *match.Table, f match.Fact) match.Known {
	switch f.Kind {
	case match.FactRunning:
		p := table.Get(f.PID)
		switch {
		case p != nil && p.Comm == "hidden":
			return match.Known{}
		case p != nil && !p.Exited():
			return match.Known{Live: platform.Liveness{Running: platform.Yes, Start: p.Start}}
		}
		return match.Known{Live: platform.Liveness{Running: platform.No}}
	case match.FactMemory:
		return match.Known{Is: platform.Yes, Bytes: 1 << 20}
	}
	return match.Known{}
}

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Fatal(...any)
}

// growAll judges the rows and grows the branches, by default of each orphan,
// until no fact is missing.
func growAll(t failer, rows []platform.Process, system platform.System, branches func(*match.Judgement) []branch) (*reading, growth) {
	t.Helper()
	rules, err := match.Load("rules.yaml", []byte(planRules))
	if err != nil {
		t.Fatal(err)
	}
	if branches == nil {
		branches = func(j *match.Judgement) []branch { return orphansOf(j) }
	}
	system.MaxPID, system.TicksPerSecond = 1<<22, 100
	r := &reading{table: match.NewTable(rows)}
	facts := match.Facts{}
	for range maxRounds {
		r.judged = match.Judge(rules, &match.World{Table: r.table, System: system, Now: 100_000}, facts)
		g := grow(r.table, r.judged, branches(r.judged))
		if len(r.judged.Needs()) == 0 {
			return r, g
		}
		for _, f := range r.judged.Needs() {
			facts[f] = known(r.table, f)
		}
	}
	t.Fatal("growing never stops asking")
	return nil, growth{}
}

func orphansOf(j *match.Judgement) []branch {
	var all []branch
	for _, v := range j.Orphans {
		all = append(all, branch{root: v, alive: true})
	}
	return all
}

// fates says of every process what becomes of it, "" where nothing does.
func fates(r *reading, g growth) map[int]string {
	fate := map[int]string{}
	say := func(pid int, format string, args ...any) {
		if old, twice := fate[pid]; twice {
			format = old + " AND " + format
		}
		fate[pid] = fmt.Sprintf(format, args...)
	}
	for _, pid := range g.order {
		if root := g.branches[g.member[pid]].root.PID; root == pid {
			say(pid, "orphan")
		} else {
			say(pid, "of %d", root)
		}
	}
	for _, v := range sparedBy(r, g) {
		say(v.PID, "spared %s", v.Reason)
	}
	for _, l := range g.left {
		say(l.PID, "left %s", l.Reason)
	}
	return fate
}

func checkFates(t *testing.T, d drawn, r *reading, g growth) {
	t.Helper()
	got := fates(r, g)
	for _, p := range d.rows {
		if got[p.PID] != d.want[p.PID] {
			t.Errorf("%d: %q, want %q", p.PID, got[p.PID], d.want[p.PID])
		}
	}
}
