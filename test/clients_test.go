//go:build linux

package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// client is a runner whose set-up is a few lines of the README.
type client struct {
	l    *Lab
	dir  string
	argv []string
}

// client has the files of one run's folder, and the command that runs them with
// LAB_SERVER, a server's seconds, and LAB_HOLD, those that the run takes.
func (l *Lab) client(files map[string]string, argv ...string) client {
	l.t.Helper()
	dir := l.path("client")
	l.must(os.Mkdir(dir, 0o755))
	for name, text := range files {
		l.must(os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	argv[0] = l.needProgram(argv[0])
	return client{l, dir, argv}
}

func (c client) launch(server, hold string, env ...string) launch {
	c.l.t.Helper()
	this, _ := c.l.launch(Spec{Bare: true, Argv: c.argv, Dir: c.dir, Leader: true,
		Env: append(c.l.withPath(), append(env, "LAB_SERVER="+server, "LAB_HOLD="+hold)...)})
	this.Out, this.Err = c.l.path("stdout"), c.l.path("stderr")
	return this
}

// begin returns the run's own process, a server and what the run waits for.
func (c client) begin(n int) []Proc {
	c.l.t.Helper()
	child, err := c.launch(c.l.SleepArg(n), c.l.SleepArg(n+1)).start()
	c.l.must(err)
	c.l.children[child.Pid] = child
	server, hold := c.l.Sleeper(n), c.l.Sleeper(n+1)
	owner := c.l.followedBy(server)
	if mark := fmt.Sprintf("REAPER_PARENT_PID=%d@%d", owner.PID, owner.Start); !slices.Contains(readEnviron(server.PID), mark) {
		c.l.t.Errorf("%s is not marked %s", server, mark)
	}
	return []Proc{owner, server, hold}
}

// sweepsAndMarks demands that a run removes what a killed one left and nothing
// of a live one's, and that it goes on where there is no program.
func (c client) sweepsAndMarks() {
	c.l.t.Helper()
	live, killed := c.begin(901), c.begin(903)
	c.l.must(killed[0].Signal(syscall.SIGKILL))
	c.l.AwaitExit(killed[0])
	for _, p := range killed[1:] {
		if !p.Running() {
			c.l.t.Fatalf("%s ended with its run, which proves nothing", p)
		}
	}
	next := c.launch("0", "0")
	res := c.l.Collect(next.Out, next.Err, c.l.finish(next), nil)
	if strings.Contains(res.Stdout, " stopped") || !strings.Contains(res.Stderr, " stopped") {
		c.l.t.Errorf("the sweep's report is on stdout, or nowhere: %s\nstderr: %s", res.Stdout, res.Stderr)
	}
	if res.Exit != 0 {
		c.l.t.Errorf("the next run: status %d: %s%s", res.Exit, res.Stdout, res.Stderr)
	}
	for _, p := range killed[1:] {
		if p.Running() {
			c.l.t.Errorf("%s is still there: %s%s", p, res.Stdout, res.Stderr)
		}
	}
	for _, p := range live {
		if !p.Running() {
			c.l.t.Errorf("%s was ended: %s%s", p, res.Stdout, res.Stderr)
		}
	}
	wrong := c.launch("0", "0", "REAPER_RULES=/nowhere")
	if res := c.l.Collect(wrong.Out, wrong.Err, c.l.finish(wrong), nil); res.Exit != 0 || !strings.Contains(res.Stdout+res.Stderr, "/nowhere") {
		c.l.t.Errorf("without rules: status %d: %s%s", res.Exit, res.Stdout, res.Stderr)
	}
}

func TestShellScript(t *testing.T) {
	lab := newSerialLab(t)
	script := readme(t)[0] + `setsid sleep "$LAB_SERVER" & sleep "$LAB_HOLD"` + "\n"
	lab.client(map[string]string{"job.sh": script}, "sh", "job.sh").sweepsAndMarks()
}

func TestMakefile(t *testing.T) {
	lab := newSerialLab(t)
	makefile := readme(t)[0] + "test:\n\tsetsid sleep $(LAB_SERVER) & sleep $(LAB_HOLD)\n"
	lab.client(map[string]string{"Makefile": makefile}, "make", "test").sweepsAndMarks()
}

func TestPytest(t *testing.T) {
	lab := newSerialLab(t)
	const test = `
import os, subprocess
def test_server():
    subprocess.Popen(["sleep", os.environ["LAB_SERVER"]], start_new_session=True)
    subprocess.run(["sleep", os.environ["LAB_HOLD"]], check=True)
`
	program := "pytest-3" // as Debian calls it
	if _, err := exec.LookPath("pytest"); err == nil {
		program = "pytest"
	}
	lab.client(map[string]string{"conftest.py": readme(t)[0], "test_server.py": test}, program, "-s", "-p", "no:cacheprovider").sweepsAndMarks()
}

// Guards that jest takes vitest's file, as the README says.
func TestJest(t *testing.T) {
	lab := newSerialLab(t)
	program, err := filepath.Abs("jest/node_modules/jest/bin/jest.js")
	lab.must(err)
	if _, err := os.Stat(program); err != nil {
		t.Skip("no jest: npm ci --prefix test/jest")
	}
	const test = `
const { spawn, spawnSync } = require("node:child_process")
test("server", () => {
  spawn("sleep", [process.env.LAB_SERVER], { detached: true, stdio: "ignore" }).unref()
  expect(spawnSync("sleep", [process.env.LAB_HOLD], { stdio: "ignore" }).status).toBe(0)
}, 1e9)
`
	setup := readme(t)[0]
	lab.client(map[string]string{
		"jest.config.js": setup, "server.test.js": test, "reaper.mjs": string(readAll(t, "vitest/reaper.mjs")),
	}, "node", program, "--watchman=false", "--cacheDirectory="+lab.path("cache")).sweepsAndMarks()
}
