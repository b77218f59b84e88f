//go:build linux

package test

import (
	"os"
	"path/filepath"
	"testing"
)

// paneScript is what a multiplexer's first pane runs: 901 in it, 902 below it
// with the inherited marker, 903 below it and stamped anew, 904 stamped anew and
// left behind, 905 left behind as it is, 906 below it and without a marker.
func (l *Lab) paneScript(anew string) string {
	return l.shell(`setsid SLEEP902 & setsid env ` + anew + ` SLEEP903 & (setsid env ` + anew + ` SLEEP904 &); (setsid SLEEP905 &); ` +
		`setsid env -u ` + l.Parent + ` SLEEP906 & exec SLEEP901`)
}

func (l *Lab) paneCases(server Proc) {
	l.t.Helper()
	for _, n := range []int{904, 905} {
		l.adoptedBy(l.Sleeper(n), Proc{PID: 1})
	}
	l.Cases(
		running("the server", "spared protected", server),
		running("what the pane runs", "spared on-terminal", l.Sleeper(901)),
		running("below the pane, with the marker that the server has", "spared protected", l.Sleeper(902)),
		running("below the pane, stamped anew", "goes follows", l.Sleeper(903)),
		running("left behind by a pane, stamped anew", "goes follows", l.Sleeper(904)),
		running("left behind by a pane, with the marker that the server has", "goes follows", l.Sleeper(905)),
		running("below the pane, unmarked", "unnamed", l.Sleeper(906)))
}

// A multiplexer has for ever the markers of whoever happened to start it, and so
// have its panes. What a pane stamps anew is judged.
func TestTmuxOutlivesWhoStartedIt(t *testing.T) {
	lab := newLab(t)
	mark, anew := lab.Mark(lab.Dead()), lab.Mark(lab.Dead())
	client := Spec{
		Argv: []string{lab.needProgram("tmux"), "-L", "lab", "-f", "/dev/null", "new-session", "-d", lab.paneScript(anew)},
		Env:  []string{mark, "TMUX_TMPDIR=" + lab.Dir, "SHELL=/bin/sh"}, Leader: true,
	}
	lab.finishes(client)
	lab.paneCases(lab.byComm("tmux: server"))
}

func TestScreenOutlivesWhoStartedIt(t *testing.T) {
	lab := newLab(t)
	mark, anew := lab.Mark(lab.Dead()), lab.Mark(lab.Dead())
	sockets := lab.path("screens")
	lab.must(os.Mkdir(sockets, 0o700))
	lab.finishes(Spec{
		Argv: []string{lab.needProgram("screen"), "-c", "/dev/null", "-dmS", "lab", "sh", "-c", lab.paneScript(anew)},
		Env:  []string{mark, "SCREENDIR=" + sockets, "SHELL=/bin/sh", "TERM=vt100"}, Leader: true,
	})
	lab.paneCases(lab.byComm("screen"))
}

// finishes runs a command that must succeed.
func (l *Lab) finishes(s Spec) {
	l.t.Helper()
	this, _ := l.launch(s)
	this.Out, this.Err = l.path("stdout"), l.path("stderr")
	if status := l.finish(this); status != 0 {
		said, _ := os.ReadFile(this.Err)
		l.t.Fatalf("%q: status %d: %s", s.Argv, status, said)
	}
}

// byComm is the lab's process of that name.
func (l *Lab) byComm(name string) Proc {
	l.t.Helper()
	found := 0
	l.eventually("a process called "+name, func() bool {
		for _, pid := range pids() {
			if s, ok := readStat(pid); ok && s.Comm == name && l.owns(s) && s.PPID == 1 {
				found = pid
			}
		}
		return found != 0
	})
	return l.list(found, name)
}

// A server by any other name is one for the rules to protect.
func TestProtectedByTheRules(t *testing.T) {
	lab := newLab(t)
	lab.Rules("protect: [my-server serve]\n" + lab.DefaultRule())
	mark := lab.Mark(lab.Dead())
	server, below := lab.Forker(Spec{Argv: []string{"/opt/my-server", "serve"}, Env: []string{mark}, Adopted: true, Leader: true}, "once",
		Spec{Argv: lab.Sleep(901), Env: []string{mark}, Leader: true},
		Spec{Argv: lab.Sleep(902), Env: []string{lab.Mark(lab.Dead())}, Leader: true},
		Spec{Argv: lab.Sleep(903), Env: []string{lab.MarkHome()}, Leader: true})
	other := lab.Start(Spec{Role: "idle", Argv: []string{"/opt/my-server", "status"}, Env: []string{mark}, Adopted: true, Leader: true})
	agent := lab.Start(Spec{Role: "idle", Argv: []string{"/usr/bin/ssh-agent", "-D"}, Env: []string{mark}, Adopted: true, Leader: true})
	lab.Cases(
		running("matches a protect pattern", "spared protected", server),
		running("below it, with its marker", "spared protected", below[0]),
		running("below it, stamped anew", "goes follows", below[1]),
		running("below it, with a marker that it has not", "spared not-adopted", below[2]),
		running("matches half of the pattern", "goes follows", other),
		running("known to outlive by design", "spared protected", agent))
}

// A tree goes without what is protected in it.
func TestProtectedInATreeIsLeftBehind(t *testing.T) {
	lab := newLab(t)
	head, below := lab.Forker(Spec{Env: []string{lab.Mark(lab.Dead())}, Adopted: true, Leader: true}, "once",
		Spec{Exe: "/bin/sh", Argv: []string{"ssh-agent", "-c", lab.shell("SLEEP901; :")}, Leader: true},
		Spec{Argv: lab.Sleep(902), Leader: true})
	kept := lab.Sleeper(901)
	res := lab.Cases(
		running("an orphan with an agent below it", "goes follows", head),
		running("its other child", "goes", below[1]))
	lab.LeftBehind(res, below[0], "protected")
	if !kept.Running() {
		t.Error("what is below the agent was ended")
	}
}

// Whoever reads or mentions a script does not run it.
func TestMentionIsNoMatch(t *testing.T) {
	lab := newLab(t)
	script := filepath.Join(lab.Dir, "daemon", "main.ts")
	lab.must(os.Mkdir(filepath.Dir(script), 0o755))
	lab.must(os.WriteFile(script, nil, 0o644))
	lab.Rules("rules:\n  - name: daemon\n    command: [daemon/main.ts]\n    marker: [" + lab.Parent + "]\n    orphan: [follows: " + lab.Parent + "]\n")
	dead, live := lab.Mark(lab.Dead()), lab.Mark(lab.Live())
	run := func(env []string, argv ...string) Proc {
		return lab.Start(Spec{Role: "idle", Argv: argv, Env: env, Adopted: true, Leader: true})
	}
	lab.Cases(
		running("an unmarked program that has it open", "unnamed", lab.OrphanLeader(nil, "tail", "-f", script)),
		running("a marked one whose owner runs", "spared parent-running", lab.OrphanLeader([]string{live}, "tail", "-f", script)),
		running("a shell whose text mentions it", "unnamed", lab.OrphanLeader([]string{dead}, "sh", "-c", "sleep "+lab.SleepArg(901)+" # "+script)),
		running("an editor's command that mentions it", "unnamed", run([]string{dead}, "vim", "-c", "edit "+script)),
		running("a longer name", "unnamed", run([]string{dead}, "node", script+"x")),
		running("a folder of that name", "unnamed", run([]string{dead}, "node", script+"/job")),
		running("the end of another name", "unnamed", run([]string{dead}, "node", "/x/mydaemon/main.ts")),
		running("the program, unmarked", "unnamed", run(nil, "node", script)),
		running("the program", "goes follows", run([]string{dead}, "node", "--import", "tsx", script, "--port", "0")))
}

// What inherited a marker and then got an owner of its own is live work, and so
// is all above it that an orphan's tree would take.
func TestForeignServiceInATree(t *testing.T) {
	lab := newLab(t)
	live := lab.Live()
	lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, "sh", "-c", lab.shell(
		`sh -c '`+lab.Mark(live)+` setsid sh -c "SLEEP901; :" & SLEEP902 & wait' & SLEEP903 & env -u `+lab.Parent+` SLEEP904 & wait`))
	service, beside, other, unmarked := lab.Sleeper(901), lab.Sleeper(902), lab.Sleeper(903), lab.Sleeper(904)
	parent := func(p Proc) Proc { return lab.list(p.Stat().PPID, "") }
	session := parent(service)
	inner := parent(session)
	lab.Cases(
		running("has an owner that runs", "spared parent-running", session),
		running("below that", "spared parent-running", service),
		running("the parent of that", "spared hosts-live-work", inner),
		running("the orphan above", "spared hosts-live-work", parent(inner)),
		running("a child of the spared parent", "goes follows", beside),
		running("a child of the spared orphan", "goes follows", other),
		running("an unmarked child of the spared orphan", "unnamed", unmarked))
}

// Age, load and silence prove nothing: an idle owner is one.
func TestIdleOwnerIsAnOwner(t *testing.T) {
	lab := newLab(t)
	owner := lab.Live()
	lab.must(owner.Signal(19)) // stopped, it never runs at all
	head, below := lab.Forker(Spec{Env: []string{lab.Mark(owner)}, Adopted: true, Leader: true}, "once",
		Spec{Argv: lab.Sleep(901), Env: []string{lab.Mark(owner)}, Leader: true})
	lab.Cases(
		running("follows it", "spared parent-running", head),
		running("follows it too", "spared parent-running", below[0]),
		running("the owner", "unnamed", owner))
}
