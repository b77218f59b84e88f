package match

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reaper/platform"
)

// The language in which the tests of the judgement write down process tables.
//
// A process is written as its pid and what is particular about it:
//
//	proc(50, parent(40), argv("node", "daemon/main.ts"), mark("M=42"))
//
// Unsaid, it was born of pid 1 at tick 10·pid as an ordinary user's process that
// leads its group and session, and its details have been read.

const (
	me      = 1000    // the sweeper's user
	sweeper = 900     // the sweeper's pid
	now     = 100_000 // ticks at the end of the reading, 100 per second
	maxPID  = 1 << 22
)

type trait func(*platform.Process)

func proc(pid int, traits ...trait) platform.Process {
	p := platform.Process{
		PID: pid, PPID: 1, PGID: pid, SID: pid, UID: me, State: 'S', Threads: 1, Start: uint64(pid) * 10, Foreground: -1,
		Env: platform.EnvPresent, Detailed: true, Namespace: platform.Yes,
	}
	argv("node", "job.js")(&p)
	for _, set := range traits {
		set(&p)
	}
	return p
}

func parent(pid int) trait   { return func(p *platform.Process) { p.PPID = pid } }
func group(pgid int) trait   { return func(p *platform.Process) { p.PGID = pgid } }
func session(sid int) trait  { return func(p *platform.Process) { p.SID = sid } }
func start(t uint64) trait   { return func(p *platform.Process) { p.Start = t } }
func user(uid int) trait     { return func(p *platform.Process) { p.UID = uid } }
func comm(name string) trait { return func(p *platform.Process) { p.Comm = name } }

// argv sets the command line, and the comm that goes with its program.
func argv(words ...string) trait {
	return func(p *platform.Process) {
		p.Argv = words
		p.Comm = p.Program()
		p.Comm = p.Comm[:min(15, len(p.Comm))]
	}
}

// mark adds NAME=value to the environment.
func mark(entry string) trait {
	return func(p *platform.Process) {
		name, value, _ := strings.Cut(entry, "=")
		p.Vars = append(p.Vars, platform.Var{Name: name, Value: value})
	}
}

func noArgv(p *platform.Process)     { p.Argv = nil }
func unreadable(p *platform.Process) { p.Env, p.Vars = platform.EnvUnreadable, nil }
func kernel(p *platform.Process)     { p.Kernel, p.Argv, p.Comm = true, nil, "kworker/0:1" }
func zombie(p *platform.Process)     { p.State, p.Argv = 'Z', nil }

// halfway: the leader has exited, other threads go on.
func halfway(p *platform.Process) { p.State, p.Threads = 'Z', 3 }

// foreground puts the process in the foreground of a terminal, background in a
// job that is not.
func foreground(p *platform.Process) { p.TTY, p.Foreground = 34816, p.PGID }
func background(p *platform.Process) { p.TTY, p.Foreground = 34816, p.PGID+1 }

func namespace(a platform.Answer) trait { return func(p *platform.Process) { p.Namespace = a } }

// systemd is the pid 1 of most tables here, owned by root.
var systemd = proc(1, parent(0), user(0), argv("/sbin/init"), comm("systemd"), start(1))

// self is the sweeper, below a shell, in its own corner of the table.
var self = []platform.Process{
	proc(800, argv("bash")),
	proc(sweeper, parent(800), group(sweeper), session(800), argv("reaper", "sweep")),
}

// scene is a machine: its table, and what only asking tells.
type scene struct {
	rows    []platform.Process
	system  platform.System
	all     bool                      // --all-users
	holders map[int]platform.Liveness // where the table does not tell
	missing map[string]bool           // paths
	memory  map[int]uint64            // by pid; others are not readable
	mainPID map[int]platform.Answer   // what the service manager says of a process, no of others

	programs map[int]platform.Answer // of its executable's name; unknown of others
	clocks   map[int]platform.Answer // yes of others
	pipes    map[int][3]uint64       // standard streams; those of others cannot be read
	older    map[int]int             // by pid, the holder of which it is known to have its environment from before
}

type setting func(*scene)

// table is a machine with systemd and the sweeper, beside the given processes.
func table(rows ...platform.Process) *scene {
	s := bare(append(slices.Clone(rows), self...)...)
	if !slices.ContainsFunc(rows, func(p platform.Process) bool { return p.PID == 1 }) {
		s.rows = append(s.rows, systemd)
	}
	return s
}

// bare is a machine with these processes alone.
func bare(rows ...platform.Process) *scene {
	return &scene{rows: rows, system: platform.System{PID: sweeper, UID: me, MaxPID: maxPID, TicksPerSecond: 100}}
}

func (s *scene) but(settings ...setting) *scene {
	for _, set := range settings {
		set(s)
	}
	return s
}

func nested(s *scene)   { s.system.Nested = true }
func allUsers(s *scene) { s.all = true }

// holder says who answers to a pid, whatever the table shows.
func holder(pid int, l platform.Liveness) setting {
	return func(s *scene) {
		if s.holders == nil {
			s.holders = map[int]platform.Liveness{}
		}
		s.holders[pid] = l
	}
}

func missing(path string) setting {
	return func(s *scene) { s.missing = map[string]bool{path: true} }
}

// program says whether a process's executable has the name that was asked for.
func program(pid int, is platform.Answer) setting {
	return func(s *scene) { s.programs = map[int]platform.Answer{pid: is} }
}

// clock says whether a process reads starts as the sweep does.
func clock(pid int, is platform.Answer) setting {
	return func(s *scene) { s.clocks = map[int]platform.Answer{pid: is} }
}

// manager says what the service manager answers of a process.
func manager(pid int, is platform.Answer) setting {
	return func(s *scene) { s.mainPID = map[int]platform.Answer{pid: is} }
}

// older says that the kernel shows the process to have got its environment before
// the holder of a pid was born.
func older(pid, holder int) setting {
	return func(s *scene) { s.older = map[int]int{pid: holder} }
}

func memory(byPID map[int]uint64) setting { return func(s *scene) { s.memory = byPID } }

func (s *scene) answer(f Fact) Known {
	switch f.Kind {
	case FactRunning:
		if l, ok := s.holders[f.PID]; ok {
			return Known{Live: l}
		}
		for _, p := range s.rows {
			if p.PID == f.PID && !p.Exited() {
				return Known{Live: platform.Liveness{Running: platform.Yes, Start: p.Start, Kernel: p.Kernel}}
			}
		}
		return Known{Live: platform.Liveness{Running: platform.No}}
	case FactGone:
		return Known{Is: platform.AnswerOf(s.missing[f.Path])}
	case FactMemory:
		bytes, ok := s.memory[f.Process.PID]
		return Known{Is: map[bool]platform.Answer{true: platform.Yes}[ok], Bytes: bytes}
	case FactMainPID:
		if is, ok := s.mainPID[f.Process.PID]; ok {
			return Known{Is: is}
		}
		return Known{Is: platform.No}
	case FactProgram:
		return Known{Is: s.programs[f.Process.PID]}
	case FactPipes:
		if pipes, ok := s.pipes[f.Process.PID]; ok {
			return Known{Is: platform.Yes, Pipes: pipes}
		}
		return Known{}
	case FactClock:
		if is, ok := s.clocks[f.Process.PID]; ok {
			return Known{Is: is}
		}
		return Known{Is: platform.Yes}
	case FactOlder:
		return Known{Is: map[bool]platform.Answer{true: platform.Yes}[s.older[f.Process.PID] == f.PID]}
	case FactLinks:
		return Known{Links: resolve(f.Path, nil)}
	}
	return Known{}
}

// judge judges until nothing is asked any more.
func (s *scene) judge(t testing.TB, rules *Rules) *Judgement {
	t.Helper()
	world := &World{
		Table: NewTable(s.rows), System: s.system, Now: now, AllUsers: s.all,
		TmpRoots: []TmpRoot{{Path: "/tmp", Real: "/tmp"}},
	}
	facts := Facts{}
	for range 10 {
		j := Judge(rules, world, facts)
		if len(j.Needs()) == 0 {
			return j
		}
		for _, f := range j.Needs() {
			facts[f] = s.answer(f)
		}
	}
	t.Fatal("the judgement never stops asking")
	return nil
}

// rulesOf loads rules r1, r2, … with these contents, in YAML's flow style.
func rulesOf(t testing.TB, contents ...string) *Rules {
	t.Helper()
	text := "version: 1\nrules:\n"
	for i, content := range contents {
		text += fmt.Sprintf("  - {name: r%d, %s}\n", i+1, content)
	}
	return mustLoad(t, text)
}

// follower is the rule of most tests: what carries M follows the pid in it.
const follower = "marker: [M], orphan: [follows: M]"

func pidsOf(verdicts []Verdict) []int {
	var pids []int
	for _, v := range verdicts {
		pids = append(pids, v.PID)
	}
	return pids
}

func TestWalkUpEnds(t *testing.T) {
	family := NewTable([]platform.Process{
		proc(1, parent(0)), proc(50), proc(51, parent(50)), proc(52, parent(51)),
		proc(60, parent(59)), proc(61, parent(60)),
		proc(70, parent(70)), proc(71, parent(70)),
		proc(80, parent(82)), proc(81, parent(80)), proc(82, parent(81)), proc(83, parent(82)),
	})
	for _, c := range []struct {
		name string
		pid  int
		up   []int
		top  Top
	}{
		{"at the root", 52, []int{51, 50, 1}, TopRoot},
		{"at once, from the root", 1, nil, TopRoot},
		{"where a parent is missing", 61, []int{60}, TopMissing},
		{"where the process itself is missing", 4711, nil, TopMissing},
		{"at a process that is its own parent", 71, []int{70}, TopCycle},
		{"at itself", 70, nil, TopCycle},
		{"once around a cycle that it is part of", 80, []int{82, 81}, TopCycle},
		{"once around a cycle above it", 83, []int{82, 81, 80}, TopCycle},
	} {
		t.Run(c.name, func(t *testing.T) {
			up, top := family.Ancestors(c.pid)
			if !slices.Equal(up, c.up) || top != c.top {
				t.Errorf("above %d: %v, ended as %v; want %v, %v", c.pid, up, top, c.up, c.top)
			}
		})
	}
	for pid, want := range map[int][]int{50: {51, 52}, 52: nil, 70: {71}, 80: {81, 82, 83}, 59: {60, 61}} {
		if below := family.Below(pid); !slices.Equal(below, want) {
			t.Errorf("below %d: %v, want %v", pid, below, want)
		}
	}
}

func TestRelatedIsWhatAJudgementLooksAt(t *testing.T) {
	family := NewTable([]platform.Process{
		proc(1, parent(0)), proc(20), proc(99),
		proc(50, parent(20)), proc(51, parent(50), group(50)),
		proc(60, group(50)), proc(61, parent(60)), // adopted, in a group that a seed leads
		proc(70, group(61)), proc(71, group(70)), // in groups that those lead in turn
		proc(80, group(45)), // in the group of a seed that has exited
	})
	for _, c := range []struct {
		name  string
		seeds []int
		want  []int
	}{
		{"nothing without a seed", nil, []int{}},
		{"the tree, its groups, their groups and all above", []int{50}, []int{1, 20, 50, 51, 60, 61, 70, 71}},
		{"the group of a leader that has exited", []int{45}, []int{1, 80}},
		{"no siblings and no group that the seed only lives in", []int{60}, []int{1, 60, 61, 70, 71}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, family.Related(c.seeds)); diff != "" {
				t.Errorf("related to %v (-want +got):\n%s", c.seeds, diff)
			}
		})
	}
}

func TestAgeIsExactAndNeverOverflows(t *testing.T) {
	const µs = 1_000_000
	for _, c := range []struct {
		name            string
		start, now, per uint64
		want            time.Duration
	}{
		{"ticks", 150, 1_000, 100, 8500 * time.Millisecond},
		{"a day of microseconds", 5 * µs, (5 + 86400) * µs, µs, 24 * time.Hour},
		{"ten years of ticks", 1, 1 + 10*365*86400*100, 100, 10 * 365 * 24 * time.Hour},
		{"more than a duration holds", 1, 1 << 63, 100, 1<<63 - 1},
		{"an unknown start is no age", 0, 1_000, 100, 0},
		{"a start after the reading", 2_000, 1_000, 100, 0},
		{"no clock", 1, 1_000, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := World{Now: c.now, System: platform.System{TicksPerSecond: c.per}}
			if got := w.Age(c.start); got != c.want {
				t.Errorf("Age(%d) at %d = %s, want %s", c.start, c.now, got, c.want)
			}
		})
	}
}
