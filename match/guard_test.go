package match

import (
	"strings"
	"testing"

	"reaper/platform"
)

// orphaned is a process that the rule of these tests proves, but for a guard.
func orphaned(traits ...trait) platform.Process {
	return proc(50, append([]trait{mark("M=42")}, traits...)...)
}

func TestNeverTouched(t *testing.T) {
	byCommand := []string{"command: [job.js], marker: [M], orphan: [follows: M]"}
	other := []string{"command: [other.js], marker: [M], orphan: [follows: M]"}
	no, unknown := platform.No, platform.Unknown
	checkRulings(t, []string{follower}, []ruling{
		{"nothing in the way", nil, table(orphaned()), orphan(Follows, "42")},
		{"a kernel thread", nil, table(orphaned(kernel)), spared(Protected, "a kernel thread")},
		{"another sweep", nil, table(orphaned(argv("/usr/bin/reaper", "--log-level", "debug", "sweep"))), spared(Sweeper, "another running sweep")},
		{"another sweep by the name that this one was installed under", nil,
			table(orphaned(argv("/opt/tidy", "sweep"))).but(func(s *scene) { s.rows[2].Argv = []string{"tidy", "sweep"} }), spared(Sweeper, "another running sweep")},
		{"reaper, whatever this one is called",
			nil, table(orphaned(argv("reaper", "sweep"))).but(func(s *scene) { s.rows[2].Argv = []string{"tidy", "sweep"} }), spared(Sweeper, "another running sweep")},
		{"reaper as a follower's parent is none", nil, table(orphaned(argv("reaper", "run", "--", "x"))), orphan(Follows, "42")},
		{"nor where its command sweeps", nil, table(orphaned(argv("reaper", "run", "--", "make", "sweep"))), orphan(Follows, "42")},
		{"nor is something else that sweeps", nil, table(orphaned(argv("minesweeper", "sweep"))), orphan(Follows, "42")},

		{"another user's", nil, table(orphaned(user(me + 1))), spared(OtherUser, "belongs to user 1001; --all-users would judge it")},
		{"root's, to a user", nil, table(orphaned(user(0))), spared(OtherUser, "user 0")},
		{"another user's with --all-users", nil, table(orphaned(user(me + 1))).but(allUsers), orphan(Follows, "42")},

		{"an environment that cannot be read, where its command matches", byCommand, table(orphaned(unreadable)), spared(EnvUnreadable, "cannot be read")},
		{"where another command is asked for", other, table(orphaned(unreadable)), unmatched},
		{"where no command is asked for", nil, table(orphaned(unreadable)), unmatched},
		{"where no marker is asked for either", []string{"command: [job.js], marker: none, orphan: [adopted]"}, table(orphaned(unreadable)), spared(EnvUnreadable, "cannot be read")},
		{"an environment that was overwritten is no marker", byCommand, table(proc(50, func(p *platform.Process) { p.Env = platform.EnvOverwritten })), unmatched},

		{"another pid namespace", nil, table(orphaned(namespace(no))), spared(OtherNamespace, "another pid namespace")},
		{"a namespace that cannot be told", nil, table(orphaned(namespace(unknown))), spared(UnknownReason, "its pid namespace cannot be read")},

		{"a session leader on a terminal", nil, table(orphaned(background)), spared(OnTerminal, "leads a session")},
		{"what runs in a terminal's foreground", nil, table(orphaned(session(45), foreground)), spared(OnTerminal, "in the foreground")},
		{"a job in a terminal's background", nil, table(orphaned(session(45), background)), orphan(Follows, "42")},
		{"a session leader without a terminal", nil, table(orphaned(session(50))), orphan(Follows, "42")},
	})
}

func TestPIDOneAndTheSweepersOwn(t *testing.T) {
	m := mark("M=42")
	s := bare(
		proc(1, parent(0), start(1), argv("sh"), m), proc(700, m), proc(800, parent(700), m), proc(801, parent(700), m),
		proc(sweeper, parent(800), argv("reaper", "sweep"), m), proc(901, parent(sweeper), m),
	)
	j := s.judge(t, rulesOf(t, follower))
	for pid, want := range map[int]judged{
		1:       spared(Protected, "pid 1 is never touched"),
		700:     spared(Sweeper, "an ancestor of this sweep"),
		800:     spared(Sweeper, "an ancestor of this sweep"),
		sweeper: spared(Sweeper, "this sweep itself"),
		801:     orphan(Follows, "42"),
		901:     orphan(Follows, "42"),
	} {
		checkJudged(t, j, pid, want)
	}
}

// TestTheSweepsPipeline: what reads the sweep's report in its own group, at
// whatever remove; not what else the shell has started.
func TestTheSweepsPipeline(t *testing.T) {
	rows := func(traits ...trait) *scene {
		tee := proc(50, append([]trait{parent(800), group(sweeper), mark("M=42")}, traits...)...)
		s := table(tee, proc(60, parent(800), group(sweeper)))
		s.system.PGID = sweeper
		return s
	}
	piped := func(pid int, in, out, err uint64) setting {
		return func(s *scene) {
			if s.pipes == nil {
				s.pipes = map[int][3]uint64{sweeper: {0, 7, 0}, 60: {7, 8, 0}}
			}
			s.pipes[pid] = [3]uint64{in, out, err}
		}
	}
	reads := spared(Sweeper, "reads what this sweep writes")
	checkRulings(t, []string{follower}, []ruling{
		{"reads its output", nil, rows().but(piped(50, 7, 0, 0)), reads},
		{"reads its errors", nil, rows().but(piped(50, 9, 0, 0), piped(sweeper, 0, 7, 9)), reads},
		{"reads the output of one that reads it", nil, rows().but(piped(50, 8, 0, 0)), reads},
		{"writes to the same pipe", nil, rows().but(piped(50, 0, 7, 0)), orphan(Follows, "42")},
		{"reads another pipe", nil, rows().but(piped(50, 6, 0, 0)), orphan(Follows, "42")},
		{"reads no pipe, as the sweep writes to none", nil, rows().but(piped(50, 0, 0, 0), piped(sweeper, 0, 0, 0)), orphan(Follows, "42")},
		{"writes what the sweep reads", nil, rows().but(piped(50, 0, 6, 0), piped(sweeper, 6, 7, 0)), orphan(Follows, "42")},
		{"cannot be looked at", nil, rows().but(piped(sweeper, 0, 7, 0)), spared(UnknownReason, "whether it reads what this sweep writes")},
		{"cannot be looked at, and the sweep writes to no pipe", nil, rows().but(piped(sweeper, 0, 0, 0)), orphan(Follows, "42")},
		{"another user's", nil, rows(user(0)).but(piped(sweeper, 0, 7, 0)), spared(OtherUser, "")},
		{"of another group", nil, rows(group(50)).but(piped(50, 7, 0, 0)), orphan(Follows, "42")},
	})
}

// TestGuardsInTheirOrder: of several reasons the first of this list is given.
func TestGuardsInTheirOrder(t *testing.T) {
	traits := []struct {
		set    trait
		reason Reason
	}{
		{kernel, Protected},
		{argv("reaper", "sweep", "job.js"), Sweeper},
		{user(0), OtherUser},
		{unreadable, EnvUnreadable},
		{namespace(platform.No), OtherNamespace},
		{argv("tmux", "job.js"), Protected},
		{mark("SYSTEMD_EXEC_PID=50"), Service},
		{foreground, OnTerminal},
	}
	for i := range traits {
		p := orphaned()
		for at := len(traits) - 1; at >= i; at-- { // earlier ones last, for both name a command
			traits[at].set(&p)
		}
		p.Argv = append(p.Argv, "job.js")
		j := table(p).judge(t, rulesOf(t, "command: [job.js], marker: [M], orphan: [follows: M]"))
		checkJudged(t, j, 50, judged{by: string(traits[i].reason)})
	}
}

func TestProtectedServers(t *testing.T) {
	for _, line := range []string{
		"tmux", "tmux: server", "/usr/bin/tmux new -d", "SCREEN -dmS x", "screen", "zellij --server", "dtach -n s", "abduco -n s", "mosh-server new", "ssh-agent -s",
		"gpg-agent --daemon", "dbus-daemon --session", "dbus-broker --log 4", "dbus-broker-launch", "pipewire", "pipewire-pulse", "wireplumber", "pulseaudio --start",
		"emacs --daemon", "emacs --daemon=work", "emacs-29.4 --fg-daemon", "/usr/bin/emacs-gtk --bg-daemon=x", "conmon -c x", "catatonit -P", "podman pause",
		"gnome-terminal-server", "konsole", "xterm", "kitty", "alacritty", "wezterm-gui", "foot", "footserver", "ghostty", "urxvtd", "xfce4-terminal", "terminator",
		"tilix", "ptyxis-agent", "/Applications/iTerm.app/Contents/MacOS/iTerm2", "Terminal",
		"bazel(work) --x", "java -Xmx1g org.gradle.launcher.daemon.bootstrap.GradleDaemon 8.5", "java org.jetbrains.kotlin.daemon.KotlinCompileDaemon",
		"tmate -F", "shpool daemon", "ssh: /run/user/1000/ssh-a@b:22 [mux]", "/usr/bin/ssh -M -S /tmp/c host", "ssh -MNf host", "ssh -fNM -S c host",
		"scdaemon --multi-server", "dirmngr --daemon", "keyboxd --daemon", "/usr/bin/gnome-keyring-daemon --start", "kwalletd6", "rbw-agent", "op daemon --timeout 30s",
		"/usr/lib/git-core/git credential-cache--daemon /home/a/.git-credential-cache/socket", "/usr/lib/git-core/git-credential-cache--daemon s",
		"git fsmonitor--daemon run --detach", "dbus-launch --autolaunch x", "ibus-daemon -d", "fcitx5 -d", "containerd-shim-runc-v2 -namespace moby",
		"watchman --foreground", "sccache", "adb -L tcp:5037 fork-server server",
	} {
		t.Run(line, func(t *testing.T) {
			words := strings.Split(line, " ")
			if line == "tmux: server" || strings.HasPrefix(line, "bazel(") {
				words = []string{line} // a title of blanks is one argument
			}
			checkJudged(t, table(orphaned(argv(words...))).judge(t, rulesOf(t, follower)), 50, spared(Protected, "matches protect: "))
		})
	}
	for _, line := range []string{
		"emacs notes.txt", "catatonit -- node", "podman run x", "java -jar x.jar", "adb shell", "mytmux", "tmuxinator", "node tmux", "vi screen", "ssh host make", "ssh -o ControlMaster=auto -o ControlPersist=60s host make",
		"ssh -oControlMaster=auto host", "ssh -m hmac host", "git fetch", "git credential-cache store", "node [mux]", "op run -- daemon.js", "containerd", "xterm.js", "terminal", "node --daemon",
	} {
		t.Run("not "+line, func(t *testing.T) {
			checkJudged(t, table(orphaned(argv(strings.Split(line, " ")...))).judge(t, rulesOf(t, follower)), 50, orphan(Follows, "42"))
		})
	}
	t.Run("by comm, where the arguments are a title", func(t *testing.T) {
		checkJudged(t, table(orphaned(argv("server"), comm("tmux: server"))).judge(t, rulesOf(t, follower)), 50, spared(Protected, "tmux"))
	})
	t.Run("by the rules file", func(t *testing.T) {
		rules := mustLoad(t, "version: 1\nprotect: [daemon/keep.ts]\nrules:\n  - {name: r1, "+follower+"}\n")
		checkJudged(t, table(orphaned(argv("node", "/x/daemon/keep.ts"))).judge(t, rules), 50, spared(Protected, "matches protect: daemon/keep.ts"))
		checkJudged(t, table(orphaned(argv("node", "/x/daemon/main.ts"))).judge(t, rules), 50, orphan(Follows, "42"))
	})
}

func TestServiceManagersMainProcess(t *testing.T) {
	own, foreign := mark("SYSTEMD_EXEC_PID=50"), func(pid string) trait { return mark("SYSTEMD_EXEC_PID=" + pid) }
	userManager := proc(30, argv("systemd", "--user"))
	yes, no, unknown := platform.Yes, platform.No, platform.Unknown
	checkRulings(t, []string{follower}, []ruling{
		{"its own pid in systemd's mark", nil, table(orphaned(own)), spared(Service, "main process of a systemd service")},
		{"wherever it hangs", nil, table(orphaned(own, parent(40)), proc(40)), spared(Service, "main process")},
		{"the mark of a main process that runs, inherited: the manager says no", nil, table(orphaned(foreign("40")), proc(40)).but(manager(50, no)), orphan(Follows, "42")},
		{"the mark of a stranger that has the number now: the manager says yes", nil, table(orphaned(foreign("40")), proc(40)).but(manager(50, yes)), spared(Service, "says its manager init (1)")},
		{"the mark of one that is gone: the manager says yes", nil, table(orphaned(foreign("41"))).but(manager(50, yes)), spared(Service, "says its manager init (1)")},
		{"the mark of one that is gone: the manager says no", nil, table(orphaned(foreign("41"))).but(manager(50, no)), orphan(Follows, "42")},
		{"the mark of one that is gone: no answer", nil, table(orphaned(foreign("41"))).but(manager(50, unknown)), spared(UnknownReason, "manager does not answer")},
		{"the mark of one that cannot be told: the manager says yes", nil, table(orphaned(foreign("41"))).but(manager(50, yes), holder(41, platform.Liveness{})), spared(Service, "says its manager")},
		{"a mark that names nothing", nil, table(orphaned(foreign("x"))).but(manager(50, yes)), spared(Service, "says its manager")},
		{"no mark: the manager says yes", nil, table(orphaned()).but(manager(50, yes)), spared(Service, "says its manager init (1)")},
		{"no mark: the user's manager says yes", nil, table(orphaned(parent(30)), userManager).but(manager(50, yes)), spared(Service, "says its manager systemd --user (30)")},
		{"no mark, no answer", nil, table(orphaned()).but(manager(50, unknown)), spared(UnknownReason, "manager does not answer")},
		{"no mark, below what only says that it is a manager", nil, table(orphaned(parent(30)), userManager).but(manager(50, unknown), program(30, no)), orphan(Follows, "42")},
		{"what is no manager's child is not asked about", nil, table(orphaned(parent(40)), proc(40)).but(manager(50, unknown)), orphan(Follows, "42")},
		{"nor what another init took in", nil, table(pid1("tini", "tini"), proc(20), orphaned()).but(manager(50, unknown)), orphan(Follows, "42")},
	})
}

// TestInheritedMarkers: what a protected process or a service passed on proves nothing.
func TestInheritedMarkers(t *testing.T) {
	tmux := func(traits ...trait) platform.Process { return proc(30, append([]trait{argv("tmux")}, traits...)...) }
	shell := proc(40, parent(30), argv("bash"))
	beside := []string{"marker: [M, H], orphan: [follows: M, gone: H, adopted]"}
	checkRulings(t, []string{follower}, []ruling{
		{"the same value, in a pane", nil, table(tmux(mark("M=42")), orphaned(parent(30))), spared(Protected, "inherited its marker from tmux (30)")},
		{"the same value, deeper in a pane", nil, table(tmux(mark("M=42")), shell, orphaned(parent(40))), spared(Protected, "inherited its marker from tmux (30)")},
		{"the same value, from a service", nil, table(proc(30, mark("SYSTEMD_EXEC_PID=30"), mark("M=42")), orphaned(parent(30))), spared(Service, "inherited its marker from node (30)")},
		{"the same value, from what may be a service", nil, table(proc(30, mark("M=42")), orphaned(parent(30))).but(manager(30, platform.Unknown)), spared(UnknownReason, "inherited its marker from node (30)")},
		{"stamped anew", nil, table(tmux(mark("M=41")), orphaned(parent(30))), orphan(Follows, "42")},
		{"stamped anew in a pane that inherited", nil, table(tmux(mark("M=41")), proc(40, parent(30), mark("M=41")), orphaned(parent(40))), orphan(Follows, "42")},
		{"stamped in a server that carries none", nil, table(tmux(), shell, orphaned(parent(40))), orphan(Follows, "42")},
		{"another variable of the same value", nil, table(tmux(mark("H=42")), orphaned(parent(30))), orphan(Follows, "42")},
		{"one of two values, so that either may count", nil, table(tmux(mark("M=41")), orphaned(parent(30), mark("M=41"))), spared(Protected, "inherited its marker from tmux (30)")},
		{"from what is not protected", nil, table(proc(30, mark("M=42")), orphaned(parent(30))), orphan(Follows, "42")},
		{"from one that is no ancestor any more", nil, table(tmux(mark("M=42")), orphaned()), orphan(Follows, "42")},
		{"one dropped, another one kept", beside, table(tmux(mark("M=42")), proc(50, parent(30), mark("M=42"), mark("H=/tmp/a"))).but(missing("/tmp/a")), orphan(Gone, "/tmp/a")},
		{"below what could not be read in time", nil, table(tmux(func(p *platform.Process) { p.Detailed = false }), orphaned(parent(30))), spared(UnknownReason, "tmux (30) above it could not be read")},
		{"below a protected one whose environment is hidden", nil, table(tmux(unreadable), orphaned(parent(30))), spared(Protected, "may have inherited its marker from tmux (30)")},
		{"below another one whose environment is hidden", nil, table(proc(30, unreadable), orphaned(parent(30))), orphan(Follows, "42")},
		{"both dropped", beside, table(tmux(mark("M=42"), mark("H=/tmp/a")), proc(50, parent(30), mark("M=42"), mark("H=/tmp/a"))).but(missing("/tmp/a")), spared(Protected, "tmux")},
	})
}

// TestMembersThatAreLeft: what holds for a tree's member, which a terminal or a
// namespace does not keep from going with it.
func TestMembersThatAreLeft(t *testing.T) {
	for _, c := range []struct {
		name   string
		member platform.Process
		want   Reason
	}{
		{"an ordinary process", proc(50), ""},
		{"on a terminal", proc(50, foreground), ""},
		{"in another pid namespace", proc(50, namespace(platform.No)), ""},
		{"with an environment that cannot be read", proc(50, unreadable), ""},
		{"a protected one", proc(50, argv("ssh-agent")), Protected},
		{"a service", proc(50, mark("SYSTEMD_EXEC_PID=50")), Service},
		{"a kernel thread", proc(50, kernel), Protected},
		{"pid 1", proc(1, argv("sh")), Protected},
		{"another user's", proc(50, user(0)), OtherUser},
		{"another user's protected one", proc(50, user(0), argv("tmux")), Protected},
		{"another sweep", proc(50, argv("reaper", "sweep")), Sweeper},
		{"the sweeper's parent", proc(800), Sweeper},
		{"the sweeper", proc(sweeper), Sweeper},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := table(c.member).judge(t, rulesOf(t, follower))
			j.MemberGuard(&c.member)
			for _, f := range j.Needs() {
				j.judge.facts[f] = table(c.member).answer(f)
			}
			if got, detail := j.MemberGuard(&c.member); got != c.want {
				t.Errorf("left for %q (%s), want %q", got, detail, c.want)
			}
		})
	}
	s := table(proc(50, user(0))).but(allUsers)
	if reason, _ := s.judge(t, rulesOf(t, follower)).MemberGuard(&s.rows[0]); reason == OtherUser {
		t.Error("another user's member is left with --all-users")
	}
}
