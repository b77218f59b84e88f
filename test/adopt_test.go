//go:build linux

package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// adopter starts a subreaper that looks like the spec and has adopted these.
func (l *Lab) adopter(s Spec, left ...Spec) (Proc, []Proc) {
	l.t.Helper()
	s.Role, s.Args, s.Leader = "subreaper", []string{"reap", l.launches(left...)}, true
	p := l.Start(s)
	return p, l.said(p, left)
}

// alias is the role's program under another file name, which becomes its comm.
func (l *Lab) alias(name string) string {
	l.t.Helper()
	path := filepath.Join(l.folder("links"), name)
	l.must(os.Symlink(roleBinary(l.t), path))
	return path
}

// program is a file of its own with the role's program.
func (l *Lab) program(name string) string {
	l.t.Helper()
	path := filepath.Join(l.folder("programs"), name)
	l.must(os.Link(roleBinary(l.t), path))
	return path
}

func (l *Lab) folder(name string) string {
	l.t.Helper()
	path := l.path(name)
	l.must(os.Mkdir(path, 0o755))
	return path
}

// Any program may make itself the reaper of its descendants. It counts as an
// adopter by its own name alone.
func TestSubreaperIsAnAdopterByName(t *testing.T) {
	lab := newLab(t)
	lab.Adopters = []string{"my-host-daemon", "a-host-with-a-long-name"}
	var cases []Case
	for i, c := range []struct {
		what, want string
		exe        string // file name of a link to the role's program, with '+' of a copy
		argv       []string
	}{
		{"a program that no rule names", "spared not-adopted", "", []string{"some-daemon"}},
		{"one that is named, seen by argv[0]", "goes adopted", "", []string{"/opt/bin/my-host-daemon", "--port", "0"}},
		{"one whose name of more than 15 bytes the kernel cuts", "goes adopted", "a-host-with-a-long-name", []string{"node", "host.js"}},
		{"one with the same name and more", "spared not-adopted", "", []string{"my-host-daemon-2"}},
		{"one that mentions the name", "spared not-adopted", "", []string{"node", "my-host-daemon"}},
		{"one that is merely called systemd", "spared not-adopted", "systemd", []string{"/lib/systemd/systemd"}},
		{"a systemd of the system that is not pid 1", "spared not-adopted", "", []string{"systemd", "--system"}},
		{"one with a word that begins with --user", "spared not-adopted", "", []string{"systemd", "--user-unit"}},
		{"what a user's systemd is", "goes adopted", "+systemd", []string{"/usr/lib/systemd/systemd", "--user"}},
		{"a program that calls itself systemd --user", "spared not-adopted", "", []string{"systemd", "--user"}},
		{"a program that is called systemd by a link", "spared not-adopted", "systemd", []string{"systemd", "--user"}},
		{"one that mentions systemd --user", "spared not-adopted", "", []string{"python3", "systemd", "--user"}},
		{"a shell's text with systemd --user in it", "spared not-adopted", "", []string{"sh", "-c", "systemd --user"}},
		{"one that is merely called init", "spared not-adopted", "init", []string{"/sbin/init"}},
		{"one that is merely called tini", "spared not-adopted", "tini", []string{"tini", "--", "x"}},
		{"one called after a relay, and not the program /init", "spared not-adopted", "Relay(318)", []string{"/opt/init"}},
	} {
		exe := ""
		if name, own := strings.CutPrefix(c.exe, "+"); own {
			exe = lab.program(name)
		} else if c.exe != "" {
			exe = lab.alias(c.exe)
		}
		daemon, left := lab.adopter(Spec{Exe: exe, Argv: c.argv},
			Spec{Argv: lab.Sleep(100 + i), Env: []string{lab.Mark(os.Getpid()), lab.MarkHome()}, Leader: true},
			Spec{Argv: lab.Sleep(200 + i), Env: []string{lab.MarkHome()}, Leader: true},
			Spec{Argv: lab.Sleep(300 + i), Env: []string{lab.Mark(launcherPID), lab.MarkHome()}, Leader: true})
		cases = append(cases,
			running("left to "+c.what+", follows what runs", "spared parent-running", left[0]),
			running("left to "+c.what, c.want, left[1]),
			running("left to "+c.what+", follows nothing", "goes follows", left[2]),
			running(c.what, "unnamed", daemon))
	}
	lab.Cases(cases...)
}

// WSL's relay runs one program, its oldest child; the rest was left to it.
func TestRelayRunsOneProgram(t *testing.T) {
	lab := newLab(t)
	marked := func(n int) Spec { return Spec{Argv: lab.Sleep(n), Env: []string{lab.MarkHome()}, Leader: true} }
	relay, children := lab.adopter(Spec{Exe: lab.alias("init"), Argv: []string{"/init"}}, marked(901), marked(902))
	lab.Cases(
		running("the program of the relay", "spared not-adopted", children[0]),
		running("what was left to it", "goes adopted", children[1]),
		running("the relay", "unnamed", relay))
}

// A user's manager takes in that user's processes.
func TestUserManagerAdoptsItsOwnUsers(t *testing.T) {
	lab := newLab(t)
	left := func(n, uid int) Spec {
		return Spec{Argv: lab.Sleep(n), Env: []string{lab.MarkHome()}, UID: uid, Leader: true}
	}
	program := lab.program("systemd")
	manager, roots := lab.adopter(Spec{Exe: program, Argv: []string{"/usr/lib/systemd/systemd", "--user"}}, left(901, 0), left(902, nobody))
	lab.must(os.Remove(program)) // an update replaced it
	res := lab.CasesOf(Run{Args: []string{"--all-users"}},
		running("the manager", "unnamed", manager),
		running("root's, left to root's manager", "goes adopted", roots[0]),
		running("nobody's, left to root's manager", "spared not-adopted", roots[1]))
	o, _ := res.member(roots[0])
	lab.mentions(o.Why.Detail, "systemd --user")
}

// Pid 1 is an adopter if it is a known init, by its own name and its program's.
func TestPID1IsAnAdopterIfItIsAnInit(t *testing.T) {
	for _, c := range []struct{ pid1, born, left string }{
		{"/sbin/init", "goes adopted", "goes adopted"},
		{"/lib/systemd/systemd", "goes adopted", "goes adopted"},
		{"s6-svscan", "goes adopted", "goes adopted"},
		// These run one program, which nobody left to them.
		{"tini", "spared not-adopted", "goes adopted"},
		{"/usr/bin/dumb-init", "spared not-adopted", "goes adopted"},
		{"/sbin/docker-init", "spared not-adopted", "goes adopted"},
		{"catatonit", "spared not-adopted", "goes adopted"},
		// These are parents like any other.
		{"node", "spared not-adopted", "spared not-adopted"},
		{"bash", "spared not-adopted", "spared not-adopted"},
		{"initial", "spared not-adopted", "spared not-adopted"},
	} {
		t.Run(filepath.Base(c.pid1), func(t *testing.T) {
			lab := newLab(t)
			ns := lab.Namespace(Spec{Argv: []string{c.pid1}, Env: []string{lab.MarkHome()}})
			home := Spec{Argv: lab.Sleep(901), Env: []string{lab.MarkHome()}, Leader: true}
			born := ns.Start(home)
			home.Argv, home.Adopted = lab.Sleep(902), true
			left := ns.Start(home)
			ns.sweepCases(
				running("pid 1's oldest child", c.born, born),
				running("what was left to pid 1", c.left, left),
				running("pid 1", "spared protected", ns.Init))
		})
	}
}

// sweepCases demands the answers of a sweep inside.
func (ns *Namespace) sweepCases(cases ...Case) Result {
	ns.l.t.Helper()
	res := ns.Sweep("--all-users")
	for _, c := range cases {
		ns.l.demand(res, c, ns.l.Stopped)
	}
	return res
}

// container starts a program of the system's as pid 1.
func (l *Lab) container(env []string, argv ...string) *Namespace {
	l.t.Helper()
	script := `mount -t proc proc /proc && exec "$@"`
	init := l.Start(Spec{Argv: append([]string{"sh", "-c", script, "sh"}, argv...), Env: env, Namespace: true, Leader: true})
	name := filepath.Base(argv[0])
	l.eventually(name+" is pid 1", func() bool {
		args := readArgs(init.PID)
		return len(args) > 0 && filepath.Base(args[0]) == name
	})
	return &Namespace{l: l, Init: init}
}

func (l *Lab) adoptedBy(child, parent Proc) {
	l.t.Helper()
	l.eventually(child.String()+" adopted", func() bool { return child.Stat().PPID == parent.PID })
}

func TestRealInitOfAContainer(t *testing.T) {
	for _, name := range []string{"tini", "dumb-init"} {
		t.Run(name, func(t *testing.T) {
			lab := newLab(t)
			lab.needProgram(name)
			script := "(setsid sleep " + lab.SleepArg(902) + " &); exec sleep " + lab.SleepArg(901)
			ns := lab.container([]string{lab.MarkHome()}, lab.needProgram(name), "--", "sh", "-c", script)
			program, left := lab.Sleeper(901), lab.Sleeper(902)
			lab.adoptedBy(left, ns.Init)
			ns.sweepCases(
				running("the program that it runs", "spared not-adopted", program),
				running("what was left to it", "goes adopted", left),
				running("pid 1", "spared protected", ns.Init))
		})
	}
}

// A script's comm is its own, its argv[0] the shell's: it is no init.
func TestScriptNamedInitIsNoAdopter(t *testing.T) {
	lab := newLab(t)
	dir := lab.path("bin")
	lab.must(os.Mkdir(dir, 0o755))
	script := filepath.Join(dir, "init")
	lab.must(writeProgram(script, []byte("#!/bin/sh\nsleep "+lab.SleepArg(901)+" &\n(sleep "+lab.SleepArg(902)+" &)\nwait\n")))
	ns := &Namespace{l: lab, Init: lab.Start(Spec{
		Argv: []string{"sh", "-c", "mount -t proc proc /proc && exec " + script}, Env: []string{lab.MarkHome()}, Namespace: true, Leader: true})}
	born, left := lab.Sleeper(901), lab.Sleeper(902)
	lab.adoptedBy(left, ns.Init)
	if s := ns.Init.Stat(); s.Comm != "init" {
		t.Fatalf("pid 1 is %q", s.Comm)
	}
	ns.sweepCases(
		running("the script's own child", "spared not-adopted", born),
		running("what its subshell left in the script's session", "spared not-adopted", left))
}

// Below a pid 1 that is no init there is one proof that a process was left to
// it: the leader of the session in which it was born has exited.
func TestSessionLeaderGoneBelowAForeignPID1(t *testing.T) {
	lab := newLab(t)
	ns := lab.Namespace(Spec{Argv: []string{"node"}})
	home := func(n int, more Spec) Spec {
		more.Argv, more.Env = lab.Sleep(n), []string{lab.MarkHome()}
		return more
	}
	left := ns.Start(home(901, Spec{Adopted: true}))
	detached := ns.Start(home(902, Spec{Adopted: true, Leader: true}))
	born, leading := ns.Start(home(903, Spec{})), ns.Start(home(904, Spec{Leader: true}))
	ns.Start(Spec{Argv: []string{"sh", "-c", "(sleep " + lab.SleepArg(905) + " &); exec sleep " + lab.SleepArg(906)}, Env: []string{lab.MarkHome()}, Leader: true})
	member, leader := lab.Sleeper(905), lab.Sleeper(906)
	lab.adoptedBy(member, ns.Init)
	res := ns.sweepCases(
		running("in the session of one that has exited", "goes adopted", left),
		running("left, in a session of its own", "spared not-adopted", detached),
		running("born of pid 1, in its session", "spared not-adopted", born),
		running("born of pid 1, in a session of its own", "spared not-adopted", leading),
		running("left, in a session whose leader runs", "spared not-adopted", member),
		running("that leader", "spared not-adopted", leader))
	o, _ := res.member(left)
	lab.mentions(o.Why.Detail, "node (1)", "session")
}

// The parent of what was entered from outside has no number inside.
func TestEnteredProcessHasNoParent(t *testing.T) {
	lab := newLab(t)
	ns := lab.Namespace(Spec{Argv: []string{initName}})
	entered := ns.Enter(Spec{Argv: lab.Sleep(901), Env: []string{lab.MarkHome()}, Leader: true})
	ns.Enter(Spec{Argv: []string{"sh", "-c", "sleep " + lab.SleepArg(902) + "; :"}, Env: []string{lab.MarkHome()}, Leader: true})
	child := lab.Sleeper(902)
	ns.Enter(Spec{Argv: []string{"sh", "-c", "setsid sleep " + lab.SleepArg(903) + " & exit 0"}, Env: []string{lab.MarkHome()}, Leader: true})
	left := lab.Sleeper(903)
	lab.adoptedBy(left, ns.Init)
	ns.sweepCases(
		running("entered", "spared unknown", entered),
		running("child of one that was entered", "spared not-adopted", child),
		running("left behind by one that was entered", "goes adopted", left))
}

// A number that was issued outside means nothing inside, where it may be free or
// a stranger's. It shows by pid 1, or one that was entered, carrying it as well.
func TestMarkerIssuedOutsideTheNamespace(t *testing.T) {
	lab := newLab(t)
	outer, entering := lab.Mark(lab.Live()), lab.Mark(lab.Live())
	ns := lab.Namespace(Spec{Argv: []string{initName}, Env: []string{outer}})
	short, live := ns.Start(Spec{Argv: lab.Sleep(900)}), ns.Start(Spec{Argv: lab.Sleep(901)})
	lab.must(short.Signal(9))
	lab.eventually("its end", func() bool { return short.State() == "gone" })
	start := func(n int, env ...string) Proc {
		return ns.Start(Spec{Argv: lab.Sleep(n), Env: env, Adopted: true, Leader: true})
	}
	entered := ns.Enter(Spec{Argv: []string{"sh", "-c", "sleep " + lab.SleepArg(902) + "; :"}, Env: []string{entering}, Leader: true})
	below := lab.Sleeper(902)
	res := ns.sweepCases(
		running("has it from pid 1", "spared unknown", start(903, outer)),
		running("has it from pid 1, and a home", "spared unknown", start(904, outer, lab.MarkHome())),
		running("was entered with it", "spared unknown", entered),
		running("has it from one that was entered", "spared unknown", below),
		running("follows what runs inside", "spared parent-running", start(905, lab.Mark(live.Inner))),
		running("follows what ran inside", "goes follows", start(906, lab.Mark(short.Inner))))
	lab.mentions(res.spared(below)[0].Detail, "outside this pid namespace")
}
