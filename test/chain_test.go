//go:build linux

package test

import "testing"

// A daemon follows its run; its host follows the daemon or the run, or is marked
// by its temporary HOME alone. Each of them is killed or left.

type chain struct {
	name       string
	runDead    bool
	daemonDead bool
	host       string // what its marker is: run, daemon or home
	detached   bool   // the host was adopted while its daemon runs

	daemon, fate string // what the sweep does; the daemon's is "" where it is dead
	plan         string // what a dry run says of the host, where that differs
	tree         bool   // both are in the daemon's tree
}

var chains = []chain{
	{name: "all run", host: "run", daemon: "parent-running", fate: "parent-running"},
	{name: "all run", host: "daemon", daemon: "parent-running", fate: "parent-running"},
	{name: "all run", host: "home", daemon: "parent-running", fate: "not-adopted"},
	{name: "all run", host: "run", detached: true, daemon: "parent-running", fate: "parent-running"},
	{name: "all run", host: "daemon", detached: true, daemon: "parent-running", fate: "parent-running"},
	{name: "all run", host: "home", detached: true, daemon: "parent-running", fate: "stopped"},

	{name: "run dead", runDead: true, host: "run", daemon: "stopped", fate: "stopped", tree: true},
	{name: "run dead", runDead: true, host: "daemon", daemon: "stopped", fate: "stopped", tree: true},
	{name: "run dead", runDead: true, host: "home", daemon: "stopped", fate: "stopped", tree: true},
	{name: "run dead", runDead: true, host: "run", detached: true, daemon: "stopped", fate: "stopped"},
	// What it follows is stopped by this very sweep, so it is found after that.
	{name: "run dead", runDead: true, host: "daemon", detached: true, daemon: "stopped", fate: "stopped", plan: "parent-running"},
	{name: "run dead", runDead: true, host: "home", detached: true, daemon: "stopped", fate: "stopped"},

	{name: "daemon dead", daemonDead: true, host: "run", fate: "parent-running"},
	{name: "daemon dead", daemonDead: true, host: "daemon", fate: "stopped"},
	{name: "daemon dead", daemonDead: true, host: "home", fate: "stopped"},

	{name: "both dead", runDead: true, daemonDead: true, host: "run", fate: "stopped"},
	{name: "both dead", runDead: true, daemonDead: true, host: "daemon", fate: "stopped"},
	{name: "both dead", runDead: true, daemonDead: true, host: "home", fate: "stopped"},
}

func (c chain) String() string {
	name := c.name + ", host follows " + c.host
	if c.detached {
		name += ", host adopted"
	}
	return name
}

func TestChain(t *testing.T) {
	for _, c := range chains {
		t.Run(c.String(), c.test)
	}
}

func (c chain) test(t *testing.T) {
	lab := newLab(t)
	run := lab.Live()
	daemon, host := c.start(lab, run)
	if c.runDead {
		lab.Kill(run)
	}
	if c.daemonDead {
		lab.Kill(daemon)
	}
	lab.eventually("the host's parent", func() bool {
		return host.Stat().PPID == map[bool]int{true: 1, false: daemon.PID}[c.detached || c.daemonDead]
	})
	plan := lab.DryRun()
	c.planned(lab, plan, host)
	res := lab.Sweep()
	c.swept(lab, res, daemon, host)
	if !c.runDead {
		lab.Untouched(res, run)
	}
	if again := lab.Sweep(); len(again.Doc.Orphans) > 0 || again.Exit != 0 {
		t.Errorf("a second sweep finds %s", again.Stdout)
	}
}

func (c chain) start(lab *Lab, run Proc) (daemon, host Proc) {
	h := Spec{Argv: lab.Sleep(900), Leader: true}
	d := Spec{Env: []string{lab.Mark(run)}, Leader: true, Adopted: true}
	switch c.host {
	case "run":
		h.Env = []string{lab.Mark(run)}
	case "daemon":
		h.Env = []string{lab.Mark(launcherPID)}
	case "home":
		h.Env = []string{lab.MarkHome()}
	}
	if !c.detached {
		daemon, below := lab.Forker(d, "once", h)
		return daemon, below[0]
	}
	d.Argv = lab.Sleep(901)
	daemon = lab.Start(d)
	if c.host == "daemon" {
		h.Env = []string{lab.Mark(daemon)}
	}
	h.Adopted = true
	return daemon, lab.Start(h)
}

func (c chain) planned(lab *Lab, plan Result, host Proc) {
	lab.t.Helper()
	switch {
	case c.plan != "":
		lab.Spared(plan, host, c.plan)
	case c.fate == "stopped":
		lab.WouldStop(plan, host)
	default:
		lab.Spared(plan, host, c.fate)
	}
}

func (c chain) swept(lab *Lab, res Result, daemon, host Proc) {
	lab.t.Helper()
	for _, is := range []struct {
		p    Proc
		fate string
	}{{daemon, c.daemon}, {host, c.fate}} {
		switch is.fate {
		case "":
		case "stopped":
			lab.Stopped(res, is.p, With("TERM"))
		default:
			lab.Spared(res, is.p, is.fate)
		}
	}
	if o, _ := res.member(host); c.tree && (o == nil || o.PID != daemon.PID) {
		lab.t.Errorf("%s is not in the tree of %s: %s", host, daemon, res.Stdout)
	}
	if res.Exit != 0 {
		lab.t.Errorf("status %d", res.Exit)
	}
}
