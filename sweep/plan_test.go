package sweep

import (
	"slices"
	"testing"

	"reaper/match"
	"reaper/platform"
)

func TestTrees(t *testing.T) {
	for _, c := range []struct{ name, picture string }{
		{"descendants go with it, marked or not", `
			50 M=42              | orphan
			  51                 | of 50
			    52 M=42          | of 50
			60                   |`},
		{"its parent is never included", `
			40                   |
			  50 M=42            | orphan
			  51                 |`},
		{"each orphan elsewhere has its own tree", `
			50 M=42              | orphan
			51 M=42              | orphan
			40                   |
			  52 M=42            | orphan`},
		{"one whose child has the lower pid and start is still the outer one", `
			50 M=42              | orphan
			  30 M=42            | of 50`},
		{"no zombie is a member, one that has threads is not drawn as one", `
			50 M=42              | orphan
			  51 zombie          |
			  52                 | of 50`},
		{"what was not read in detail stays, with all below", `
			50 M=42              | orphan
			  51 unread          | left environment-unreadable
			    52               |`},
		{"a container below it goes with it, whatever it follows", `
			50 M=42              | orphan
			  51 container       | of 50
			    52 M=51 container| of 50
			40 M=42 container    | spared other-namespace`},
		{"a cycle of parents has one tree", `
			50 M=42 parent:52    | orphan
			  51 M=42            | of 50
			    52 M=42          | of 50`},
		{"an orphan that is its own parent", `
			50 M=42 parent:50    | orphan
			  51                 | of 50`},
	} {
		t.Run(c.name, func(t *testing.T) { checkPicture(t, c.picture) })
	}
}

func checkPicture(t *testing.T, picture string) {
	t.Helper()
	d := draw(t, picture)
	r, g := growAll(t, d.rows, platform.System{PID: planSelf, PGID: planSelf, UID: planUser}, nil)
	checkFates(t, d, r, g)
}

func TestGroupsThatMembersLead(t *testing.T) {
	for _, c := range []struct{ name, picture string }{
		{"an adopted member of the orphan's group", `
			50 M=42              | orphan
			60 group:50          | of 50
			  61                 | of 50`},
		{"of a group that a member leads", `
			50 M=42              | orphan
			  51                 | of 50
			60 group:51          | of 50
			70 group:60          | of 50`},
		{"not the b of a job-control shell's a | b", `
			40 bash              |
			  50 M=42            | orphan
			  51 group:50        |`},
		{"not of a group that a member only lives in", `
			50 M=42 group:30     | orphan
			60 group:30          |`},
		{"not one whose number is another namespace's", `
			50 M=42              | orphan
			60 group:50 container|`},
		{"not one whose parent cannot be seen", `
			50 M=42              | orphan
			60 group:50 parent:59|`},
		{"an orphan in another one's group has no tree of its own", `
			50 M=42              | orphan
			60 M=42 group:50     | of 50`},
		{"an adopted member that follows live work stays, with all below it", `
			50 M=42              | orphan
			60 M=40 group:50     | spared parent-running
			  61                 | spared parent-running
			40                   |`},
	} {
		t.Run(c.name, func(t *testing.T) { checkPicture(t, c.picture) })
	}
}

func TestLiveWorkBelowAnOrphan(t *testing.T) {
	for _, c := range []struct{ name, picture string }{
		{"spares itself, all below and the path above it", `
			40                   |
			50 M=42              | spared hosts-live-work
			  51                 | spared hosts-live-work
			    52 S=40          | spared parent-running
			      53             | spared parent-running
			  54                 |`},
		{"and the others are judged on their own", `
			40                   |
			50 M=42              | spared hosts-live-work
			  51 S=40            | spared parent-running
			  52                 |
			    53 M=42          | orphan
			      54             | of 53
			  55 H=1             | spared not-adopted`},
		{"which holds for what may be a stranger", `
			50 M=42              | spared hosts-live-work
			  51 S=90            | spared possibly-recycled
			90                   |`},
		{"and for all that it follows, not only for the first", `
			40                   |
			50 M=42              | spared hosts-live-work
			  51                 | spared hosts-live-work
			    52 M=51 S=40     | spared parent-running`},
		{"twice in one variable too", `
			40                   |
			50 M=42              | spared hosts-live-work
			  52 S=50 S=40       | spared parent-running`},
		{"and for what cannot be told, be it a member", `
			50 M=42              | spared hosts-live-work
			  51 hidden          |
			  52 S=51            | spared unknown`},
		{"and for an orphan itself, by a variable of a rule that is about others", `
			40                   |
			50 M=42 X=40         | spared parent-running
			  51                 | spared parent-running`},
		{"a member that follows another member is inside", `
			50 M=42              | orphan
			  51 S=50            | of 50
			    52 S=51          | of 50
			  53 S=52            | of 50`},
		{"one that follows itself runs for itself", `
			50 M=42              | spared hosts-live-work
			  51 M=51            | spared parent-running
			  52                 |`},
		{"a worker of a session that hosts: neither is stopped", `
			40                   |
			50 M=42              | spared hosts-live-work
			  51                 | spared hosts-live-work
			    52 S=51          | spared parent-running
			    53 M=40          | spared parent-running`},
		{"a worker in another orphan's tree: that one hosts it in turn", `
			40                   |
			50 M=42              | spared hosts-live-work
			  51                 | spared hosts-live-work
			    53 M=40          | spared parent-running
			60 M=42              | spared hosts-live-work
			  61 S=51            | spared parent-running
			  62 M=43            | orphan`},
		{"what follows a member of another tree follows work outside its own", `
			50 M=42              | orphan
			60 M=43              | spared hosts-live-work
			  61 S=50            | spared parent-running`},
		{"the path leads over another user's process", `
			40                   |
			50 M=42              | spared hosts-live-work
			  51 user:0          |
			    52 M=40          | spared parent-running`},
		{"live work of another user counts", `
			40                   |
			50 M=42              | spared hosts-live-work
			  51                 | spared hosts-live-work
			    52 user:0 M=40   | spared other-user`},
		{"live work below a protected process counts", `
			40                   |
			50 M=42              | spared hosts-live-work
			  51 tmux            |
			    52               |
			      53 M=40        | spared parent-running`},
		{"live work that was not read in detail counts", `
			40                   |
			50 M=42              | spared hosts-live-work
			  51 S=40 unread     | spared parent-running`},
		{"in a container it does not, but for what holds the container", `
			40                   |
			50 M=42              | orphan
			  51 container S=40  | of 50`},
		{"a bound holds owned or not", `
			40                   |
			50 B=1 M=40          | orphan
			  51 M=40            | of 50
			    52               | of 50`},
		{"but not for work of another owner below", `
			30                   |
			40                   |
			50 B=1 M=40          | spared hosts-live-work
			  51 M=30            | spared parent-running`},
	} {
		t.Run(c.name, func(t *testing.T) { checkPicture(t, c.picture) })
	}
}

func TestMembersThatAreLeftAlone(t *testing.T) {
	for _, c := range []struct{ name, picture string }{
		{"a protected one with all below it", `
			50 M=42              | orphan
			  51 tmux            | left protected
			    52               |
			  53                 | of 50`},
		{"listed as spared where it is marked", `
			50 M=42              | orphan
			  51 ssh-agent M=42  | spared protected
			    52 M=42          | spared protected`},
		{"what was stamped anew below it is judged on its own", `
			50 M=42              | orphan
			  51 tmux M=42       | spared protected
			    52 M=43          | orphan
			      53             | of 52`},
		{"another user's, not what is ours below it", `
			50 M=42              | orphan
			  51 user:0          | left other-user
			    52               | of 50
			  53 user:0 M=42     | spared other-user`},
		{"another user's protected one with all below it", `
			50 M=42              | orphan
			  51 user:0 tmux     | left protected
			    52               |`},
		{"one that is to be reported, with all below it", `
			50 M=42              | orphan
			  51 R=43            | orphan
			    52               | of 51
			  53                 | of 50`},
		{"all that is below one that is to be reported", `
			50 R=42              | orphan
			  51 M=43            | of 50`},
		{"a group's member too", `
			50 M=42              | orphan
			60 tmux group:50     | left protected
			61 group:50 user:0   | left other-user`},
	} {
		t.Run(c.name, func(t *testing.T) { checkPicture(t, c.picture) })
	}
}

// TestSweepersOwnIsLeft: this sweep's ancestors in an orphan's group.
func TestSweepersOwnIsLeft(t *testing.T) {
	d := draw(t, `
		50 M=42                  | orphan
		  51 group:50            | of 50
		60 group:50              | left sweeper
		  61 group:50            |
		  62 M=42 group:50       | orphan
		  63 reaper group:50     |`)
	r, g := growAll(t, d.rows, platform.System{PID: 63, PGID: 50, UID: planUser}, nil)
	checkFates(t, d, r, g)
	if whole := wholeGroups(r.table, map[int]bool{50: true, 51: true, 62: true}, 50); whole[50] {
		t.Error("the sweeper's own group is signalled as a whole")
	}
}

// TestTreesOfEarlierReadings: a root that has exited leaves its members and the
// groups that it led.
func TestTreesOfEarlierReadings(t *testing.T) {
	root := match.Verdict{PID: 50, Start: 500, Rule: "follower", Orphan: true}
	for _, c := range []struct {
		name     string
		branches []branch
		picture  string
	}{
		{"its members, with what they started since", []branch{{root: root, known: []int{51, 52}}}, `
			51                   | of 50
			  60                 | of 50
			52                   | of 50
			53                   |`},
		{"the group that it led, of those born before it exited", []branch{{root: root, led: []led{{50, 700}}}}, `
			60 group:50          | of 50
			70 group:50          | of 50
			71 group:50          |
			61 group:51          |`},
		{"a group whose leader has not been seen to exit", []branch{{root: root, led: []led{{50, 0}}}}, `
			71 group:50          | of 50`},
		{"not the b of a | b", []branch{{root: root, led: []led{{50, 700}}}}, `
			40 bash              |
			  60 group:50        |`},
		{"a known tree keeps what a new orphan above it would take in", []branch{
			{root: match.Verdict{PID: 40, Start: 400, Orphan: true}, alive: true}, {root: root, known: []int{51}}}, `
			40                   | orphan
			  51                 | of 50
			  52                 | of 40`},
		{"a known tree keeps its members under a new orphan too", []branch{
			{root: match.Verdict{PID: 40, Start: 400, Orphan: true}, alive: true},
			{root: match.Verdict{PID: 60, Start: 600, Orphan: true}, alive: true, known: []int{51}}}, `
			40                   | orphan
			  60                 | orphan
			    51               | of 60
			  61                 | of 40`},
		{"nothing where its root hosts live work by now", []branch{{root: root, alive: true, known: []int{51}}}, `
			40                   |
			50 M=42              | spared hosts-live-work
			  51                 |
			  52 S=40            | spared parent-running`},
		{"nothing where its members have exited", []branch{{root: root, known: []int{51, 99}}}, `
			51 zombie            |`},
		{"a known member that follows live work by now stays", []branch{{root: root, known: []int{51, 52}}}, `
			40                   |
			51 M=40              | spared parent-running
			  53                 | spared parent-running
			52                   | of 50`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := draw(t, c.picture)
			r, g := growAll(t, d.rows, platform.System{PID: planSelf, UID: planUser}, func(*match.Judgement) []branch { return c.branches })
			checkFates(t, d, r, g)
		})
	}
}

func TestWhySomethingIsSpared(t *testing.T) {
	d := draw(t, `
		40
		50 M=42
		  51
		    52 S=40
		      53`)
	_, g := growAll(t, d.rows, platform.System{PID: planSelf, UID: planUser}, nil)
	for pid, want := range map[int]match.Verdict{
		50: {Rule: "follower", Reason: match.HostsLiveWork, Detail: "hosts 52, which follows 40 (S), which is running"},
		51: {Rule: "follower", Reason: match.HostsLiveWork, Detail: "hosts 52, which follows 40 (S), which is running"},
		52: {Rule: "session", Reason: match.ParentRunning, Detail: "follows 40 (S), which is running"},
		53: {Rule: "follower", Reason: match.ParentRunning, Detail: "below 52, which follows 40 (S), which is running"},
	} {
		got := g.spared[pid]
		if got.Orphan || got.PID != pid || got.Start != uint64(pid)*10 || got.Blocker != 40 || got.Rule != want.Rule || got.Reason != want.Reason || got.Detail != want.Detail {
			t.Errorf("%d: %+v, want %+v", pid, got, want)
		}
	}
}

func TestWholeGroups(t *testing.T) {
	d := draw(t, `
		50
		  51 group:50
		60
		  61 group:60
		  62 group:60 zombie
		70 group:1
		71 group:0
		80 group:80`)
	table := match.NewTable(d.rows)
	set := map[int]bool{}
	for _, pid := range []int{50, 60, 61, 70, 71, 80} {
		set[pid] = true
	}
	whole := wholeGroups(table, set, 80)
	var got []int
	for pgid, is := range whole {
		if is {
			got = append(got, pgid)
		}
	}
	// A live process of the same session could join the group at any moment.
	table.Get(51).SID, table.Get(61).SID, set[51] = 60, 60, true
	if whole := wholeGroups(table, set, 80); !whole[60] {
		t.Error("a member of the set in the session spoils the group")
	}
	delete(set, 51)
	if whole := wholeGroups(table, set, 80); whole[60] {
		t.Error("whole, though somebody else lives in its session")
	}
	if want := []int{60}; !slices.Equal(got, want) {
		t.Errorf("whole groups %v, want %v: not one with a member outside, 0, 1 or the sweeper's own", got, want)
	}
}
