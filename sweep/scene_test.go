package sweep

import (
	"fmt"
	"strings"

	"reaper/match"
	"reaper/platform"
)

// Scenes are reports as sweeps make them, put together by hand.

const hour, day, mib = 3600.0, 86400.0, uint64(1 << 20)

// drawnTree is an orphan with its tree, as a text with a line for each process:
// its pid, age in hours, MiB and command, indented below its parent.
func drawnTree(rule string, why Why, picture string) Orphan {
	o := Orphan{Rule: rule, PPID: 1, User: "ann", Markers: map[string]string{}, Why: why, Action: match.ActionStop}
	type open struct{ indent, pid int }
	var path []open
	for line := range strings.Lines(picture) {
		text := strings.TrimSpace(line)
		if text == "" {
			continue
		}
		var m Member
		var rss uint64
		var hours float64
		if _, err := fmt.Sscan(text, &m.PID, &hours, &rss); err != nil {
			panic(text)
		}
		_, name, _ := strings.Cut(text, " | ")
		indent := strings.Index(line, text)
		for len(path) > 0 && path[len(path)-1].indent >= indent {
			path = path[:len(path)-1]
		}
		if m.PPID = 1; len(path) > 0 {
			m.PPID = path[len(path)-1].pid
		}
		path = append(path, open{indent, m.PID})
		m.AgeS, m.RSSBytes, m.Command = hours*hour, rss*mib, words(name)
		if o.PID == 0 {
			o.PID, o.AgeS, o.Command = m.PID, m.AgeS, m.Command
		}
		m.Start, m.Parent, m.PGID, m.By, m.Signals, m.Outcome = uint64(m.PID), m.PPID, o.PID, "group", []string{}, WouldStop
		o.RSSBytes += m.RSSBytes
		o.Members = append(o.Members, m)
	}
	o.Start, o.PGID, o.SID, o.Outcome = uint64(o.PID), o.PID, o.PID, WouldStop
	return o
}

// words splits a command as it stands, but for what is within quotes.
func words(command string) []string {
	var argv []string
	for i, part := range strings.Split(command, "'") {
		if i%2 == 1 {
			argv = append(argv, part)
		} else {
			argv = append(argv, strings.Fields(part)...)
		}
	}
	return argv
}

func scene(orphans ...Orphan) *Report {
	r := &Report{Schema: 1, Version: "0.1.0", DryRun: true, Rules: "/home/ann/.config/reaper/rules.yaml", BootID: "b", PIDNamespace: "initial",
		Started: "2026-11-30T19:15:02.000Z", TookMS: 12.4, Census: platform.Counts{Processes: 412, Unreadable: 3, Overwritten: 1},
		Orphans: []Orphan{}, Spared: []Spared{}, LeftBehind: []LeftBehind{}}
	for _, o := range orphans {
		r.add(o)
	}
	return r
}

func (r *Report) spare(pid int, reason match.Reason, detail, command string) *Report {
	r.Spared = append(r.Spared, Spared{pid, uint64(pid), "roost-tests", reason, detail, words(command)})
	return r
}

// end gives every process an outcome after SIGTERM, or another one by its pid.
func (r *Report) end(other map[int]Member) *Report {
	orphans := r.Orphans
	r.DryRun, r.Orphans, r.Totals = false, nil, Totals{}
	for _, o := range orphans {
		tr := &tree{}
		for i := range o.Members {
			m := &o.Members[i]
			m.Outcome, m.Signals, m.TookMS = Stopped, []string{"TERM"}, new(31.5)
			if as, ok := other[m.PID]; ok {
				m.Outcome, m.Signals, m.Detail, m.TookMS = as.Outcome, as.Signals, as.Detail, nil
			}
			tr.targets = append(tr.targets, &target{outcome: m.Outcome})
		}
		o.Outcome = tr.outcome()
		r.add(o)
	}
	if r.Totals.Unconfirmed+r.Totals.Denied > 0 {
		r.Exit = ExitLeft
	}
	return r
}

func follows(pid int, is string) string {
	return fmt.Sprintf("follows %d (PI_ROOST_PARENT_PID), which is %s", pid, is)
}

// usual is a machine on which two runs were killed, next to one that is live.
func usual() *Report {
	dead := Why{match.Follows, follows(41007, "not running")}
	r := scene(
		drawnTree("roost-tests", Why{match.Adopted, "adopted by systemd --user (1203)"}, `
			41300 5 300 | node --import tsx /home/ann/code/roost/src/host/main.ts --session 3f2a
			  41310 5 112 | node --import tsx /home/ann/code/roost/src/agent/main.ts --host 41300 --model tiny --cwd /tmp/roost-x1/repo
			    41311 5 2 | sh -c 'tail -f /tmp/roost-x1/log | grep --line-buffered error'
			      41312 5 1 | tail -f /tmp/roost-x1/log
			      41313 5 1 | grep --line-buffered error`),
		drawnTree("roost-tests", dead, `
			41233 51 512 | node --import tsx /home/ann/code/roost/src/daemon/main.ts --port 0
			  41260 51 48 | /usr/bin/sh /home/ann/code/roost/scripts/watch.sh
			    41261 51 1 | sleep 900`),
		drawnTree("roost-tests", dead, `
			41240 51 210 | node --import tsx /home/ann/code/roost/src/host/main.ts --session 77aa`),
		drawnTree("big", Why{match.Over, "its tree holds 3.2 GiB of PSS and swap, over the rule's 2.0 GiB"}, `
			39001 200 3400 | /opt/jdk/bin/java -Xmx8g -cp /opt/index/lib/lucene.jar:/opt/index/lib/index.jar org.example.Indexer --watch`),
	)
	r.Orphans[3].SwapBytes, r.Idle = 180*mib, []string{"caches"}
	r.Orphans[0].Members[4].By, r.Orphans[0].Members[3].By = "pid", "pid"
	r.spare(50010, match.ParentRunning, follows(50001, "running"), "node --import tsx /home/ann/code/roost/src/daemon/main.ts --port 0")
	r.spare(50011, match.ParentRunning, follows(50001, "running"), "node --import tsx /home/ann/code/roost/src/host/main.ts --session 1")
	r.spare(2200, match.Protected, "matches protect: tmux", "tmux new-session -d -s work")
	r.LeftBehind = append(r.LeftBehind, LeftBehind{Left{41320, 41320, 41300, match.Protected, "matches protect: ssh-agent"}, words("ssh-agent -s")})
	return r
}

// incident is the day that reaper was made for: 30 runs were killed and left 60
// daemons, 150 hosts each with a worker and its child, and 150 agents.
func incident() *Report {
	var all []Orphan
	pid := 20000
	next := func() int { pid += 3; return pid }
	for run := range 30 {
		start := func(picture string, args ...any) {
			why := Why{match.Follows, follows(10000+run, "not running")}
			if len(all)%2 == 1 { // marked by its home alone
				why = Why{match.Adopted, "adopted by systemd --user (1203)"}
			}
			all = append(all, drawnTree("roost-tests", why, fmt.Sprintf(picture, args...)))
		}
		for range 2 {
			start("%d 51 120 | node --import tsx /tmp/roost-%d/src/daemon/main.ts --port %d", next(), run, 40000+pid)
		}
		for range 5 {
			p := next()
			start("%d 51 48 | node --import tsx /tmp/roost-%d/src/host/main.ts\n  %d 50 40 | sh /tmp/roost-%d/worker\n    %d 50 12 | cat /tmp/roost-%d/child", p, run, p+1, run, p+2, run)
		}
		for range 5 {
			start("%d 50.5 30 | node /tmp/roost-%d/src/stress/agent.ts --seed %d", next(), run, pid)
		}
	}
	r := scene(all...)
	for run := range 3 {
		for i := range 12 {
			name := []string{"daemon/main.ts", "host/main.ts", "stress/agent.ts"}[i%3]
			command := fmt.Sprintf("node /tmp/roost-live%d/src/%s", run, name)
			if i%2 == 0 {
				r.spare(60000+20*run+i, match.ParentRunning, follows(59000+run, "running"), command)
			} else {
				r.spare(60000+20*run+i, match.NotAdopted, fmt.Sprintf("its parent is vitest (%d)", 59000+run), command)
			}
		}
	}
	return r.spare(900, match.Protected, "matches protect: mine/daemon/main.ts", "node /home/ann/mine/daemon/main.ts")
}

// unconfirmed is the sweep of usual in which one process outlasted SIGKILL, and one
// was started again by someone outside.
func unconfirmed() *Report {
	r := usual()
	o := &r.Orphans[1]
	again := o.Members[0]
	again.PID, again.Start, again.Parent, again.PGID, again.AgeS = 41999, 41999, 90, 41999, 0
	o.Members = append(o.Members, again)
	return r.end(map[int]Member{
		41999: {Outcome: Unconfirmed, Detail: "started again by supervise (90)"},
		41240: {Outcome: Unconfirmed, Signals: []string{"TERM", "KILL"}, Detail: "still running 1s after SIGKILL (state D)"},
	})
}

// live is a machine on which there is nothing to do.
func live() *Report {
	r := scene()
	for i, name := range []string{"daemon/main.ts", "host/main.ts", "agent/main.ts --a", "agent/main.ts --b", "agent/main.ts --c", "stress/main.ts", "x/main.ts"} {
		r.spare(50010+i, match.ParentRunning, follows(50001, "running"), "node --import tsx /home/ann/code/roost/src/"+name)
	}
	r.spare(300, match.NotAdopted, "its parent is fish (290)", "node /x/host/main.ts")
	r.spare(301, match.TooYoung, "12s old, the rule asks for 10m", "node /x/host/main.ts")
	r.spare(302, match.Undecided, "no test says orphan: HOME_DIR=/tmp/roost-7 exists", "node /x/daemon/main.ts")
	r.spare(303, match.OtherUser, "belongs to user 7; --all-users would judge it", "x")
	return r.spare(304, match.OtherUser, "belongs to user 7; --all-users would judge it", "y")
}

func reported() *Report {
	o := drawnTree("supervised", Why{match.Follows, follows(41007, "not running")}, "41233 2 30 | node daemon/main.ts")
	o.Action, o.Outcome, o.Members[0].Outcome = match.ActionReport, Reported, Reported
	return scene(o)
}

func refused() *Report {
	r := usual()
	r.DryRun, r.Refused, r.Exit = false, "4 orphans are more than --max 1: nothing was stopped", ExitLeft
	return r
}

func cut() *Report {
	r := scene()
	r.Cut, r.Exit = true, ExitLeft
	return r
}

func named() *Report {
	r := scene(drawnTree("", Why{match.Named, "named on the command line"}, "41233 2 30 | node daemon/main.ts\n  41234 2 3 | sleep 900"))
	r.Rules = "built-in default"
	return r.end(nil)
}

// strange is a report on processes with these argument lists, all orphans, the
// first spared as well.
func strange(name string, commands [][]string) *Report {
	r := scene()
	for i, argv := range commands {
		o := drawnTree(name, Why{match.Follows, follows(41007, "not running")}, fmt.Sprintf("%d %d 3 | x", 500+i, 100-i))
		o.Command = command(&platform.Process{Argv: argv, Comm: "noargs"})
		o.Members[0].Command = o.Command
		r.add(o)
	}
	r.Spared = []Spared{{400, 400, name, match.Protected, "matches protect: " + printable(strings.Join(commands[0], " ")), r.Orphans[0].Command}}
	return r
}

var wideCommands = [][]string{
	{"node", "/home/ann/プロジェクト/サーバー/メイン.ts", "--名前", "日本語のとても長い引数がここに続いていきますので途中で切られるはずです"},
	{"python3", "-m", "한국어.서버", "--포트", "8000"},
	{"emoji", "🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂🙂", "❤️", "🇩🇪🇫🇷", "👍🏽"},
	{"combining", strings.Repeat("e\u0301", 60), "a\u0301\u0302\u0303\u0304z"},
	{"עברית", "שלום", "--port", "1"},
	{"ｆｕｌｌｗｉｄｔｈ", "Ελλάδα", "grün"},
}

func hostileCommands() [][]string {
	all := [][]string{nil, {""}, {"", "", ""}, {" "}, {"a b", "  ", "c"}}
	for _, h := range hostile {
		all = append(all, []string{"node", h.text, "/x/main.ts"})
	}
	return append(all, []string{"zalgo", "x" + strings.Repeat("\u0301", 5000), "/x/main.ts"})
}

func longCommands() [][]string {
	return [][]string{
		{"node", "--import", "tsx", "/x/daemon/main.ts", strings.Repeat("x", 1<<20)},
		{"node", strings.Repeat("y", 1<<20), "/x/daemon/main.ts", "--port", "0"},
		{strings.Repeat("/very/long/program", 5000)},
		{"sh", "-c", strings.Repeat("sleep 1; ", 1<<17)},
		append([]string{"xargs"}, strings.Split(strings.Repeat("a ", 1<<19), " ")...),
		{"java", "-cp", strings.Repeat("/opt/lib/some.jar:", 5000), "org.example.Main", "--port", "1"},
		{"node", "/home/ann/a-folder-with-a-name/another-folder-with-a-long-name/and-one-more-of-them/src/daemon/main.ts", "--session", "f00", "--log=/var/log/a/rather/long/path/to/the.log"},
		{"/usr/lib/jvm/java-21/bin/java", "-jar", "/srv/app.jar"},
	}
}
