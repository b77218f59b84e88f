package match

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"reaper/platform"
)

// judged is what the rules say of a process: an orphan, by a test, or spared,
// for a reason; the words are a part of the detail.
type judged struct {
	orphan bool
	by     string // test or reason
	words  string
}

func orphan(test TestKind, words string) judged { return judged{true, string(test), words} }
func spared(reason Reason, words string) judged { return judged{false, string(reason), words} }

// unmatched: no rule is about the process.
var unmatched = judged{}

// ruling is a line of the specification: what is said of process 50.
type ruling struct {
	name  string
	rules []string // nil: those of the test
	scene *scene
	want  judged
}

func checkRulings(t *testing.T, rules []string, rulings []ruling) {
	t.Helper()
	for _, r := range rulings {
		t.Run(r.name, func(t *testing.T) {
			if r.rules == nil {
				r.rules = rules
			}
			checkJudged(t, r.scene.judge(t, rulesOf(t, r.rules...)), 50, r.want)
		})
	}
}

func checkJudged(t *testing.T, j *Judgement, pid int, want judged) {
	t.Helper()
	v, found := verdictOf(j, pid)
	got := judged{v.Orphan, string(v.Reason), v.Detail}
	if v.Orphan {
		got.by = string(v.Test)
	}
	switch {
	case !found && want != unmatched:
		t.Errorf("%d is not matched, want %+v", pid, want)
	case !found:
	case got.orphan != want.orphan || got.by != want.by || !strings.Contains(got.words, want.words) || want == unmatched:
		t.Errorf("%d: got %+v, want %+v", pid, got, want)
	}
}

func verdictOf(j *Judgement, pid int) (Verdict, bool) {
	for _, v := range slices.Concat(j.Orphans, j.Spared) {
		if v.PID == pid {
			return v, true
		}
	}
	return Verdict{}, false
}

func TestWhatARuleIsAbout(t *testing.T) {
	both := []string{"command: [daemon/main.ts], marker: [M], orphan: [follows: M]"}
	beside := []string{"marker: [M, HOME_DIR=<tmp>/roost-*], orphan: [follows: M, adopted]"}
	twice := []string{"marker: [H=/a/*, H=/c/*, K], orphan: [adopted]"}
	any := []string{"command: [daemon/main.ts], marker: none, orphan: [adopted]"}
	daemon := argv("node", "/x/daemon/main.ts")
	checkRulings(t, both, []ruling{
		{"command and marker", nil, table(proc(50, daemon, mark("M=42"))), orphan(Follows, "42")},
		{"the command alone selects nothing that is unmarked", nil, table(proc(50, daemon)), unmatched},
		{"the marker alone does not do where a command is named", nil, table(proc(50, mark("M=42"))), unmatched},
		{"the marker alone where none is", []string{follower}, table(proc(50, argv("node (vitest 2)"), mark("M=42"))), orphan(Follows, "42")},
		{"a process that has exited is nobody's orphan", nil, table(proc(50, daemon, mark("M=42"), zombie, daemon)), unmatched},
		{"one whose leader alone has exited runs", nil, table(proc(50, daemon, mark("M=42"), halfway)), orphan(Follows, "42")},
		{"a rule that asks for no marker", any, table(proc(50, daemon)), orphan(Adopted, "init (1)")},
		{"of which an editor with the file open is no case", any, table(proc(50, argv("sh", "-c", "vi daemon/main.ts; true"))), unmatched},

		{"an emptied variable is an opt-out", []string{follower}, table(proc(50, mark("M="))), unmatched},
		{"so is one that names no pid", []string{follower}, table(proc(50, mark("M=dontKillMe"))), unmatched},
		{"which says nothing against another marker", beside, table(proc(50, mark("M="), mark("HOME_DIR=/tmp/roost-a"))), orphan(Adopted, "init (1)")},
		{"which needs its value to match", beside, table(proc(50, mark("M="), mark("HOME_DIR=/tmp/other"))), unmatched},
		{"a value that names no pid beside one that does", beside, table(proc(50, mark("M=0"), mark("M=42"))), spared(UnknownReason, "has M more than once")},
		{"one value that is asked for beside one that is not", twice, table(proc(50, mark("H=/a/x"), mark("H=/b/x"))), spared(UnknownReason, "has a marker more than once")},
		{"two values that are asked for", twice, table(proc(50, mark("H=/a/x"), mark("H=/c/x"))), orphan(Adopted, "")},
		{"beside a marker that is beyond doubt", twice, table(proc(50, mark("H=/a/x"), mark("H=/b/x"), mark("K=1"))), orphan(Adopted, "")},
		{"what another rule follows is only a text to this one", []string{"marker: [M], orphan: [adopted]"}, table(proc(50, mark("M="))), orphan(Adopted, "init (1)")},
	})
}

func TestTheFirstTestThatAnswersDecides(t *testing.T) {
	rules := []string{"marker: [M, HOME_DIR], orphan: [follows: M, gone: HOME_DIR, adopted]"}
	home := mark("HOME_DIR=/tmp/roost-a")
	checkRulings(t, rules, []ruling{
		{"yes", nil, table(proc(50, mark("M=42"), home, parent(40)), proc(40)), orphan(Follows, "42")},
		{"no, though a later one would prove", nil, table(proc(50, mark("M=40"), home), proc(40)).but(missing("/tmp/roost-a")), spared(ParentRunning, "40")},
		{"the second where the first abstains", nil, table(proc(50, home, parent(40)), proc(40)).but(missing("/tmp/roost-a")), orphan(Gone, "/tmp/roost-a")},
		{"the third where two abstain", nil, table(proc(50, home, parent(40)), proc(40)), spared(NotAdopted, "node (40)")},
		{"none at all", []string{"marker: [HOME_DIR], orphan: [gone: HOME_DIR]"}, table(proc(50, home)), spared(Undecided, "no test says orphan: HOME_DIR=/tmp/roost-a exists")},
	})
}

func TestSeveralRulesForOneProcess(t *testing.T) {
	home := "marker: [HOME_DIR], action: report, orphan: [adopted]"
	owner := "marker: [HOME_DIR], orphan: [unowned: vitest]"
	big := "marker: [HOME_DIR], orphan: [over: 1MiB]"
	marked := func(m string) trait {
		return func(p *platform.Process) { mark(m)(p); mark("HOME_DIR=/tmp/a")(p) }
	}
	heavy := memory(map[int]uint64{50: 2 << 20})
	unseen := holder(40, platform.Liveness{})
	for _, c := range []struct {
		name  string
		rules []string
		scene *scene
		want  judged
		rule  string
	}{
		{"the first that proves it names it", []string{home, follower}, table(proc(50, marked("M=42"))), orphan(Adopted, "init (1)"), "r1"},
		{"in the order of the file", []string{follower, home}, table(proc(50, marked("M=42"))), orphan(Follows, "42"), "r1"},
		{"a live owner by a later rule vetoes", []string{home, follower}, table(proc(50, marked("M=40")), proc(40)), spared(ParentRunning, "40"), "r2"},
		{"one that may be a stranger too", []string{home, follower}, table(proc(50, marked("M=60")), proc(60)), spared(PossiblyRecycled, "60"), "r2"},
		{"one that cannot be told too", []string{home, follower}, table(proc(50, marked("M=40"))).but(unseen), spared(UnknownReason, "40"), "r2"},
		{"an owner above vetoes", []string{follower, owner}, table(proc(50, marked("M=42"), parent(40)), proc(40, argv("vitest"))), spared(Owned, "vitest (40)"), "r2"},
		{"not adopted by one rule is no veto", []string{home, follower}, table(proc(50, marked("M=42"), parent(40)), proc(40)), orphan(Follows, "42"), "r2"},
		{"undecided by one rule is no veto", []string{big, follower}, table(proc(50, marked("M=42"))), orphan(Follows, "42"), "r2"},
		{"too young by one rule is no veto", []string{"older_than: 9h, " + follower, home}, table(proc(50, marked("M=42"))), orphan(Adopted, "init (1)"), "r2"},
		{"a bound is not vetoed", []string{follower, big}, table(proc(50, marked("M=40")), proc(40)).but(heavy), orphan(Over, "2.0 MiB"), "r2"},
		{"and does not push aside what is first in the file", []string{home, big}, table(proc(50, marked("X=1"))).but(heavy), orphan(Adopted, "init (1)"), "r1"},
		{"where none proves it the first speaks", []string{home, big}, table(proc(50, marked("X=1"), parent(40)), proc(40)), spared(NotAdopted, "node (40)"), "r1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := c.scene.judge(t, rulesOf(t, c.rules...))
			checkJudged(t, j, 50, c.want)
			v, _ := verdictOf(j, 50)
			if action := map[bool]Action{true: ActionReport, false: ActionStop}[c.rules[v.Rule[1]-'1'] == home]; v.Rule != c.rule || v.Action != action {
				t.Errorf("by rule %s with action %s, want %s with %s", v.Rule, v.Action, c.rule, action)
			}
		})
	}
}

func TestOlderThan(t *testing.T) {
	rules := []string{"older_than: 10s, " + follower}
	checkRulings(t, rules, []ruling{
		{"old enough", nil, table(proc(50, mark("M=42"), start(now-1000))), orphan(Follows, "42")},
		{"too young", nil, table(proc(50, mark("M=42"), start(now-999))), spared(TooYoung, "10s")},
		{"a live owner is the reason even then", nil, table(proc(50, mark("M=40"), start(now-1)), proc(40)), spared(ParentRunning, "40")},
		{"an unknown age is too young", nil, table(proc(50, mark("M=42"), start(0))), spared(TooYoung, "0s")},
		{"a start after the reading too", nil, table(proc(50, mark("M=42"), start(now+1))), spared(TooYoung, "0s")},
	})
}

func TestVerdictSaysWhatTheReportNeeds(t *testing.T) {
	rules := rulesOf(t, "marker: [M, HOME_DIR], orphan: [follows: M], action: report, stop: {grace: 7s}")
	j := table(
		proc(50, mark("SECRET=x"), mark("M=40"), mark("M=42"), mark("HOME_DIR=")), proc(40),
		proc(51, mark("M=42")),
	).judge(t, rules)
	stop := Stop{Grace: 7 * time.Second, Confirm: DefaultStop.Confirm}
	want := []Verdict{{
		PID: 51, Start: 510, Rule: "r1", Orphan: true, Test: Follows, Detail: "follows 42 (M), which is not running",
		Action: ActionReport, Stop: stop, Markers: []platform.Var{{Name: "M", Value: "42"}},
	}, {
		PID: 50, Start: 500, Rule: "r1", Test: Follows, Reason: ParentRunning, Detail: "follows 40 (M), which is running", Blocker: 40,
		Action: ActionReport, Stop: stop,
		Markers: []platform.Var{{Name: "M", Value: "40"}, {Name: "M", Value: "42"}, {Name: "HOME_DIR"}},
	}}
	if diff := cmp.Diff(want, slices.Concat(j.Orphans, j.Spared)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

// TestOrderOfRowsDoesNotMatter: verdicts come by start and pid.
func TestOrderOfRowsDoesNotMatter(t *testing.T) {
	rules := rulesOf(t, follower)
	s := table(
		proc(50, mark("M=42"), start(700)), proc(51, mark("M=42"), start(600)), proc(52, mark("M=42"), start(600)),
		proc(60, mark("M=51"), start(800)), proc(61, mark("M=50"), start(800)), proc(62, mark("M=61"), start(700)),
	)
	first := s.judge(t, rules)
	if got, want := [][]int{pidsOf(first.Orphans), pidsOf(first.Spared)}, [][]int{{51, 52, 50}, {62, 60, 61}}; !cmp.Equal(got, want) {
		t.Errorf("orphans and spared %v, want %v", got, want)
	}
	for range 20 {
		rand.Shuffle(len(s.rows), func(i, j int) { s.rows[i], s.rows[j] = s.rows[j], s.rows[i] })
		again := s.judge(t, rules)
		if diff := cmp.Diff(first, again, cmp.FilterPath(func(p cmp.Path) bool { return p.String() == "judge" }, cmp.Ignore())); diff != "" {
			t.Fatalf("other verdicts from other order (-first +again):\n%s", diff)
		}
	}
}

// TestNothingIsDecidedOnUnansweredFacts: what is not known yet proves nothing.
func TestNothingIsDecidedOnUnansweredFacts(t *testing.T) {
	rules := rulesOf(t, follower, "marker: [H=<tmp>/a], orphan: [adopted]", "marker: [H], orphan: [gone: H, over: 1MiB]")
	s := table(proc(40), proc(50, parent(40), mark("M=42")), proc(51, parent(40), mark("H=/tmp/a")), proc(52, mark("M=42")))
	j := Judge(rules, &World{Table: NewTable(s.rows), System: s.system, Now: now}, Facts{})
	if len(j.Orphans) > 0 {
		t.Errorf("proven without an answer: %+v", j.Orphans)
	}
	needs := map[FactKind]bool{}
	for _, f := range j.Needs() {
		needs[f.Kind] = true
	}
	if want := map[FactKind]bool{FactRunning: true, FactLinks: true, FactGone: true, FactMemory: true, FactMainPID: true}; !cmp.Equal(needs, want) {
		t.Errorf("asked %v, want %v", needs, want)
	}
}

func TestCandidateErrsTowardsYes(t *testing.T) {
	marked := "command: [daemon/main.ts], marker: [M, H=<tmp>/roost-*], orphan: [follows: M, adopted]"
	bare := "command: [daemon/main.ts], marker: none, orphan: [adopted]"
	for _, c := range []struct {
		name string
		rule string
		row  platform.Process
		want bool
	}{
		{"marked, command not read yet", marked, proc(50, noArgv, mark("M=42")), true},
		{"a value that only facts can tell", marked, proc(50, noArgv, mark("H=/elsewhere/roost-1")), true},
		{"a value that no fact makes the marker", marked, proc(50, noArgv, mark("H=/tmp/roosts/x")), false},
		{"opted out", marked, proc(50, noArgv, mark("M=")), false},
		{"opted out, and marked otherwise", marked, proc(50, noArgv, mark("M="), mark("H=/tmp/roost-1")), true},
		{"unmarked", marked, proc(50, argv("daemon/main.ts")), false},
		{"by command", bare, proc(50, argv("daemon/main.ts")), true},
		{"another command", bare, proc(50, argv("other")), false},
		{"unreadable environment, right command", marked, proc(50, unreadable, argv("daemon/main.ts")), true},
		{"unreadable environment, no command known", marked, proc(50, unreadable, noArgv), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := rulesOf(t, c.rule).Candidate(&c.row, maxPID); got != c.want {
				t.Errorf("Candidate = %v, want %v", got, c.want)
			}
		})
	}
}
