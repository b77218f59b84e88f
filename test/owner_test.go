//go:build linux

package test

import (
	"fmt"
	"testing"
)

// owned is a lab with a rule about a command, and no marker, that needs an
// editor above it.
type owned struct {
	*Lab
	server, editor string
}

func newOwned(t *testing.T) owned {
	lab := newLab(t)
	o := owned{lab, "mcp-" + lab.Tag, "editor-" + lab.Tag}
	lab.Adopters = []string{"host-" + lab.Tag}
	lab.Rules(fmt.Sprintf("rules:\n  - name: servers\n    command: [%s]\n    marker: none\n    orphan: [unowned: %s]\n", o.server, o.editor))
	return o
}

// payload is the server itself; number tells one from another.
func (o owned) payload(number int) Spec {
	return Spec{Exe: "/bin/sleep", Argv: []string{"/opt/bin/" + o.server, o.SleepArg(number)}, Leader: true}
}

// packageRunner is a launcher whose command line names the server too.
func (o owned) packageRunner() Spec {
	return Spec{Argv: []string{"npm", "exec", o.server}, Leader: true}
}

// below starts the spec's program with these as its children.
func (o owned) below(parent Spec, children ...Spec) (Proc, []Proc) {
	o.t.Helper()
	return o.Forker(parent, "once", children...)
}

func TestUnownedServerGoesWithItsLaunchers(t *testing.T) {
	o := newOwned(t)
	left := o.packageRunner()
	left.Adopted = true
	runner, servers := o.below(left, o.payload(901), Spec{Argv: o.Sleep(902), Leader: true})
	alone := o.payload(903)
	alone.Adopted = true
	o.Cases(
		running("a launcher that was adopted", "goes unowned", runner),
		running("its payload", "goes", servers[0]),
		running("its other child", "goes", servers[1]),
		running("a payload whose launcher has exited", "goes unowned", o.Start(alone)))
}

func TestOwnedServerStays(t *testing.T) {
	o := newOwned(t)
	editor := Spec{Argv: []string{"/opt/bin/" + o.editor, "file.go"}, Leader: true}
	owner, direct := o.below(editor, o.payload(901))
	editor.Adopted = true
	_, second := o.below(editor, o.payload(902))
	_, launched := o.below(Spec{Argv: []string{o.editor}, Leader: true}, Spec{Exe: "/bin/sh", Argv: []string{"/x/" + o.server, "-c", o.shell("SLEEP903 & wait")}, Leader: true})
	o.Cases(
		running("a child of its owner", "spared owned", direct[0]),
		running("a child of its owner, which was itself adopted", "spared owned", second[0]),
		running("a launcher that its owner started", "spared owned", launched[0]))
	o.Kill(owner)
	o.adoptedBy(direct[0], Proc{PID: 1})
	o.Cases(
		running("its owner has ended", "goes unowned", direct[0]),
		running("another one's runs", "spared owned", second[0]))
}

// An owner that one rule finds holds against what another rule proves.
func TestOwnerByAnotherRule(t *testing.T) {
	o := newOwned(t)
	o.Rules(fmt.Sprintf("rules:\n  - {name: run, marker: [%s], orphan: [follows: %[1]s]}\n"+
		"  - {name: servers, command: [%s], marker: none, orphan: [unowned: %s]}\n", o.Parent, o.server, o.editor))
	marked := func(n int) Spec {
		s := o.payload(n)
		s.Env = []string{o.Mark(o.Dead())}
		return s
	}
	_, owned := o.below(Spec{Argv: []string{o.editor}, Leader: true}, marked(901))
	left := marked(902)
	left.Adopted = true
	o.Cases(
		running("its run has ended, its owner runs", "spared owned", owned[0]),
		running("its run has ended, and it has no owner", "goes follows", o.Start(left)))
}

// What runs between a server and the adopter is an owner too, unless the rule
// matches it.
func TestServerBelowAnythingElseStays(t *testing.T) {
	o := newOwned(t)
	stranger, first := o.below(Spec{Argv: []string{"some-daemon"}, Adopted: true, Leader: true}, o.payload(901))
	_, second := o.below(Spec{Argv: []string{"sh", "-c", "exec " + o.server}, Adopted: true, Leader: true}, o.payload(902))
	_, third := o.below(Spec{Argv: []string{"editor", o.editor + "-2"}, Adopted: true, Leader: true}, o.payload(903))
	o.Cases(
		running("below a daemon of another name", "spared owned", first[0]),
		running("below a shell whose text mentions it", "spared owned", second[0]),
		running("below one with a name like the owner's", "spared owned", third[0]),
		running("that daemon", "unnamed", stranger))
}

// An owner above an adopter owns what that took in.
func TestOwnerAboveAnAdopter(t *testing.T) {
	o := newOwned(t)
	host := func(number int) Spec {
		return Spec{Role: "subreaper", Argv: []string{"/opt/host-" + o.Tag}, Args: []string{"reap", o.launches(o.payload(number))}, Leader: true}
	}
	o.below(Spec{Argv: []string{o.editor}, Leader: true}, host(901))
	o.below(Spec{Argv: []string{"other-editor"}, Leader: true}, host(902))
	kept, left := o.Find("/opt/bin/"+o.server, o.SleepArg(901)), o.Find("/opt/bin/"+o.server, o.SleepArg(902))
	for _, p := range []Proc{kept, left} {
		o.eventually("adopted by the host", func() bool {
			args := readArgs(p.Stat().PPID)
			return len(args) == 1 && args[0] == "/opt/host-"+o.Tag
		})
	}
	o.Cases(
		running("left to an adopter below its owner", "spared owned", kept),
		running("left to an adopter below somebody else", "goes unowned", left))
}

// The shell of a terminal is an owner even where it carries the rule's marker.
func TestTerminalShellOwns(t *testing.T) {
	lab := newLab(t)
	lab.Rules(fmt.Sprintf("rules:\n  - name: marked\n    marker: [%s]\n    orphan: [unowned: my-editor]\n", lab.HomeVar))
	shell := func(tty string, number int) Proc {
		text := lab.shell(fmt.Sprintf("setsid SLEEP%d & wait", number))
		return lab.Start(Spec{Argv: []string{"sh", "-c", text}, Env: []string{lab.MarkHome()}, TTY: tty, Adopted: true, Leader: true})
	}
	inUse, plain := shell(lab.Terminal(), 901), shell("", 902)
	lab.Cases(
		running("a shell on a terminal", "spared on-terminal", inUse),
		running("what it started", "spared owned", lab.Sleeper(901)),
		running("a shell without a terminal, which the rule matches", "goes unowned", plain),
		running("what that started", "goes", lab.Sleeper(902)))
}

// Below what was entered from outside nobody can say who is above.
func TestOwnerThatCannotBeSeen(t *testing.T) {
	lab := newLab(t)
	lab.Rules(fmt.Sprintf("rules:\n  - name: marked\n    marker: [%s]\n    orphan: [unowned: my-editor]\n", lab.HomeVar))
	ns := lab.Namespace(Spec{Argv: []string{initName}})
	entered := ns.Enter(Spec{Argv: lab.Sleep(901), Env: []string{lab.MarkHome()}, Leader: true})
	ns.sweepCases(
		running("its parent is outside", "spared unknown", entered),
		running("its parent is pid 1", "goes unowned", ns.Start(Spec{Argv: lab.Sleep(902), Env: []string{lab.MarkHome()}, Leader: true, Adopted: true})))
}
