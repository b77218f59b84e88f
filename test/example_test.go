//go:build linux

package test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
)

// exampleFile is the text of rules.example.yaml.
func (l *Lab) exampleFile() string {
	l.t.Helper()
	text, err := os.ReadFile("../rules.example.yaml")
	l.must(err)
	return string(text)
}

// useExample makes a copy of rules.example.yaml the lab's rules: as it is but
// for the lab's adopter, in the line that shows where adopters go, and for what
// the pairs replace.
func (l *Lab) useExample(pairs ...string) {
	l.t.Helper()
	text := l.exampleFile()
	pairs = append([]string{"# adopters: [my-host-daemon]", "adopters: [" + initName + "]"}, pairs...)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			l.t.Fatalf("rules.example.yaml has no %q", pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	l.rules = l.File("rules.example.yaml", text)
}

// fake is a process with this command line and these entries.
func fake(command string, env ...string) Spec {
	return Spec{Role: "idle", Argv: strings.Fields(command), Env: env}
}

// lost is one that leads its session and was adopted.
func (l *Lab) lost(command string, env ...string) Proc {
	l.t.Helper()
	s := fake(command, env...)
	s.Adopted, s.Leader = true, true
	return l.Start(s)
}

// held is one below the test.
func (l *Lab) held(command string, env ...string) Proc {
	l.t.Helper()
	s := fake(command, env...)
	s.Leader = true
	return l.Start(s)
}

// above is one that has the specs as its children, adopted itself.
func (l *Lab) above(command string, env []string, specs ...Spec) (Proc, []Proc) {
	l.t.Helper()
	return l.Forker(Spec{Argv: strings.Fields(command), Env: env, Adopted: true, Leader: true}, "once", specs...)
}

// below is a spec with a child of its own.
func (l *Lab) below(command string, child Spec) Spec {
	l.t.Helper()
	return Spec{Role: "forker", Args: []string{"once", l.launches(child)}, Argv: strings.Fields(command)}
}

// The file loads as it is, with another beside it that adds an adopter.
func TestExampleAsItIs(t *testing.T) {
	lab := newSerialLab(t)
	file := lab.File("rules.example.yaml", lab.exampleFile())
	lab.Rules(lab.DefaultRule())
	dead := strconv.Itoa(lab.Dead())
	orphan := lab.lost("node --import tsx /x/daemon/main.ts --port 0", "PI_ROOST_PARENT_PID="+dead)
	home := lab.lost("node --import tsx /x/daemon/main.ts --port 1", "PI_ROOST_HOME=/tmp/roost-"+lab.Tag)
	lab.Spared(lab.DryRun("--rules", file), home, "not-adopted")
	res := lab.Sweep("--rules", file, "--rules", lab.rules)
	lab.Stopped(res, orphan, Through("follows"))
	lab.Stopped(res, home, Through("adopted"))
}

// test-run: what a run left goes, by its pid wherever it hangs, by its home once
// adopted; a live run and the daemon of one's own stay.
func TestExampleTestRun(t *testing.T) {
	lab := newSerialLab(t)
	lab.useExample()
	dead, live := fmt.Sprintf("PI_ROOST_PARENT_PID=%d", lab.Dead()), fmt.Sprintf("PI_ROOST_PARENT_PID=%d", lab.Live().PID)
	home := "PI_ROOST_HOME=/tmp/roost-" + lab.Tag
	daemon, own := lab.above("node --import tsx /x/daemon/main.ts --port 0", []string{dead, home}, fake("node /x/dist/daemon/main.js --port 1", dead), fake("node /x/job.js"))
	host := lab.lost("node --import tsx /x/host/main.ts", dead)
	agent := lab.held("node --import tsx /x/stress/agent.ts 7", dead)
	homeOnly := lab.lost("node --import tsx /x/host/main.ts --home", home)
	spared := map[string][]Proc{
		"parent-running": {lab.lost("node --import tsx /x/daemon/main.ts --live", live, home), lab.held("node --import tsx /x/stress/agent.ts --live", live)},
		"not-adopted":    {lab.held("node --import tsx /x/host/main.ts --held", home)},
	}
	untouched := []Proc{
		lab.lost("node /x/dist/daemon/main.js --port 2", dead, home),
		lab.lost("node --import tsx /x/daemon/main.ts --elsewhere", "PI_ROOST_HOME=/srv/roost-1"),
		lab.lost("node --import tsx /x/daemon/main.ts --unmarked"),
		lab.lost("node --import tsx /x/daemon/main.ts --opt-out", "PI_ROOST_PARENT_PID="),
		lab.lost("node /x/daemon/main.tsx", dead),
	}
	res := lab.Sweep()
	lab.Stopped(res, daemon, Through("follows"))
	lab.Stopped(res, own[1])
	lab.LeftBehind(res, own[0], "protected")
	lab.Stopped(res, host, Through("follows"))
	lab.Stopped(res, agent, Through("follows"))
	lab.Stopped(res, homeOnly, Through("adopted"))
	for reason, all := range spared {
		for _, p := range all {
			lab.Spared(res, p, reason)
		}
	}
	for _, p := range untouched {
		lab.Untouched(res, p)
	}
	if res.Exit != 0 {
		t.Errorf("status %d", res.Exit)
	}
}

// helpers are what one worker starts.
type helpers struct {
	owner                            Proc
	uvx, uv, python, session, server Proc
}

func (h helpers) all() []Proc { return []Proc{h.uvx, h.uv, h.python, h.session, h.server} }

// helpersBelow starts helpers below a process with this command line.
func (l *Lab) helpersBelow(owner string, n int) helpers {
	l.t.Helper()
	data := fmt.Sprintf("--data-dir /h/chroma.%s.%d", l.Tag, n)
	python := "/h/venv/bin/python /h/venv/bin/chroma-mcp --client-type persistent " + data
	uv := "uv tool uvx --python 3.13 chroma-mcp==0.2.6 --client-type persistent " + data
	uvx := l.below("uvx --python 3.13 chroma-mcp "+data, l.below(uv, fake(python)))
	session := fake(fmt.Sprintf("claude --output-format stream-json --verbose --resume %s.%d", l.Tag, n))
	server := fake(fmt.Sprintf("node /h/plugin/scripts/mcp-server.cjs %s.%d", l.Tag, n))
	p, below := l.above(fmt.Sprintf("%s %s.%d", owner, l.Tag, n), nil, uvx, session, server)
	return helpers{p, below[0], l.Find(strings.Fields(uv)...), l.Find(strings.Fields(python)...), below[1], below[2]}
}

const workerCommand = "bun /h/plugin/scripts/worker-service.cjs --daemon"

// worker-helpers: below a running worker they stay; without one all go, each
// launcher in one tree with its payload; below a shell they stay.
func TestExampleWorkerHelpers(t *testing.T) {
	lab := newSerialLab(t)
	lab.useExample()
	owned, typed := lab.helpersBelow(workerCommand, 1), lab.helpersBelow("bash -i", 2)
	worker := lab.lost("node /h/worker-service.cjs --without-helpers")
	res := lab.Sweep()
	for _, p := range owned.all() {
		if s := lab.Spared(res, p, "owned"); s.Detail != fmt.Sprintf("owned by bun (%d), which is running", owned.owner.PID) {
			t.Errorf("%s: %s", p, s.Detail)
		}
	}
	for _, p := range typed.all() {
		lab.Spared(res, p, "owned")
	}
	lab.Untouched(res, owned.owner)
	lab.Kill(owned.owner)
	res = lab.Sweep()
	for _, p := range owned.all() {
		lab.Stopped(res, p, Through("unowned"))
	}
	for _, p := range []Proc{owned.uvx, owned.uv, owned.python} {
		if o, _ := res.member(p); o == nil || o.PID != owned.uvx.PID || len(o.Members) != 3 {
			t.Errorf("%s is not in the one tree of its launcher: %s", p, res.Stdout)
		}
	}
	for _, p := range typed.all() {
		lab.Spared(res, p, "owned")
	}
	lab.Untouched(res, typed.owner)
	lab.Untouched(res, worker)
}

// Twenty restarts of the worker leave exactly its present helper, whole.
func TestExampleWorkerRestarts(t *testing.T) {
	lab := newSerialLab(t)
	lab.useExample()
	start := func(n int) (worker Proc, tree []Proc) {
		t.Helper()
		python := strings.Fields(fmt.Sprintf("python /h/venv/bin/chroma-mcp --data-dir /h/chroma.%s.%d", lab.Tag, n))
		uvx := lab.below(fmt.Sprintf("uvx chroma-mcp --data-dir /h/chroma.%s.%d", lab.Tag, n), Spec{Role: "idle", Argv: python})
		worker, below := lab.Forker(Spec{Argv: strings.Fields(workerCommand), Leader: true}, "once", uvx)
		return worker, append(below, lab.Find(python...))
	}
	var past []Proc
	worker, now := start(0)
	for n := 1; n <= 20; n++ {
		lost := now
		past = append(past, lost...)
		lab.Kill(worker)
		worker, now = start(n)
		res := lab.Sweep("--only", "worker-helpers")
		for i := range now {
			lab.Stopped(res, lost[i], Through("unowned"))
			lab.Spared(res, now[i], "owned")
		}
		if len(res.Doc.Orphans) != 1 || len(res.Doc.Spared) != 2 || res.Exit != 0 {
			t.Fatalf("restart %d: %d orphans, %d spared, status %d", n, len(res.Doc.Orphans), len(res.Doc.Spared), res.Exit)
		}
	}
	for _, p := range past {
		if p.Running() {
			t.Errorf("%s is left", p)
		}
	}
}

// worker-helpers-too-big: over the bound they go, owned or not; what uses a
// terminal stays. The bound of the file, 2GiB, is far from what these hold; a
// copy sets one that every process passes.
func TestExampleWorkerHelpersTooBig(t *testing.T) {
	lab := newSerialLab(t)
	lab.useExample()
	owned := lab.helpersBelow(workerCommand, 1)
	s := fake("claude --resume " + lab.Tag)
	s.TTY, s.Leader = lab.Terminal(), true
	typed := lab.Start(s)
	if show := lab.Run(Run{Command: "rules", Args: []string{"show", "--rules", lab.rules}, Text: true, Status: 0}); !strings.Contains(show.Stdout, "over: 2GiB\n") {
		t.Errorf("%s", show.Stdout)
	}
	for _, p := range owned.all() {
		lab.Spared(lab.DryRun(), p, "owned")
	}
	lab.useExample("over: 2GiB", "over: 4KiB")
	res := lab.Sweep()
	for _, p := range owned.all() {
		lab.Stopped(res, p, Through("over"))
	}
	lab.Spared(res, typed, "on-terminal")
	lab.Untouched(res, owned.owner)
}

// supervised: named with its identity, and left running.
func TestExampleSupervised(t *testing.T) {
	lab := newSerialLab(t)
	lab.useExample()
	daemon, below := lab.above("/h/bin/agent-daemon --socket /h/s", []string{fmt.Sprintf("AGENT_SUPERVISOR_PID=%d", lab.Dead())}, Spec{Argv: lab.Sleep(900)})
	owned := lab.lost("/h/bin/agent-daemon --owned", fmt.Sprintf("AGENT_SUPERVISOR_PID=%d", lab.Live().PID))
	canary, notes := lab.Canary(Spec{Argv: strings.Fields("/h/bin/agent-daemon --canary"), Env: []string{fmt.Sprintf("AGENT_SUPERVISOR_PID=%d", lab.Dead())}, Leader: true})
	left := lab.lost("node /x/host/main.ts", fmt.Sprintf("PI_ROOST_PARENT_PID=%d", lab.Dead())) // so that there is something to stop
	res := lab.Sweep("--max", "1")                                                              // what is only reported does not count
	lab.Stopped(res, left)
	for _, p := range []Proc{daemon, canary} {
		lab.Ended(res, p, "reported", Through("follows"))
		if o, _ := res.member(p); o == nil || o.PID != p.PID || o.Start != p.Start || o.Action != "report" || o.Rule != "supervised" {
			t.Errorf("%s: %+v", p, o)
		}
	}
	lab.Spared(res, owned, "parent-running")
	if got := notes(); len(got) > 0 || !daemon.Running() || !below[0].Running() || res.Exit != 0 {
		t.Errorf("noted %v, %s, %s, status %d", got, daemon.State(), below[0].State(), res.Exit)
	}
}
