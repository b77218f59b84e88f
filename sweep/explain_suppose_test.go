package sweep

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"reaper/match"
	"reaper/platform"
)

// tableMachine answers facts from a table, and has nothing else.
type tableMachine struct {
	Machine
	table   *match.Table
	missing []string // paths
}

func (m *tableMachine) Answer(_ context.Context, f match.Fact) match.Known {
	switch f.Kind {
	case match.FactGone:
		return match.Known{Is: platform.AnswerOf(slices.Contains(m.missing, f.Path))}
	case match.FactMainPID:
		return match.Known{Is: platform.No}
	case match.FactClock, match.FactProgram:
		return match.Known{Is: platform.Yes}
	}
	return known(m.table, f)
}

func (m *tableMachine) Hides() bool { return false }

// planOf is a plan of rows and rules, as far as an explanation needs it.
func planOf(rules *match.Rules, rows []platform.Process, missing ...string) *plan {
	m := &tableMachine{table: match.NewTable(rows), missing: missing}
	system := platform.System{PID: planSelf, PGID: planSelf, UID: planUser, MaxPID: 1 << 22, TicksPerSecond: 100}
	s := &session{m: m, o: Options{Rules: rules, Deadline: 1 << 40}, system: system}
	r := &reading{table: m.table, facts: match.Facts{}, census: &platform.Census{},
		world: &match.World{Table: m.table, System: system, Now: 100_000}}
	p := &plan{stopper: newStopper(s), reading: r}
	p.reading, _ = p.judged(context.Background(), p.hypothesis())
	return p
}

// explains is what is said of a process, and how it stands.
func (p *plan) explains(pid int) (string, standing) {
	r, g := p.judged(context.Background(), p.hypothesis())
	s := standingIn(r, g, pid)
	o := p.otherwise(context.Background(), r.table.Get(pid), &s, r.judged.Explain(r.table.Get(pid)).Guard)
	return o.sentence(), s
}

const otherwiseRules = `
version: 1
protect: [mine]
rules:
  - {name: follower, command: [node, tmux, mine, big], marker: [M], orphan: [follows: M]}
  - {name: second, marker: [N], orphan: [follows: N]}
  - {name: home, marker: [H], orphan: [gone: H, adopted]}
  - {name: place, marker: [P], orphan: [gone: P]}
  - {name: bound, marker: [B], orphan: [over: 1MiB]}
  - {name: size, marker: [Z], orphan: [over: 500KiB]}
  - {name: aged, marker: [A], orphan: [follows: A], older_than: 10m}
  - {name: owned, command: [job], marker: none, orphan: [unowned: owner]}
  - {name: loose, command: [loose], marker: none, orphan: [adopted]}
`

// Guards that what would turn a verdict does: of process 50 it is named, and where
// just that has been drawn otherwise a sweep makes the opposite of it. Nothing that
// is named could be left out.
func TestWhatTurnsAVerdict(t *testing.T) {
	rules, err := match.Load("rules.yaml", []byte(otherwiseRules))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, is   string
		missing    string
		otherwise  string
		were       string
		existsThen bool // what was missing
	}{
		{"dead", "50 M=42", "", "spared, if 42 were running", "50 M=42\n42", false},
		{"dead by its start", "50 M=42@420", "", "spared, if 42@420 were running", "50 M=42@420\n42", false},
		{"used again", "50 M=42@7\n42", "", "spared, if 42@7 were running", "50 M=42@7\n42 born:7", false},
		{"live", "50 M=42\n42 x", "", "orphan, if x (42) exited", "50 M=42", false},
		{"live, its parent", "42 x\n  50 M=42", "", "orphan, if x (42) exited", "50 M=42", false},
		{"maybe recycled", "50 M=60\n60 x", "", "orphan, if x (60) exited", "50 M=60", false},
		{"by two rules, one saves", "50 M=42 N=43", "", "spared, if 42 were running", "50 M=42 N=43\n42", false},
		{"a veto of the second rule", "50 M=42 N=43\n43 x", "", "orphan, if x (43) exited", "50 M=42 N=43", false},
		{"two live", "50 M=42 N=43\n42 x\n43 y", "", "orphan, if x (42) exited and y (43) exited", "50 M=42 N=43", false},
		{"itself", "50 M=50", "", "the same: it follows itself", "", false},
		{"adopted", "50 loose", "", "spared, if the process that started 50 still ran", "40\n  50 loose", false},
		{"not adopted", "40 sh\n  50 loose", "", "orphan, if sh (40) exited", "50 loose", false},
		{"homeless", "40\n  50 P=/x", "/x", "spared, if /x existed", "40\n  50 P=/x", true},
		{"homeless, and adopted", "50 H=/x", "/x", "spared, if /x existed and the process that started 50 still ran", "40\n  50 H=/x", true},
		{"at home", "50 P=/x", "", "orphan, if /x did not exist", "", false},
		{"over", "50 Z=1", "", "spared, if its tree held no more than 500 KiB", "", false},
		{"not over", "50 B=1", "", "orphan, if its tree held more than 1.0 MiB", "50 B=1\n  51", false},
		{"young", "50 A=42 born:99000", "", "orphan, if it were 10m old, in 9m 50s", "", false},
		{"young, and live", "50 A=42 born:99000\n42 x born:10", "", "orphan, if x (42) exited and it were 10m old, in 9m 50s", "50 A=42 born:10", false},
		{"unowned", "50 job", "", "spared, if owner, or whatever else started 50, still ran above it", "40 owner\n  50 job", false},
		{"owned", "40 owner\n  50 job", "", "orphan, if owner (40) exited", "50 job", false},
		{"owned from afar", "30 owner\n  40 job\n    50 job", "", "orphan, if owner (30) exited", "40 job\n  50 job", false},
		{"owned twice", "30 owner\n  40 sh\n    50 job", "", "orphan, if owner (30) exited and sh (40) exited", "50 job", false},
		{"another user's", "50 M=42 user:7", "", "orphan, if --all-users were given", "", false},
		{"another's and live", "50 M=42 user:7\n42 x", "", "orphan, if --all-users were given and x (42) exited", "", false},
		{"on a terminal", "50 M=42 tty", "", "orphan, if its terminal pts/3 were closed", "50 M=42", false},
		{"in the foreground", "40 sh\n  50 M=42 tty session:40", "", "orphan, if it were not in the foreground of its terminal", "40 sh\n  50 M=42 session:40", false},
		{"a protected one", "50 mine M=42", "", `orphan, if protect did not have "mine"`, "50 M=42", false},
		{"a server", "50 tmux M=42", "", "the same: a server that outlives by design whoever started it is never touched", "", false},
		{"an unmarked server", "50 tmux", "", "the same: a server that outlives by design whoever started it is never touched", "", false},
		{"another's, unmarked", "50 user:7", "", "orphan, if it carried M with the pid of a process that has exited and --all-users were given", "", false},
		{"below another's orphan", "40 M=42 user:7\n  50 user:7", "", "orphan, if --all-users were given", "", false},
		{"of a server", "40 tmux M=42\n  50 M=42", "", "orphan, if it had been given a marker of its own", "40 tmux M=42\n  50 M=43", false},
		{"a service", "50 M=42 SYSTEMD_EXEC_PID=50", "", "orphan, if it were not a service's main process", "50 M=42", false},
		{"above the sweep", "50 M=42\n  900", "", "orphan, if the sweep did not run below it", "50 M=42\n900", false},
		{"a member", "40 M=42\n  50", "", "spared, if 42 were running", "40 M=42\n  50\n42", false},
		{"a host", "50 M=42\n  51 M=43\n43 x", "", "orphan, if x (43) exited", "50 M=42\n  51 M=43", false},
		{"below live work", "40 M=42\n  49 M=43\n    50\n43 x", "", "orphan, if x (43) exited", "40 M=42\n  49 M=43\n    50", false},
		{"left behind", "40 M=42\n  50 mine", "", `orphan, if protect did not have "mine"`, "40 M=42\n  50", false},
		{"unmarked", "50", "", "orphan, if it carried M with the pid of a process that has exited", "50 M=42", false},
		{"of another command", "50 other M=42", "", "orphan, if it carried N with the pid of a process that has exited", "50 other M=42 N=42", false},
		{"a container's", "50 M=42 container", "", "judged, if the sweep ran in its pid namespace", "", false},
		{"unreadable", "50 M=42 hush", "", "judged, if its environment could be read: its own user and root may", "", false},
		{"another's and unreadable", "50 job user:7 hush", "", "judged, if --all-users were given and its environment could be read: its own user and root may", "", false},
		{"a follower that cannot be told", "50 M=42\n42 hidden", "", "judged, if what cannot be told were told", "", false},
		{"a zombie", "50 M=42 zombie", "", "the same: it has exited, and stays in the table until its parent 1 has waited for it", "", false},
		{"a kernel thread", "50 kernel", "", "the same: a kernel thread is never touched", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			sentence, before := planOf(rules, draw(t, c.is).rows, c.missing).explains(50)
			if sentence != c.otherwise {
				t.Errorf("%+v: %q", before, sentence)
			}
			if c.were == "" {
				return
			}
			if c.existsThen {
				c.missing = ""
			}
			if _, after := planOf(rules, draw(t, c.were).rows, c.missing).explains(50); after.proven() == before.proven() {
				t.Errorf("still so: %+v", after)
			}
		})
	}
}

// Guards explanations of whatever a table may hold: each process has a verdict,
// and what would turn it is the opposite one.
func TestWhatTurnsAnyVerdict(t *testing.T) {
	rules, err := match.Load("rules.yaml", []byte(planRules))
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		rows := randomTable(t)
		p := planOf(rules, rows)
		r, g := p.judged(context.Background(), p.hypothesis())
		for i := range rows {
			s := standingIn(r, g, rows[i].PID)
			o := p.otherwise(context.Background(), &rows[i], &s, r.judged.Explain(&rows[i]).Guard)
			if s.verdict == "" || s.detail == "" || (o.Verdict == "") != (len(o.If) == 0) || (o.Verdict == "") != (o.Detail != "") ||
				s.proven() && o.Verdict == "orphan" || !s.proven() && o.Verdict == "spared" {
				t.Fatalf("%d: %+v, %+v", rows[i].PID, s, o)
			}
			p.kin(context.Background(), &rows[i], g)
		}
	})
}

// Guards what a sweep makes of an ancestor among its roles, parent first.
func TestFatesOfAncestors(t *testing.T) {
	rules, err := match.Load("rules.yaml", []byte(otherwiseRules))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, picture, want string }{
		{"a follower of what runs", "40 N=43\n  50 M=42\n43", "parent,spared; adopter"},
		{"a host of live work", "40 M=41\n  50 M=42\n42", "parent,follower,spared; adopter"},
		{"an orphan", "40 M=41\n  50", "parent,orphan; adopter"},
		{"members of a tree", "40 M=41\n  45\n    50", "parent,member; parent,orphan; adopter"},
		{"owner and launcher", "40 owner\n  45 job\n    50 job", "parent,launcher,spared; parent,owner; adopter"},
		{"a parent that is not there", "50 M=42 parent:49", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := planOf(rules, draw(t, c.picture).rows)
			_, g := p.judged(context.Background(), p.hypothesis())
			k := p.kin(context.Background(), p.reading.table.Get(50), g)
			var got []string
			for _, a := range k.Ancestors {
				var roles []string
				for _, role := range a.Roles {
					roles = append(roles, string(role.Is))
				}
				got = append(got, strings.Join(roles, ","))
			}
			if s := strings.Join(got, "; "); s != c.want {
				t.Errorf("%q, want %q: %s", s, c.want, fmt.Sprint(k.Ancestors))
			}
		})
	}
}

// Guards who is said to follow a process: what names its pid, or its very start,
// and neither another start nor one that has exited.
func TestFollowersOfAProcess(t *testing.T) {
	rules, err := match.Load("rules.yaml", []byte(otherwiseRules))
	if err != nil {
		t.Fatal(err)
	}
	p := planOf(rules, draw(t, "50 N=50\n60 M=50\n61 N=50@500\n62 N=50@7\n63 N=51\n64 N=50 zombie\n65 H=50").rows)
	_, g := p.judged(context.Background(), p.hypothesis())
	var got []int
	for _, c := range p.kin(context.Background(), p.reading.table.Get(50), g).Followers {
		got = append(got, c.PID)
	}
	if want := []int{60, 61}; !slices.Equal(got, want) {
		t.Errorf("%v follow it, want %v", got, want)
	}
}

// Guards the terminal of who reads what ancestors are: a variable's value is theirs
// to choose.
func TestRolesArePrintable(t *testing.T) {
	k := Kin{Ancestors: []Ancestor{{Roles: []match.Role{{Is: match.RoleFollowed, Detail: "M=\x1b[2J"}}}}}
	k.printable()
	if got := k.Ancestors[0].Roles[0].Detail; got != `M=\x1b[2J` {
		t.Errorf("%q", got)
	}
}
