//go:build linux

package test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// explained are processes of every kind that explain tells apart.
type explained struct {
	lab                                                       *Lab
	dead                                                      int
	live                                                      Proc
	orphan, member, left, spared, kept, unmatched, young, odd Proc
	others, unreadable                                        Proc
}

func newExplained(t *testing.T) explained {
	lab := newLab(t)
	x := explained{lab: lab, dead: lab.Dead(), live: lab.Live()}
	lab.Rules("protect: [lab-kept-" + lab.Tag + "]\n" + lab.DefaultRule() + fmt.Sprintf(`  - name: aged
    command: [sleep]
    marker: [AGED_%s]
    orphan: [{gone: AGED_%s}, {over: 10GiB}, {unowned: lab-owner}]
    older_than: 1h
`, lab.Tag, lab.Tag))
	mark := lab.Mark(x.dead)
	kept := Spec{Role: "idle", Argv: []string{"lab-kept-" + lab.Tag}}
	tree := []Spec{{Argv: lab.Sleep(900)}, kept}
	orphan, below := lab.Forker(Spec{Env: []string{mark}, Adopted: true, Leader: true}, "once", tree...)
	x.orphan, x.member, x.left = orphan, below[0], below[1]
	x.spared = lab.OrphanLeader([]string{lab.Mark(x.live)}, lab.Sleep(901)...)
	kept.Env, kept.Adopted, kept.Leader = []string{mark}, true, true
	x.kept = lab.Start(kept)
	x.unmatched = lab.OrphanLeader(nil, lab.Sleep(902)...)
	x.young = lab.OrphanLeader([]string{"AGED_" + lab.Tag + "=relative"}, lab.Sleep(903)...)
	x.odd = lab.OrphanLeader([]string{lab.Parent + "=none", lab.HomeVar + "=/elsewhere"}, lab.Sleep(904)...)
	return x
}

// withOthers adds those of another user; it skips the test where there is none.
func (x *explained) withOthers() {
	mark := x.lab.Mark(x.dead)
	x.others = x.lab.Start(Spec{Argv: x.lab.Sleep(905), Env: []string{mark}, UID: nobody, Adopted: true, Leader: true})
	x.unreadable = x.lab.Start(Spec{Role: "undumpable", Env: []string{mark}, UID: nobody, Adopted: true, Leader: true})
}

func (x *explained) verdict(got Explained, verdict, rule, reason, detail string) {
	x.lab.t.Helper()
	if got.Verdict != verdict || got.Rule != rule || got.Reason != reason || got.Detail != detail {
		x.lab.t.Errorf("%d is %s by %q (%s): %s; instead of %s by %q (%s): %s",
			got.PID, got.Verdict, got.Rule, got.Reason, got.Detail, verdict, rule, reason, detail)
	}
}

// explain calls a process what a sweep makes of it, for the same reason, and
// does nothing to it.
func TestExplainVerdicts(t *testing.T) {
	x := newExplained(t)
	lab := x.lab
	canary, notes := lab.Canary(Spec{Env: []string{lab.Mark(x.dead)}, Leader: true})
	all := []Proc{x.orphan, x.member, x.left, x.spared, x.kept, x.unmatched, x.young, x.odd, canary}
	e := lab.explain(Run{}, all...)
	follows := fmt.Sprintf("follows %d (%s), which is not running", x.dead, lab.Parent)
	protect := "matches protect: lab-kept-" + lab.Tag
	for i, want := range [][4]string{
		{"orphan", "lab", "", follows},
		{"member", "lab", "", fmt.Sprintf("goes with the orphan %d: %s", x.orphan.PID, follows)},
		{"left-behind", "", "protected", fmt.Sprintf("in the tree of the orphan %d, %s", x.orphan.PID, protect)},
		{"spared", "lab", "parent-running", fmt.Sprintf("follows %d (%s), which is running", x.live.PID, lab.Parent)},
		{"spared", "lab", "protected", protect},
		{"unmatched", "", "", "no rule matches it"},
		{"spared", "aged", "too-young", e.Explained[6].Detail},
		{"unmatched", "", "", "no rule matches it"},
		{"orphan", "lab", "", follows},
	} {
		x.verdict(e.Explained[i], want[0], want[1], want[2], want[3])
	}
	if !strings.HasSuffix(e.Explained[6].Detail, "old, the rule asks for 1h") {
		t.Errorf("too young: %s", e.Explained[6].Detail)
	}
	if !e.DryRun || e.Totals.Orphans != 2 || e.Totals.Processes != 3 || len(e.Spared) != 3 || len(e.LeftBehind) != 1 {
		t.Errorf("%t, %+v, %d spared, %d left behind", e.DryRun, e.Totals, len(e.Spared), len(e.LeftBehind))
	}
	lab.Run(Run{Command: "explain", Args: []string{"--rules", lab.rules, itoa(canary.PID)}, Status: 0})
	if got := notes(); len(got) > 0 {
		t.Errorf("signalled: %v", got)
	}
	for _, p := range all {
		if !p.Running() {
			t.Errorf("%s is %s", p, p.State())
		}
	}
	plan := lab.DryRun()
	lab.WouldStop(plan, x.orphan)
	lab.WouldStop(plan, x.member)
	lab.LeftBehind(plan, x.left, "protected")
	lab.Spared(plan, x.spared, "parent-running")
	lab.Spared(plan, x.kept, "protected")
	lab.Spared(plan, x.young, "too-young")
	lab.Untouched(plan, x.unmatched)
	lab.Untouched(plan, x.odd)
}

// Every test of every rule gives its answer with the facts, also one that
// abstains, and the one that decides is named.
func TestExplainAnswers(t *testing.T) {
	x := newExplained(t)
	lab := x.lab
	e := lab.explain(Run{}, x.orphan, x.spared, x.young, x.odd)
	mine, follows := func(i int) RuleAnswer { return e.Explained[i].Rules[0] }, "follows: "+lab.Parent
	want := []TestAnswer{
		{follows, "yes", "", fmt.Sprintf("follows %d (%s), which is not running", x.dead, lab.Parent), true},
		{"adopted", "yes", "", "adopted by " + initName + " (1)", false},
	}
	if got := mine(0); got.Matches != "yes" || got.Marker.Detail != fmt.Sprintf("carries %s=%d", lab.Parent, x.dead) || !slices.Equal(got.Tests, want) {
		t.Errorf("orphan: %+v", got)
	}
	want = []TestAnswer{
		{follows, "no", "parent-running", fmt.Sprintf("follows %d (%s), which is running", x.live.PID, lab.Parent), true},
		{"adopted", "yes", "", "adopted by " + initName + " (1)", false},
	}
	if got := mine(1); got.Matches != "yes" || !slices.Equal(got.Tests, want) {
		t.Errorf("spared: %+v", got)
	}
	aged := e.Explained[2].Rules[1]
	if aged.Matches != "yes" || aged.Command.Detail != "matches sleep" || len(aged.Tests) != 3 || aged.OlderThan.Answer != "no" {
		t.Fatalf("young: %+v", aged)
	}
	if gone, over := aged.Tests[0], aged.Tests[1]; gone.Answer != "abstains" || over.Answer != "abstains" || !strings.HasSuffix(over.Detail, ", not over the rule's 10 GiB") {
		t.Errorf("abstain: %+v %+v", gone, over)
	}
	if unowned := aged.Tests[2]; unowned.Answer != "yes" || !unowned.Decides || unowned.Detail != "no running lab-owner above it, adopted by "+initName+" (1)" {
		t.Errorf("unowned: %+v", unowned)
	}
	if got := mine(3); got.Matches != "no" || got.Marker.Detail != lab.Parent+"=none does not count: it is no pid above 1" {
		t.Errorf("odd: %+v", got)
	}
	if got := e.Explained[3].Rules[1]; got.Matches != "no" || got.Marker.Detail != "carries none of the rule's markers" {
		t.Errorf("odd: %+v", got)
	}
}

// What cannot be read or is another user's is said to be so, and by whom it
// could be judged.
func TestExplainOtherUsers(t *testing.T) {
	x := newExplained(t)
	x.withOthers()
	lab := x.lab
	other := fmt.Sprintf("belongs to user %d; --all-users would judge it", nobody)
	e := lab.explain(Run{}, x.others, x.unreadable)
	x.verdict(e.Explained[0], "spared", "lab", "other-user", other)
	if got := e.Explained[0]; got.Guard != "other-user" || got.GuardDetail != other || got.UID != nobody {
		t.Errorf("%+v", got)
	}
	e = lab.explain(Run{Args: []string{"--all-users"}}, x.others)
	x.verdict(e.Explained[0], "orphan", "lab", "", fmt.Sprintf("follows %d (%s), which is not running", x.dead, lab.Parent))
	e = lab.explain(Run{UID: nobody}, x.others, x.unreadable, x.orphan)
	x.verdict(e.Explained[0], "orphan", "lab", "", fmt.Sprintf("follows %d (%s), which is not running", x.dead, lab.Parent))
	for i, guard := range map[int]string{1: "environment-unreadable", 2: "other-user"} {
		x.verdict(e.Explained[i], "unknown", "", "environment-unreadable", "whether a rule matches it cannot be told: its environment cannot be read")
		if e.Explained[i].Guard != guard || e.Explained[i].Rules[0].Marker != (Said{"unknown", "its environment cannot be read"}) || e.Explained[i].Rules[0].Matches != "unknown" {
			t.Errorf("%+v", e.Explained[i])
		}
	}
}

// Guards the text: it says the same as the document, a process a block, in the
// order asked.
func TestExplainText(t *testing.T) {
	x := newExplained(t)
	lab := x.lab
	res := lab.Run(Run{Command: "explain", Args: []string{"--rules", lab.rules, x.member.identity(), itoa(x.orphan.PID), itoa(x.kept.PID)}, Env: []string{"COLUMNS=300"}, Status: 0})
	named := func(p Proc, name string) string { return fmt.Sprintf("%d (%s)", p.PID, name) }
	follows := fmt.Sprintf("follows %d (%s), which is not running", x.dead, lab.Parent)
	kept := "lab-kept-" + lab.Tag
	next := []string{x.orphan.identity(), x.kept.identity(), "the end"}
	for i, want := range [][]string{{
		x.member.identity() + "  " + strings.Join(lab.Sleep(900), " "),
		fmt.Sprintf("verdict    part of an orphan's tree by rule lab: goes with the orphan %d: %s", x.orphan.PID, follows),
		fmt.Sprintf("a sweep    would stop it with 1 other: %s; and leave %d (protected)", named(x.orphan, "lab-forker"), x.left.PID),
		fmt.Sprintf("otherwise  spared, if %d were running", x.dead),
		fmt.Sprintf("%d  lab-forker parent; orphan: %s", x.orphan.PID, follows),
	}, {
		x.orphan.identity() + "  lab-forker",
		"verdict    orphan by rule lab: " + follows,
		"follows: " + lab.Parent + " yes decides: " + follows,
		fmt.Sprintf("adopter: took in %d", x.orphan.PID),
	}, {
		x.kept.identity() + "  " + kept,
		"verdict    spared by rule lab (protected): matches protect: " + kept,
		"a sweep    would leave it alone",
		fmt.Sprintf("otherwise  orphan, if protect did not have %q", kept),
		fmt.Sprintf("group %d, which it leads; nobody else is in it", x.kept.PID),
	}} {
		_, block, _ := strings.Cut("\n"+res.Stdout, "\n"+want[0])
		block, _, _ = strings.Cut(want[0]+block, "\n\n"+next[i])
		block = strings.Join(strings.Fields(block), " ")
		for _, part := range want {
			if !strings.Contains(block, strings.Join(strings.Fields(part), " ")) {
				t.Errorf("%q is not in\n%s", part, res.Stdout)
			}
		}
	}
	if res.Stderr != "" {
		t.Error(res.Stderr)
	}
}

// Guards that what would turn a verdict does, on real processes: what a spared one
// follows exits, and what an orphan's variable names is there.
func TestExplainOtherwiseComesTrue(t *testing.T) {
	lab := newLab(t)
	live := lab.Live()
	follower := lab.OrphanLeader([]string{lab.Mark(live)}, lab.Sleep(900)...)
	child := lab.Child([]string{lab.MarkHome()}, lab.Sleep(901)...)
	e := lab.explain(Run{}, follower, child)
	for i, p := range []Proc{live, holder(os.Getpid())} {
		got := e.Explained[i]
		if o := got.Otherwise; got.Verdict != "spared" || o.Verdict != "orphan" || len(o.If) != 1 || !strings.HasSuffix(o.If[0], fmt.Sprintf("(%d) exited", p.PID)) {
			t.Errorf("%d is %s: %+v", got.PID, got.Verdict, o)
		}
	}
	lab.Kill(live)
	e = lab.explain(Run{}, follower)
	if got := e.Explained[0]; got.Verdict != "orphan" || got.Otherwise.Verdict != "spared" || !slices.Equal(got.Otherwise.If, []string{fmt.Sprintf("%d were running", live.PID)}) {
		t.Errorf("%s: %+v", got.Verdict, got.Otherwise)
	}
	lab.Stopped(lab.Run(Run{Args: []string{"--rules", lab.rules}, Status: 0}), follower)
}

// A pid that nothing holds, has been waited for, or is a thread is a usage
// error, but does not keep another one from being explained; a zombie has exited
// but is there.
func TestExplainUnknownPIDs(t *testing.T) {
	lab := newLab(t)
	_, tid := lab.Thread()
	for _, pid := range []int{lab.Dead(), tid} {
		res := lab.Run(Run{Command: "explain", Args: []string{itoa(pid)}, Status: 2})
		lab.saysErrors(res, itoa(pid), "no such process")
		if res.Stdout != "" {
			t.Errorf("%q", res.Stdout)
		}
		both := lab.Run(Run{Command: "explain", Args: []string{itoa(pid), itoa(os.Getpid())}, Text: true, Status: 0})
		lab.mentions(both.Stdout, itoa(pid)+": no such process", "unmatched: no rule matches it")
	}
	_, zombie := lab.Zombie()
	lab.Rules(lab.DefaultRule())
	if got := lab.explain(Run{}, zombie).Explained[0]; got.Verdict != "exited" || !strings.HasPrefix(got.Otherwise.Detail, "it has exited") {
		t.Errorf("zombie: %+v", got)
	}
}

// The documents of explain are read in full, so that a change of form is seen.
func (l *Lab) explain(r Run, of ...Proc) *Explanation {
	l.t.Helper()
	r.Command, r.Text = "explain", true
	if l.rules == "" {
		l.Rules(l.DefaultRule())
	}
	r.Args = append(r.Args, "--json", "--rules", l.rules)
	for _, p := range of {
		r.Args = append(r.Args, itoa(p.PID))
	}
	res := l.Run(r)
	if err := bySchema([]byte(res.Stdout)); err != nil {
		l.t.Error(err)
	}
	e := &Explanation{}
	strict := json.NewDecoder(strings.NewReader(res.Stdout))
	strict.DisallowUnknownFields()
	if err := strict.Decode(e); err != nil || strict.More() {
		l.t.Fatalf("%v: %s%s", err, res.Stdout, res.Stderr)
	}
	if len(e.Explained) != len(of) || res.Exit != 0 || e.Exit != 0 {
		l.t.Fatalf("status %d: %s", res.Exit, res.Stdout)
	}
	for i, x := range e.Explained {
		if x.PID != of[i].PID || x.Start != of[i].Start {
			l.t.Fatalf("%d is %d@%d instead of %s", i, x.PID, x.Start, of[i])
		}
	}
	return e
}

// Explanation is the JSON document of explain.
type Explanation struct {
	Doc
	Explained []Explained `json:"explained"`
}

type Explained struct {
	PID         int          `json:"pid"`
	Start       uint64       `json:"start"`
	PPID        int          `json:"ppid"`
	PGID        int          `json:"pgid"`
	SID         int          `json:"sid"`
	UID         int          `json:"uid"`
	User        string       `json:"user"`
	AgeS        float64      `json:"age_s"`
	RSSBytes    uint64       `json:"rss_bytes"`
	State       string       `json:"state"`
	Command     []string     `json:"command"`
	Guard       string       `json:"guard"`
	GuardDetail string       `json:"guard_detail"`
	Rules       []RuleAnswer `json:"rules"`
	Verdict     string       `json:"verdict"`
	Rule        string       `json:"rule"`
	Reason      string       `json:"reason"`
	Detail      string       `json:"detail"`
	Otherwise   Otherwise    `json:"otherwise"`
	Ancestors   []Ancestor   `json:"ancestors"`
	Top         string       `json:"top"`
	Group       Circle       `json:"group"`
	Session     Circle       `json:"session"`
	Terminal    string       `json:"terminal"`
	Followers   []Companion  `json:"followers"`
}

type Otherwise struct {
	Verdict string   `json:"verdict"`
	If      []string `json:"if"`
	Detail  string   `json:"detail"`
}

type Companion struct {
	PID     int      `json:"pid"`
	Start   uint64   `json:"start"`
	Command []string `json:"command"`
}

type Ancestor struct {
	Companion
	Roles []struct {
		Is     string `json:"is"`
		Detail string `json:"detail"`
	} `json:"roles"`
}

type Circle struct {
	ID     int         `json:"id"`
	Leader string      `json:"leader"`
	Others []Companion `json:"others"`
}

type Said struct {
	Answer string `json:"answer"`
	Detail string `json:"detail"`
}

type RuleAnswer struct {
	Rule      string       `json:"rule"`
	Matches   string       `json:"matches"`
	Command   Said         `json:"command"`
	Marker    Said         `json:"marker"`
	Tests     []TestAnswer `json:"tests"`
	OlderThan Said         `json:"older_than"`
}

type TestAnswer struct {
	Test    string `json:"test"`
	Answer  string `json:"answer"`
	Reason  string `json:"reason"`
	Detail  string `json:"detail"`
	Decides bool   `json:"decides"`
}
