package match

import (
	"slices"
	"testing"

	"reaper/platform"
)

const anyJob = "marker: [H], orphan: [adopted]"

// job is the process that the tests of adoption are about.
func job(traits ...trait) platform.Process {
	return proc(50, append([]trait{mark("H=1")}, traits...)...)
}

// pid1 is a process of that number; as comm and argv[0] say, an init or not.
func pid1(command, name string) platform.Process {
	return proc(1, parent(0), user(0), start(1), argv(command), comm(name))
}

func TestKnownInitsAdopt(t *testing.T) {
	// Both names count: a script called init runs as comm "init" and argv[0] "/bin/sh".
	for _, name := range []string{"systemd", "init", "tini", "tini-static", "dumb-init", "docker-init", "podman-init", "catatonit",
		"s6-svscan", "s6-linux-init", "runit", "runit-init", "openrc-init", "procd", "dinit", "finit", "shepherd"} {
		t.Run(name, func(t *testing.T) {
			main := proc(20) // the oldest child, that a one-program init runs
			is := func(first platform.Process, want judged) {
				t.Helper()
				checkJudged(t, table(first, main, job()).judge(t, rulesOf(t, anyJob)), 50, want)
			}
			is(pid1("/sbin/"+name, name), orphan(Adopted, "adopted by "+name+" (1)"))
			is(pid1("/bin/sh", name), spared(NotAdopted, "its parent is sh (1)"))
			is(pid1("/sbin/"+name, "sh"), spared(NotAdopted, "its parent is "+name+" (1)"))
			is(pid1("/opt/not-"+name, "not-"+name), spared(NotAdopted, "not-"+name))
		})
	}
}

func TestOneProgramInits(t *testing.T) {
	for _, name := range []string{"tini", "tini-static", "dumb-init", "docker-init", "podman-init", "catatonit"} {
		t.Run(name, func(t *testing.T) {
			first := pid1("/sbin/"+name, name)
			checkJudged(t, table(first, job(), proc(60)).judge(t, rulesOf(t, anyJob)), 50, spared(NotAdopted, "is the program that "+name+" (1) runs"))
			checkJudged(t, table(first, job(), proc(40)).judge(t, rulesOf(t, anyJob)), 50, orphan(Adopted, name+" (1)"))
		})
	}
}

func TestAdopted(t *testing.T) {
	manager := func(traits ...trait) platform.Process {
		return proc(30, append([]trait{argv("/usr/lib/systemd/systemd", "--user")}, traits...)...)
	}
	relay := func(traits ...trait) platform.Process {
		return proc(30, append([]trait{argv("/init"), comm("Relay(31)")}, traits...)...)
	}
	young := proc(60, parent(30))
	old := proc(40, parent(30))
	checkRulings(t, []string{anyJob}, []ruling{
		{"by pid 1 that is an init", nil, table(job()), orphan(Adopted, "adopted by init (1)")},
		{"by an init that shows its run level", nil, table(pid1("init [2]", "init"), job()), orphan(Adopted, "init [2] (1)")},
		{"by a process that is no adopter", nil, table(job(parent(40)), proc(40)), spared(NotAdopted, "its parent is node (40)")},
		{"by an application that is merely called init", nil, table(job(parent(30)), proc(30, argv("/tmp/init"))), spared(NotAdopted, "init (30)")},

		{"by the user's own service manager", nil, table(job(parent(30)), manager()), orphan(Adopted, "systemd --user (30)")},
		{"by what is called like it and whose executable is another", nil, table(job(parent(30)), manager()).but(program(30, platform.No)), spared(NotAdopted, "systemd --user (30)")},
		{"by it, whose executable may not be read", nil, table(job(parent(30)), manager()).but(program(30, platform.Unknown)), orphan(Adopted, "systemd --user (30)")},
		{"by what is called like it by its arguments alone", nil, table(job(parent(30)), manager(comm("python3"))), spared(NotAdopted, "systemd --user (30)")},
		{"by another user's", nil, table(job(parent(30)), manager(user(me+1))), spared(NotAdopted, "systemd --user (30)")},
		{"by something called systemd", nil, table(job(parent(30)), proc(30, argv("/tmp/systemd"))), spared(NotAdopted, "systemd (30)")},
		{"by what only says --user", nil, table(job(parent(30)), proc(30, argv("/bin/my-systemd", "--user"))), spared(NotAdopted, "my-systemd")},
		{"by what says it in a longer word", nil, table(job(parent(30)), proc(30, argv("systemd", "--user-unit=x"))), spared(NotAdopted, "systemd")},
		{"by what only has its comm", nil, table(job(parent(30)), proc(30, argv("python3", "--user"), comm("systemd"))), spared(NotAdopted, "python3")},

		{"by WSL's relay", nil, table(job(parent(30)), relay(), old), orphan(Adopted, "init (30)")},
		{"by WSL's relay under its other names", nil, table(job(parent(30)), relay(comm("init(31)")), old), orphan(Adopted, "init (30)")},
		{"by an interpreter that poses as one", nil, table(job(parent(30)), relay(argv("/usr/bin/init"), comm("init")), old), spared(NotAdopted, "init (30)")},
		{"by a relay of another comm", nil, table(job(parent(30)), relay(comm("sh")), old), spared(NotAdopted, "init (30)")},
		{"by WSL's pid 1", nil, table(pid1("/init", "init"), proc(20), job()), orphan(Adopted, "init (1)")},

		{"a relay's oldest child is what it runs", nil, table(job(parent(30)), relay(), young), spared(NotAdopted, "is the program that init (30) runs")},
		{"a one-program init's oldest child is what it runs", nil, table(pid1("/usr/bin/tini", "tini"), job(), proc(60)), spared(NotAdopted, "is the program that tini (1) runs")},
		{"with a younger one the other way round", nil, table(pid1("/usr/bin/tini", "tini"), job(), proc(40)), orphan(Adopted, "tini (1)")},
		{"within one tick the lower pid is the older", nil, table(pid1("tini", "tini"), job(), proc(60, start(500))), spared(NotAdopted, "runs")},
		{"and the higher pid the younger", nil, table(pid1("tini", "tini"), job(), proc(40, start(500))), orphan(Adopted, "tini")},
		{"a sibling of unknown age is no older one", nil, table(pid1("tini", "tini"), job(), proc(40, start(0))), spared(NotAdopted, "runs")},
		{"an init of many programs adopts its oldest child too", nil, table(job(start(2))), orphan(Adopted, "init (1)")},

		{"a parent outside of the namespace", nil, table(job(parent(0))), spared(UnknownReason, "outside this pid namespace")},
		{"a parent that is missing", nil, table(job(parent(49))), spared(UnknownReason, "its parent 49 cannot be seen")},
		{"a parent that has exited", nil, table(job(parent(30)), proc(30, zombie)), spared(UnknownReason, "its parent 30 is exiting")},
		{"a parent whose leader has exited", nil, table(job(parent(30)), manager(halfway)), spared(UnknownReason, "its parent 30 is exiting")},
		{"a parent younger than its child", nil, table(job(parent(30)), manager(start(501))), spared(UnknownReason, "its parent 30 is younger")},
		{"a parent born within the same tick", nil, table(job(parent(30)), manager(start(500))), orphan(Adopted, "systemd --user")},
		{"a process of unknown age", nil, table(job(start(0))), spared(UnknownReason, "younger")},
		{"a parent without a command line", nil, table(job(parent(30)), proc(30, noArgv)), spared(UnknownReason, "cannot be told from an adopter")},
		{"pid 1 without a command line", nil, table(proc(1, parent(0), start(1), noArgv), job()), spared(UnknownReason, "cannot be told from an adopter")},
		{"pid 1 that is its own parent", nil, table(proc(1, parent(1), start(1), argv("init")), job()), spared(UnknownReason, "cycle")},
		{"a cycle of parents", nil, table(job(parent(52)), proc(51, parent(50)), proc(52, parent(51), start(1))), spared(UnknownReason, "cycle")},
		{"below a cycle of parents", nil, table(job(parent(40)), proc(40, parent(41)), proc(41, parent(40))), spared(UnknownReason, "cycle")},
	})
}

func TestAdoptersOfTheRulesFile(t *testing.T) {
	adopters := func(list string) *Rules {
		rules := rulesOf(t, anyJob)
		rules.Adopters = []string{list}
		return rules
	}
	long := "a-very-long-subreaper-name"
	below := func(traits ...trait) *scene { return table(job(parent(30)), proc(30, traits...)) }
	for _, c := range []struct {
		name, adopter string
		scene         *scene
		want          judged
	}{
		{"by argv[0]'s last part", "runner", below(argv("/opt/bin/runner"), comm("other")), orphan(Adopted, "runner (30)")},
		{"by comm", "runner", below(argv("python3", "x"), comm("runner")), orphan(Adopted, "python3 (30)")},
		{"by comm, without a command line", "runner", below(noArgv, comm("runner")), orphan(Adopted, "runner (30)")},
		{"by comm, of which the kernel keeps 15 bytes", long, below(argv("python3"), comm(long[:15])), orphan(Adopted, "python3 (30)")},
		{"by argv[0], of which nothing is cut", long[:15], below(argv("/opt/"+long), comm("python3")), spared(NotAdopted, long)},
		{"not by a prefix", "run", below(argv("runner")), spared(NotAdopted, "runner")},
		{"not by another argument", "runner", below(argv("python3", "runner")), spared(NotAdopted, "python3")},
		{"pid 1 that is no init", "python3", table(pid1("python3", "python3"), job()), orphan(Adopted, "python3 (1)")},
		{"pid 1 with a shell's argv and the name as comm", "entry.sh", table(pid1("/bin/sh", "entry.sh"), job()), orphan(Adopted, "sh (1)")},
		{"a one-program init in between runs its oldest child", "tini", below(argv("tini", "-s")), spared(NotAdopted, "is the program that tini (30) runs")},
	} {
		t.Run(c.name, func(t *testing.T) {
			checkJudged(t, c.scene.judge(t, adopters(c.adopter)), 50, c.want)
		})
	}
}

// TestSessionLeaderGone: below a pid 1 that is no init, one thing proves that the
// parent has died.
func TestSessionLeaderGone(t *testing.T) {
	runner := proc(1, parent(0), group(1), session(1), start(1), argv("node", "vitest.mjs"))
	checkRulings(t, []string{anyJob}, []ruling{
		{"gone", nil, table(runner, job(session(45))), orphan(Adopted, "its session's leader 45 is gone")},
		{"a zombie", nil, table(runner, job(session(45)), proc(45, zombie)), orphan(Adopted, "45 is gone")},
		{"alive", nil, table(runner, job(session(45)), proc(45)), spared(NotAdopted, "its parent is node (1)")},
		{"cannot be told", nil, table(runner, job(session(45))).but(holder(45, platform.Liveness{})), spared(NotAdopted, "node (1)")},
		{"it is the leader itself", nil, table(runner, job(session(50))), spared(NotAdopted, "node (1)")},
		{"pid 1's own session", nil, table(runner, job(session(1))), spared(NotAdopted, "node (1)")},
		{"pid 1's own session, led by one outside", nil, table(proc(1, parent(0), session(7), start(1), argv("node")), job(session(7))), spared(NotAdopted, "node (1)")},
		{"a session from outside the namespace is not gone", nil, table(runner, job(session(0))), spared(NotAdopted, "node (1)")},
		{"a group's leader that is gone proves nothing", nil, table(runner, job(session(1), group(45))), spared(NotAdopted, "node (1)")},
		{"nor does a session below another parent", nil, table(runner, job(parent(40), session(45)), proc(40)), spared(NotAdopted, "node (40)")},
	})
}

func TestUnowned(t *testing.T) {
	rules := []string{"command: [server.js], marker: none, orphan: [unowned: vitest run]"}
	server := func(pid int, traits ...trait) platform.Process {
		return proc(pid, append([]trait{argv("node", "/x/server.js")}, traits...)...)
	}
	owner := func(pid int, traits ...trait) platform.Process {
		return proc(pid, append([]trait{argv("node", "vitest", "run")}, traits...)...)
	}
	launcher := func(traits ...trait) platform.Process {
		return proc(40, append([]trait{argv("npm", "exec", "server.js")}, traits...)...)
	}
	manager := proc(30, argv("systemd", "--user"))
	subreaper := func(traits ...trait) platform.Process { return proc(30, append([]trait{argv("/init")}, traits...)...) }
	marked := []string{"marker: [H], orphan: [unowned: vitest run]"}
	checkRulings(t, rules, []ruling{
		{"below an adopter", nil, table(server(50)), orphan(Unowned, "no running vitest run above it, adopted by init (1)")},
		{"below its owner", nil, table(server(50, parent(40)), owner(40)), spared(Owned, "owned by node (40)")},
		{"a launcher and its payload are one", nil, table(server(50, parent(40)), launcher()), orphan(Unowned, "adopted by init (1)")},
		{"with an owner above both", nil, table(server(50, parent(40)), launcher(parent(30)), owner(30)), spared(Owned, "owned by node (30)")},
		{"with a terminal's shell above both", nil, table(server(50, parent(40)), launcher(parent(30)), proc(30, argv("bash"))), spared(Owned, "below bash (30)")},
		{"below a stranger that runs", nil, table(server(50, parent(40)), proc(40)), spared(Owned, "below node (40)")},
		{"the owner above the adopter", nil, table(server(50, parent(30)), manager, owner(20)).but(func(s *scene) { s.rows[1].PPID = 20 }), spared(Owned, "owned by node (20)")},
		{"the owner above the adopter, its leader exited", nil, table(server(50, parent(30)), manager, owner(20, halfway)).but(func(s *scene) { s.rows[1].PPID = 20 }), spared(Owned, "owned by node (20)")},
		{"an owner that has exited owns nothing", nil, table(server(50, parent(30)), manager, owner(20, zombie)).but(func(s *scene) { s.rows[1].PPID = 20 }), orphan(Unowned, "systemd --user (30)")},
		{"an owner elsewhere owns nothing", nil, table(server(50), owner(40)), orphan(Unowned, "init (1)")},
		{"the adopter of the launcher decides, not that of others", nil, table(server(50, parent(40)), launcher(parent(30)), manager), orphan(Unowned, "systemd --user (30)")},
		{"a subreaper that is not known", nil, table(server(50, parent(30)), subreaper(argv("hostd"))), spared(Owned, "below hostd (30)")},

		{"an ancestor whose command cannot be read", nil, table(server(50, parent(30)), manager, proc(20, noArgv)).but(func(s *scene) { s.rows[1].PPID = 20 }), spared(UnknownReason, "the command of its ancestor node (20)")},
		{"an ancestor that cannot be seen", nil, table(server(50, parent(30)), proc(30, parent(19), argv("systemd", "--user"))), spared(UnknownReason, "cannot be seen")},
		{"a parent that cannot be seen", nil, table(server(50, parent(49))), spared(UnknownReason, "cannot be seen")},
		{"a parent outside of the namespace", nil, table(server(50, parent(0))), spared(UnknownReason, "outside")},
		{"a launcher's parent that is exiting", nil, table(server(50, parent(40)), launcher(parent(30)), proc(30, halfway)), spared(UnknownReason, "30 is exiting")},
		{"a cycle of parents", nil, table(server(50, parent(52)), server(51, parent(50)), server(52, parent(51), start(1))), spared(UnknownReason, "cycle")},

		{"a marked launcher", marked, table(job(parent(40)), proc(40, mark("H=2"))), orphan(Unowned, "init (1)")},
		{"an unmarked one is a stranger", marked, table(job(parent(40)), proc(40)), spared(Owned, "node (40)")},
		{"a marked shell on a terminal is in use, no launcher", marked, table(job(parent(40), session(40)), proc(40, argv("zsh"), mark("H=2"), foreground)), spared(Owned, "below zsh (40)")},
		{"a marked multiplexer is no launcher", marked, table(job(parent(40)), proc(40, argv("tmux"), mark("H=2"))), spared(Owned, "below tmux (40)")},
		{"nor is a pane of one", marked, table(job(parent(40)), proc(40, argv("zsh"), parent(30), mark("H=2")), proc(30, argv("tmux"), mark("H=2"))), spared(Owned, "below zsh (40)")},
		{"nor one that may be marked or not", []string{"marker: [H=/a/*], orphan: [unowned: vitest run]"},
			table(proc(50, parent(40), mark("H=/a/x")), proc(40, mark("H=/a/x"), mark("H=/b/x"))), spared(Owned, "node (40)")},
		{"nor a launcher of another user", marked, table(job(parent(40)), proc(40, mark("H=2"), user(0))), spared(Owned, "node (40)")},
	})
}

func TestAdoptedIsAskedForMembersOfGroups(t *testing.T) {
	j := table(proc(50), proc(51, parent(50)), proc(52, parent(49))).judge(t, rulesOf(t, anyJob))
	var adopted []int
	for _, p := range j.judge.world.Table.Rows() {
		if j.Adopted(&p) {
			adopted = append(adopted, p.PID)
		}
	}
	if want := []int{50, 800}; !slices.Equal(adopted, want) {
		t.Errorf("adopted: %v, want %v", adopted, want)
	}
}
