//go:build linux

package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Real node programs, run as the rules of a node project name them.

// nodeDaemon says its pid and its host's when both are up, and ends on SIGTERM
// after it has said so. Arguments: fifo, script of the host, title.
const nodeDaemon = `
const fs = require("fs"), { spawn } = require("child_process")
const [, , fifo, host, title] = process.argv
const say = (text) => fs.appendFileSync(fifo, text + "\n")
process.on("SIGTERM", () => { say("TERM"); process.exit(0) })
if (title) process.title = title
const child = spawn(process.execPath, [host, fifo], { detached: true, stdio: "ignore" })
child.unref()
child.on("spawn", () => say("[" + process.pid + "," + child.pid + "]"))
setInterval(() => {}, 1e6)
`

const nodeHost = `
require("fs").appendFileSync(process.argv[2], "host\n")
setInterval(() => {}, 1e6)
`

type nodeRun struct {
	daemon, host Proc
	says         func(what string) string
}

// node starts a daemon with its host; both follow what the entries say.
func (l *Lab) node(title string, env ...string) nodeRun {
	l.t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		l.t.Skip("no node")
	}
	dir := l.path("project")
	scripts := []string{filepath.Join(dir, "daemon/main.ts"), filepath.Join(dir, "host/main.ts")}
	for i, text := range []string{nodeDaemon, nodeHost} {
		l.must(os.MkdirAll(filepath.Dir(scripts[i]), 0o755))
		l.must(os.WriteFile(scripts[i], []byte(text), 0o644))
	}
	f := l.fifo()
	daemon := l.Start(Spec{Argv: []string{"node", scripts[0], f.path, scripts[1], title}, Env: env, Leader: true, Adopted: true})
	run := nodeRun{daemon: daemon, says: func(what string) string { l.t.Helper(); return l.line(f, what) }}
	for range 2 { // in either order
		if said := run.says("node up"); said != "host" {
			run.host = l.list(decodePIDs(l.t, said)[1], "host/main.ts")
		}
	}
	return run
}

// nodeRules select by command and marker, or by the marker alone.
func (l *Lab) nodeRules(byCommand bool) {
	l.t.Helper()
	command := ""
	if byCommand {
		command = "command: [daemon/main.ts, host/main.ts], "
	}
	l.Rules(fmt.Sprintf("rules:\n  - {name: node, %smarker: [%s], orphan: [follows: %s]}\n", command, l.Parent, l.Parent))
}

// Guards a node daemon and its detached host: both are swept by command and
// marker, by SIGTERM alone, and their handlers run; those of a live run stay.
func TestNodeDaemonAndHost(t *testing.T) {
	lab := newLab(t)
	lab.nodeRules(true)
	run := lab.Live()
	left, live := lab.node("", lab.deadMark()...), lab.node("", lab.Mark(run))
	if args := readArgs(left.daemon.PID); args[0] != "node" || !strings.HasSuffix(args[1], "/daemon/main.ts") {
		t.Fatalf("%q", args)
	}
	lab.WouldStop(lab.DryRun(), left.daemon)
	res := lab.Run(Run{Args: []string{"--grace", "60s"}, Status: 0})
	lab.allStopped(res, []Proc{left.daemon, left.host}, By("group"), With("TERM"), Through("follows"))
	lab.oneTree(res, left.daemon, left.host)
	left.says("TERM")
	lab.Spared(res, live.daemon, "parent-running")
	lab.Spared(res, live.host, "parent-running")
}

// Guards programs that name themselves: the title takes the place of the whole
// command line, and the marker still tells.
func TestNodeThatSetItsTitle(t *testing.T) {
	lab := newLab(t)
	titled, title := lab.node("node (test 2)", lab.deadMark()...), "node (test 2)"
	if args := strings.Join(readArgs(titled.daemon.PID), "\x00"); strings.TrimRight(args, "\x00") != title {
		t.Fatalf("%q", args)
	}
	lab.Rules(lab.DefaultRule() + fmt.Sprintf("  - {name: named, command: [daemon/main.ts], marker: [%s], orphan: [follows: %s]}\n", lab.Parent, lab.Parent))
	res := lab.Run(Run{Args: []string{"--grace", "60s"}, Status: 0})
	lab.allStopped(res, []Proc{titled.daemon, titled.host}, With("TERM"), Through("follows"))
	titled.says("TERM")
	if o, _ := res.member(titled.daemon); o == nil || strings.Join(o.Command, " ") != title {
		t.Errorf("%s", res.Stdout)
	}
}
