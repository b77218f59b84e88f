package match

import (
	"slices"
	"strings"
	"testing"

	"reaper/platform"
)

// launchd is macOS's pid 1, whose arguments are another user's.
func launchd() platform.Process {
	return proc(1, parent(0), user(0), start(1), noArgv, comm("launchd"))
}

func reparented(a platform.Answer) trait { return func(p *platform.Process) { p.Reparented = a } }
func withheld(p *platform.Process)       { p.Env, p.Vars = platform.EnvWithheld, nil }
func doubtful(p *platform.Process)       { p.Doubtful = "read from text" }

func TestChildrenOfLaunchd(t *testing.T) {
	dead := mark("P=4242")
	const followed, unowned = "marker: [P], orphan: [follows: P, adopted]", `marker: [H], orphan: [unowned: owner]`
	for _, c := range []struct {
		name, rule string
		row        platform.Process
		want       judged
	}{
		{"taken in", anyJob, job(reparented(platform.Yes)), orphan(Adopted, "adopted by launchd (1)")},
		{"started by it", anyJob, job(reparented(platform.No)), spared(Service, "started by launchd itself")},
		{"not to be told", anyJob, job(), spared(UnknownReason, "whether launchd (1) adopted or started it cannot be told")},
		{"not to be told, followed pid dead", followed, proc(50, dead), orphan(Follows, "4242 (P), which is not running")},
		{"not to be told, followed pid runs", followed, proc(50, mark("P=60")), spared(ParentRunning, "follows 60")},
		{"started by it, followed pid dead", followed, proc(50, dead, reparented(platform.No)), spared(Service, "started by launchd itself")},
		{"taken in, no owner", unowned, job(reparented(platform.Yes)), orphan(Unowned, "no running owner above it")},
		{"not to be told, no owner", unowned, job(), spared(UnknownReason, "cannot be told")},
		{"withheld, its command matches", "command: [sleep], marker: [P], orphan: [follows: P]",
			proc(50, dead, argv("/bin/sleep", "60"), withheld, reparented(platform.Yes)), spared(EnvUnreadable, "macOS does not show")},
		{"doubtful", followed, proc(50, dead, doubtful, reparented(platform.Yes)), spared(UnknownReason, "read from text")},
		{"doubtful and another user's", followed, proc(50, dead, doubtful, user(0)), spared(OtherUser, "belongs to user 0")},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkJudged(t, table(launchd(), proc(60, start(2)), c.row).judge(t, rulesOf(t, c.rule)), 50, c.want)
		})
	}
}

// Guards that a run's mark proves nothing where what was read is in doubt.
func TestDoubtfulCarriesNoMark(t *testing.T) {
	names := Names{Marker: platform.Var{Name: "P", Value: "77"}}
	world := &World{Table: NewTable([]platform.Process{launchd(), proc(50, mark("P=77")), proc(51, mark("P=77"), doubtful)}),
		System: platform.System{PID: sweeper, UID: me, MaxPID: maxPID}, Now: now}
	got := Name(names, rulesOf(t, "marker: [P], orphan: [follows: P]").WithoutRules(), world, nil)
	if len(got.Orphans) != 1 || got.Orphans[0].PID != 50 {
		t.Errorf("%+v", got.Orphans)
	}
}

func TestWithheldIsNoCandidateByItsEnvironment(t *testing.T) {
	row := proc(50, argv("/bin/sleep", "60"), withheld)
	marked, commanded := rulesOf(t, anyJob), rulesOf(t, "command: [sleep], marker: [H], orphan: [adopted]")
	if marked.Candidate(&row, maxPID) || !commanded.Candidate(&row, maxPID) {
		t.Errorf("candidate by a marker %v, by its command %v", marked.Candidate(&row, maxPID), commanded.Candidate(&row, maxPID))
	}
	if _, judged := verdictOf(table(launchd(), row).judge(t, marked), 50); judged {
		t.Error("judged by a marker that nobody saw")
	}
}

func TestWithheldBySession(t *testing.T) {
	seen := NewTable([]platform.Process{launchd(), proc(50), proc(61, session(50), group(61), withheld), proc(60, session(50), group(60), withheld),
		proc(62, session(50), group(62)), proc(63, session(9), withheld)})
	if got := seen.Withheld(50); !slices.Equal(got, []int{60, 61}) {
		t.Errorf("%v", got)
	}
	if got := seen.Related([]int{50}); !slices.Equal(got, []int{1, 50, 60, 61}) {
		t.Errorf("related %v", got)
	}
}

func TestTmpIsPrivate(t *testing.T) {
	link := func(prefix, real string) platform.Link { return platform.Link{Prefix: prefix, Real: real} }
	roots := []TmpRoot{{"/tmp", "/private/tmp"}, {"/var/folders/ab/cd/T", "/private/var/folders/ab/cd/T"}}
	m := Marker{Name: "H", Glob: "<tmp>/roost-*"}
	for value, want := range map[string]bool{
		"/tmp/roost-1": true, "/private/tmp/roost-1": true, "/var/folders/ab/cd/T//roost-1": true, "/private/var/folders/ab/cd/T/roost-1": true,
		"/var/folders/ab/ef/T/roost-1": false, "/var/folders/ab/cd/C/roost-1": false, "/private/roost-1": false, "/private/tmpx/roost-1": false,
	} {
		clean, _ := CleanPath(value)
		links := []platform.Link{link("/", "/")}
		for i := 1; i <= len(clean); i++ {
			if i < len(clean) && clean[i] != '/' {
				continue
			}
			real := clean[:i]
			if !strings.HasPrefix(real, "/private") {
				real = "/private" + real
			}
			links = append(links, link(clean[:i], real))
		}
		if got := m.MatchValue(value, roots, links); got != want {
			t.Errorf("%s: %v, want %v", value, got, want)
		}
	}
}
