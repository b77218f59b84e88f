//go:build linux

package test

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// shared-helper: whoever started it is gone, and it stays as long as a session of
// another client hangs below it; the session of a client that is gone goes by
// itself. With the last client all of it goes, also what ignores SIGTERM.
func TestExampleSharedHelper(t *testing.T) {
	lab := newSerialLab(t)
	lab.useExample()
	client := func(p int) string { return fmt.Sprintf("SHARED_CLIENT_PID=%d", p) }
	last := lab.Live()
	gone := fake("/h/bin/helper-session --gone", client(lab.Dead()))
	live := Spec{Role: "deaf", Argv: strings.Fields("/h/bin/helper-session --live"), Env: []string{client(last.PID)}, Leader: true}
	helper, below := lab.above("/h/bin/shared-helper", []string{client(lab.Dead())}, gone, live, Spec{Argv: lab.Sleep(900)})
	lab.eventually("deaf", func() bool { return ignoresTERM(below[1].PID) })
	res := lab.Sweep()
	lab.Spared(res, helper, "hosts-live-work")
	lab.Spared(res, below[1], "parent-running")
	lab.Stopped(res, below[0], Through("follows"))
	if !below[2].Running() || res.Exit != 0 {
		t.Errorf("%s: %s, status %d", below[2], below[2].State(), res.Exit)
	}
	lab.Kill(last)
	res = lab.Sweep("--grace", "100ms")
	lab.Stopped(res, helper, Through("follows"))
	lab.Stopped(res, below[1], With("TERM", "KILL"))
	lab.Stopped(res, below[2])
	if o, _ := res.member(below[1]); o == nil || o.PID != helper.PID {
		t.Errorf("the session is not in the helper's tree: %s", res.Stdout)
	}
}

// A helper is not stopped until each of its members was seen to exit.
func TestExampleSharedHelperUnconfirmed(t *testing.T) {
	lab := newSerialLab(t)
	lab.useExample()
	helper, below := lab.above("/h/bin/shared-helper", []string{fmt.Sprintf("SHARED_CLIENT_PID=%d", lab.Dead())}, Spec{Argv: lab.Sleep(900)})
	release := lab.Unkillable(below[0])
	res := lab.Run(Run{Args: []string{"--grace", "50ms", "--confirm", "50ms"}, Status: 3})
	lab.Ended(res, below[0], "stop-unconfirmed")
	if o, m := res.member(helper); o == nil || m.Outcome != "stopped" || o.Outcome != "stop-unconfirmed" || !below[0].Running() {
		t.Errorf("%s, %s", below[0].State(), res.Stdout)
	}
	release()
	lab.AwaitExit(below[0])
}

func ignoresTERM(pid int) bool {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, mask, _ := strings.Cut(string(raw), "SigIgn:\t")
	bits := uint64(0)
	fmt.Sscanf(mask, "%x", &bits)
	return bits&(1<<14) != 0
}

// aged waits until the process is so many ticks (of 10 ms) old.
func (l *Lab) aged(p Proc, ticks uint64) {
	l.t.Helper()
	l.eventually(fmt.Sprintf("%s is %d ticks old", p, ticks), func() bool {
		up, err := os.ReadFile("/proc/uptime")
		l.must(err)
		var seconds float64
		fmt.Sscan(string(up), &seconds)
		return uint64(seconds*100) >= p.Start+ticks
	})
}

const cookie = "JENKINS_NODE_COOKIE=5e1fc2a0-0c14-4a42-9f0e-1b6f2d3c4e5f"

// ci-jobs: what was adopted goes once it is older than any job; the values by
// which people keep a process are left alone. Six hours are out of a test's
// reach: a copy asks for a tick.
func TestExampleCIJobs(t *testing.T) {
	lab := newSerialLab(t)
	lab.useExample()
	github, jenkins := lab.lost("./server --github", "RUNNER_TRACKING_ID=github_7a6c"), lab.lost("java -jar server.jar", cookie)
	held := lab.held("./server --held", cookie)
	kept := []Proc{
		lab.lost("java -jar kept.jar", "JENKINS_NODE_COOKIE=dontKillMe"), lab.lost("./server --kept", "RUNNER_TRACKING_ID=0"),
		lab.lost("./server --empty", "RUNNER_TRACKING_ID="), lab.lost("./server --unmarked", "GITHUB_WORKSPACE=/nowhere"),
	}
	res := lab.Sweep()
	lab.Spared(res, github, "too-young")
	lab.Spared(res, jenkins, "too-young")
	lab.useExample("older_than: 6h", "older_than: 10ms")
	lab.aged(held, 3)
	res = lab.Sweep()
	lab.Stopped(res, github, Through("adopted"))
	lab.Stopped(res, jenkins, Through("adopted"))
	lab.Spared(res, held, "not-adopted")
	for _, p := range kept {
		lab.Untouched(res, p)
	}
}

// ci-jobs, the job's folder gone: adopted or not. A process may be about to
// create its folder for ten seconds, which pass beside other tests: a copy has
// markers of the lab's own.
func TestExampleCIJobsGone(t *testing.T) {
	lab := newLab(t)
	lab.useExample("RUNNER_TRACKING_ID", "LAB_RUNNER_"+lab.Tag, "GITHUB_WORKSPACE", "LAB_WORKSPACE_"+lab.Tag, "older_than: 6h", "older_than: 10s")
	runner, workspace := "LAB_RUNNER_"+lab.Tag+"=github_7a6c", "LAB_WORKSPACE_"+lab.Tag+"="
	gone := lab.held("./server --gone", runner, workspace+lab.Dir+"/nowhere")
	there := lab.held("./server --there", runner, workspace+lab.Dir)
	lab.aged(gone, 1010)
	res := lab.Sweep("--only", "ci-jobs")
	lab.Stopped(res, gone, Through("gone"))
	lab.Spared(res, there, "not-adopted")
}

// driven-browsers and language-servers: whose driver or editor has died go, with
// all below them, once they are past the time in which one is started.
func TestExampleBrowsersAndLanguageServers(t *testing.T) {
	lab := newSerialLab(t)
	lab.useExample("older_than: 10s", "older_than: 24h", "older_than: 1m", "older_than: 24h") // a busy machine takes its time
	browser, renderer := lab.above("/opt/chrome/chrome --headless --remote-debugging-pipe --user-data-dir=/tmp/x", nil, fake("/opt/chrome/chrome --type=renderer"))
	commands := []string{
		"node /h/bin/typescript-language-server --stdio", "node /h/bin/pyright-langserver --stdio",
		"node /h/bin/bash-language-server start", "node /h/bin/vscode-json-language-server --stdio",
	}
	var servers, held []Proc
	for _, c := range commands {
		servers, held = append(servers, lab.lost(c)), append(held, lab.held(c+" --held"))
	}
	held = append(held, lab.held("/opt/chrome/chrome --remote-debugging-pipe --held"))
	untouched := []Proc{
		lab.lost("/opt/chrome/chrome --remote-debugging-port=9222"), lab.lost("node /h/bin/typescript-language-server --socket=7000"),
		lab.lost("vim /h/bin/bash-language-server"),
	}
	res := lab.Sweep()
	for _, p := range append(servers, browser) {
		lab.Spared(res, p, "too-young")
	}
	lab.useExample("older_than: 10s", "older_than: 10ms", "older_than: 1m", "older_than: 10ms")
	lab.aged(untouched[2], 3)
	res = lab.Sweep()
	for _, p := range append(servers, browser) {
		lab.Stopped(res, p, Through("adopted"))
	}
	lab.Stopped(res, renderer[0])
	for _, p := range held {
		lab.Spared(res, p, "not-adopted")
	}
	for _, p := range untouched {
		lab.Untouched(res, p)
	}
}
