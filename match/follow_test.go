package match

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"reaper/platform"
)

func TestFollowedParent(t *testing.T) {
	marked := func(entries ...string) platform.Process {
		p := proc(50)
		for _, e := range entries {
			mark("M=" + e)(&p)
		}
		return p
	}
	other := func(pid int, traits ...trait) platform.Process { return proc(pid, traits...) }
	yes, unknown := platform.Yes, platform.Unknown
	checkRulings(t, []string{follower}, []ruling{
		{"not running", nil, table(marked("42")), orphan(Follows, "follows 42 (M), which is not running")},
		{"running", nil, table(marked("40"), other(40)), spared(ParentRunning, "follows 40 (M), which is running")},
		{"running, though an adopter took the follower in", nil, table(proc(50, parent(1), mark("M=40")), other(40)), spared(ParentRunning, "40")},
		{"not running, though the direct parent is alive", nil, table(proc(50, parent(40), mark("M=42")), other(40)), orphan(Follows, "42")},
		{"a zombie has exited", nil, table(marked("40"), other(40, zombie)), orphan(Follows, "40")},
		{"a zombie leader with live threads runs", nil, table(marked("40"), other(40, halfway)), spared(ParentRunning, "40")},
		{"a stopped one runs", nil, table(marked("40"), other(40, func(p *platform.Process) { p.State = 'T' })), spared(ParentRunning, "40")},
		{"not in the table, but there (hidepid: its start cannot be read)", nil,
			table(marked("40")).but(holder(40, platform.Liveness{Running: yes})), spared(ParentRunning, "40")},
		{"not in the table, and nobody can tell", nil,
			table(marked("40")).but(holder(40, platform.Liveness{Running: unknown})), spared(UnknownReason, "cannot be told")},
		{"a holder younger than its follower may be a stranger", nil, table(marked("60"), other(60)), spared(PossiblyRecycled, "alive, possibly recycled: its holder is younger")},
		{"such a one that was born after the value was given is one", nil, table(marked("60"), other(60)).but(older(50, 60)),
			orphan(Follows, "follows 60 (M), which is not running: pid 60 is another process now, 60@600, which was born after that value was given")},
		{"twice: one such a stranger's, the other runs", nil, table(marked("60", "40"), other(60), other(40)).but(older(50, 60)), spared(ParentRunning, "40")},
		{"an older holder is the parent, whatever is said of it", nil, table(marked("40"), other(40)).but(older(50, 40)), spared(ParentRunning, "40")},
		{"one born within the same tick is taken for the parent", nil, table(marked("60"), other(60, start(500))), spared(ParentRunning, "60")},
		{"a kernel thread is a stranger", nil, table(marked("2"), other(2, kernel)).but(older(50, 2)), spared(PossiblyRecycled, "a kernel thread")},

		{"with its start: running", nil, table(marked("40@400"), other(40)), spared(ParentRunning, "follows 40@400 (M), which is running")},
		{"with its start: younger than the follower, and still the one", nil, table(marked("60@600"), other(60)), spared(ParentRunning, "60@600")},
		{"with its start: recycled counts as exited", nil, table(marked("40@399"), other(40)), orphan(Follows, "pid 40 is another process now, 40@400")},
		{"with another start, where the follower's clock is another", nil, table(marked("40@399"), other(40)).but(clock(50, platform.No)), spared(UnknownReason, "another time namespace")},
		{"with another start, where the holder's clock is another", nil, table(marked("40@399"), other(40)).but(clock(40, platform.No)), spared(UnknownReason, "40 is running with another start")},
		{"with another start, where the holder's clock cannot be told", nil, table(marked("40@399"), other(40)).but(clock(40, unknown)), spared(UnknownReason, "another time namespace")},
		{"with another start, and a kernel thread, which has no clock of its own", nil, table(marked("2@399"), other(2, kernel)).but(clock(2, unknown)), orphan(Follows, "pid 2 is another process now")},
		{"with its start, by whatever clock", nil, table(marked("40@400"), other(40)).but(clock(40, platform.No)), spared(ParentRunning, "40@400")},
		{"not running, by whatever clock", nil, table(marked("42@420")).but(clock(50, platform.No)), orphan(Follows, "42@420")},
		{"its own pid with another start by another clock", nil, table(marked("50@499")).but(clock(50, platform.No)), spared(UnknownReason, "another time namespace")},
		{"with its start: not running", nil, table(marked("42@420")), orphan(Follows, "42")},
		{"with its start: which cannot be read (hidepid)", nil,
			table(marked("40@400")).but(holder(40, platform.Liveness{Running: yes})), spared(UnknownReason, "its start cannot be read")},
		{"with its start: nobody can tell", nil, table(marked("40@400")).but(holder(40, platform.Liveness{})), spared(UnknownReason, "cannot be told")},

		{"its own pid: it runs", nil, table(marked("50")), spared(ParentRunning, "follows itself (M=50), which is running")},
		{"its own identity", nil, table(marked("50@500")), spared(ParentRunning, "follows itself")},
		{"its own pid with another start is an earlier holder", nil, table(marked("50@499")), orphan(Follows, "50@499")},

		{"twice: a live one spares, last", nil, table(marked("42", "40"), other(40)), spared(ParentRunning, "40")},
		{"twice: a live one spares, first", nil, table(marked("40", "42"), other(40)), spared(ParentRunning, "40")},
		{"twice: one that cannot be told spares", nil, table(marked("42", "40")).but(holder(40, platform.Liveness{})), spared(UnknownReason, "40")},
		{"twice: one that may be a stranger spares", nil, table(marked("42", "60"), other(60)), spared(PossiblyRecycled, "60")},
		{"twice: both have exited", nil, table(marked("42", "43")), orphan(Follows, "42")},
		{"twice: no pid, and one that has exited", nil, table(marked("none", "42")), spared(UnknownReason, "has M more than once")},
		{"twice: one that has exited, and emptied", nil, table(marked("42", "")), spared(UnknownReason, "has M more than once")},
		{"twice: one that runs, and emptied", nil, table(marked("40", ""), other(40)), spared(ParentRunning, "40")},
		{"twice: no pid both times", nil, table(marked("none", "")), unmatched},
		{"in a cycle of parents a dead followed parent still proves", nil,
			table(proc(50, parent(52), mark("M=42")), proc(51, parent(50)), proc(52, parent(51))), orphan(Follows, "42")},
		{"an environment that was overwritten may have named a live one", []string{"command: [job.js], marker: none, orphan: [follows: M, adopted]"},
			table(proc(50, func(p *platform.Process) { p.Env = platform.EnvOverwritten })), spared(UnknownReason, "empty or overwritten")},
		{"of one that was written over at its front, what is left holds", nil,
			table(proc(50, mark("M=42"), func(p *platform.Process) { p.Env = platform.EnvOverwritten })), orphan(Follows, "42")},
		{"and what is missing proves nothing", []string{"marker: [H], orphan: [follows: M, adopted]"},
			table(proc(50, mark("H=/x"), func(p *platform.Process) { p.Env = platform.EnvOverwritten })), spared(UnknownReason, "empty or overwritten")},
		{"the largest pid there can be", nil, table(marked(fmt.Sprint(maxPID))), orphan(Follows, "")},
	})
	for name, value := range map[string]string{
		"empty": "", "0": "0", "1": "1", "minus one": "-1", "minus a pid": "-42", "plus": "+42", "a leading zero": "042", "a leading blank": " 42",
		"a trailing blank": "42 ", "a line break": "42\n", "hexadecimal": "0x2a", "a word": "dontKillMe", "a float": "42.0", "more than the system issues": fmt.Sprint(maxPID + 1),
		"more than any number": "99999999999999999999", "other digits": "４２", "no start": "42@", "no number as start": "42@x", "two starts": "42@1@2", "a sign at the start": "42@-1",
		"1 with a start": "1@1", "0 with a start": "0@1",
	} {
		t.Run("no pid: "+name, func(t *testing.T) {
			s := table(proc(50, mark("M="+value)))
			checkJudged(t, s.judge(t, rulesOf(t, follower)), 50, unmatched)
			s = table(proc(50, mark("M="+value), mark("H=1")))
			checkJudged(t, s.judge(t, rulesOf(t, "marker: [H], orphan: [follows: M]")), 50, spared(Undecided, "no test says orphan: M="+value+" is no pid above 1"))
			s = table(proc(50, parent(40), mark("M="+value), mark("H=1")), proc(40))
			checkJudged(t, s.judge(t, rulesOf(t, "marker: [M, H], orphan: [follows: M, adopted]")), 50, spared(NotAdopted, "node (40)"))
		})
	}
}

// TestValuesFromOutsideANamespace: in a container, a number that the outer
// namespace issued says nothing about the processes of the inner one.
func TestValuesFromOutsideANamespace(t *testing.T) {
	init := func(traits ...trait) platform.Process {
		return proc(1, append([]trait{parent(0), argv("tini")}, traits...)...)
	}
	entered := func(traits ...trait) platform.Process { return proc(30, append([]trait{parent(0)}, traits...)...) }
	checkRulings(t, []string{follower}, []ruling{
		{"pid 1 has it as well", nil, table(init(mark("M=42")), proc(50, mark("M=42"))).but(nested), spared(UnknownReason, "process 1 has it too")},
		{"though that is no ancestor", nil, table(init(mark("M=42")), entered(), proc(50, parent(30), mark("M=42"))).but(nested), spared(UnknownReason, "process 1 has it too")},
		{"an ancestor that entered has it", nil, table(init(), entered(mark("M=42")), proc(40, parent(30)), proc(50, parent(40), mark("M=42"))).but(nested), spared(UnknownReason, "process 30 has it too")},
		{"the process itself entered with it", nil, table(init(), proc(50, parent(0), mark("M=42"))).but(nested), spared(UnknownReason, "process 50 has it too")},
		{"even where some process here has that number", nil, table(init(mark("M=40")), proc(40), proc(50, mark("M=40"))).but(nested), spared(UnknownReason, "process 1 has it too")},
		{"another value was issued inside", nil, table(init(mark("M=41")), proc(50, mark("M=42"))).but(nested), orphan(Follows, "42")},
		{"another variable says nothing", nil, table(init(mark("X=42")), proc(50, mark("M=42"))).but(nested), orphan(Follows, "42")},
		{"an ancestor that was born inside says nothing", nil, table(init(), proc(40, mark("M=42")), proc(50, parent(40), mark("M=42"))).but(nested), orphan(Follows, "42")},
		{"one who entered but is no ancestor says nothing", nil, table(init(), entered(mark("M=42")), proc(50, mark("M=42"))).but(nested), orphan(Follows, "42")},
		{"outside of any container nothing comes from outside", nil, table(init(mark("M=42")), proc(50, mark("M=42"))), orphan(Follows, "42")},
	})
}

// TestLiveFollows: what a process follows by any rule's variable, all of it.
func TestLiveFollows(t *testing.T) {
	rules := rulesOf(t, follower, "marker: [H], orphan: [follows: SESSION]")
	only, err := rules.Only([]string{"r2"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		rules *Rules
		row   platform.Process
		want  []int
	}{
		{"nothing", rules, proc(50), nil},
		{"what has exited", rules, proc(50, mark("M=42")), nil},
		{"what runs", rules, proc(50, mark("M=40")), []int{40}},
		{"by a variable of another rule than the one that matches", rules, proc(50, mark("SESSION=40")), []int{40}},
		{"by a variable of a rule that is left out this time", only, proc(50, mark("M=40")), []int{40}},
		{"two at once", rules, proc(50, mark("M=40"), mark("SESSION=41")), []int{40, 41}},
		{"two in one variable", rules, proc(50, mark("M=40"), mark("M=41")), []int{40, 41}},
		{"those beyond doubt first", rules, proc(50, mark("M=43"), mark("M=60"), mark("M=40")), []int{40, 60, 43}},
		{"itself", rules, proc(50, mark("M=50")), []int{50}},
		{"a variable that nobody follows", rules, proc(50, mark("H=40")), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := table(c.row, proc(40), proc(41), proc(60)).but(holder(43, platform.Liveness{}))
			j := s.judge(t, c.rules)
			j.LiveFollows(j.judge.world.Table.Get(50))
			for _, f := range j.Needs() {
				j.judge.facts[f] = s.answer(f)
			}
			var got []int
			for _, f := range j.LiveFollows(j.judge.world.Table.Get(50)) {
				got = append(got, f.PID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("follows (-want +got):\n%s", diff)
			}
		})
	}
}
