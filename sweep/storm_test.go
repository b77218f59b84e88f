package sweep_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"reaper/platform"
	"reaper/sweep"
)

// TestStopKeepsItsPromises plays scripts that chance wrote. Whatever happens, no
// signal reaches what does not belong, the report is true, and the sweep ends.
func TestStopKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := randomStory(rt)
		got := play(t, s)
		for _, problem := range got.problems() {
			rt.Error(problem)
		}
		if rt.Failed() {
			for _, line := range append(got.k.history(), got.k.sent()...) {
				rt.Log(line)
			}
			rt.Logf("%v %s", got.err, details(got.report))
		}
		if got.err == nil && got.took > 20*time.Second {
			rt.Errorf("took %v", got.took)
		}
	})
}

// history tells what became of every process.
func (k *kernel) history() []string {
	var out []string
	for _, p := range k.past {
		out = append(out, fmt.Sprintf("%d@%d ppid %d pgid %d env %v, born %v, %c, exited %v at %v, got %v", p.pid, p.start, p.ppid, p.pgid, p.env, p.born, p.state, p.exited(), p.died, p.got))
	}
	return out
}

// chance draws what a script is made of.
type chance struct{ *rapid.T }

func (c chance) pick(what string, n int) int { return rapid.IntRange(0, n-1).Draw(c.T, what) }

func (c chance) oneIn(what string, n int) bool { return c.pick(what, n) == n-1 }

// span is a time between nothing and most.
func (c chance) span(what string, most time.Duration) time.Duration {
	return time.Duration(c.pick(what, int(most/time.Millisecond)+1)) * time.Millisecond
}

func randomStory(rt *rapid.T) story {
	c := chance{rt}
	grace, confirm := c.span("grace", 1500*time.Millisecond), c.span("confirm", time.Second)
	xnu := c.oneIn("macOS", 3)
	procs := c.processes()
	events := c.events(len(procs))
	return story{
		options: func(o *sweep.Options) { o.Grace, o.Confirm = &grace, &confirm },
		world: func(k *kernel) {
			k.judging = true
			if xnu {
				k.becomeXNU()
			}
			for _, p := range procs {
				k.spawn(p)
			}
			for _, e := range events {
				e(k)
			}
		},
	}
}

// processes are some families: each a child of init, of the outsider or of one
// before it.
func (c chance) processes() []process {
	var procs []process
	for i := range 1 + c.pick("processes", 10) {
		pid := 100 + i
		p := process{pid: pid, ppid: 1, env: c.env(pid), term: c.reaction("TERM", 2), kill: c.death(), adopts: c.oneIn("adopts", 12), neglects: c.oneIn("neglects", 10)}
		switch c.pick("parent", 4) {
		case 0, 1:
			p.ppid = 100 + c.pick("of", i+1)
		case 2:
			p.ppid = outsider
		}
		if p.ppid == pid {
			p.ppid = 1
		}
		switch c.pick("group", 4) {
		case 0, 1:
			p.pgid = 100 + c.pick("led by", i+1)
		case 2:
			p.pgid = []int{40, sweeper, outsider, 77}[c.pick("other group", 4)]
		}
		if c.oneIn("stopped", 8) {
			p.state = 'T'
		}
		p.withheld = c.oneIn("withheld, where it is macOS", 8)
		if c.oneIn("another user", 10) {
			p.uid = me + 1
		} else if c.oneIn("protected", 12) {
			p.argv = words("tmux new")
		}
		if c.oneIn("forks", 10) {
			p.life = forksEvery(10*time.Millisecond+c.span("every", 300*time.Millisecond), c.child())
		}
		p.death = c.aftermath()
		procs = append(procs, p)
	}
	return procs
}

// env follows a dead process, the outsider, another of the script, or nothing.
func (c chance) env(pid int) []string {
	switch c.pick("marker", 6) {
	case 0, 1, 2:
		return []string{fmt.Sprintf("MARK=%d", dead)}
	case 3:
		return []string{fmt.Sprintf("MARK=%d", outsider)}
	case 4:
		return []string{fmt.Sprintf("MARK=%d", 100+c.pick("follows", 10))}
	}
	return []string{}
}

func (c chance) reaction(what string, depth int) reaction {
	switch n := c.pick(what, 9); {
	case n == 0 || n == 1:
		return exitsNow
	case n == 2:
		return exits(c.span("after", 2*time.Second))
	case n == 3 || n == 4:
		return ignores
	case n == 5:
		return frozen
	case n == 6:
		return execs(c.env(0)...)
	case depth > 0:
		return forks(c.child(), c.reaction(what, depth-1))
	}
	return exitsNow
}

func (c chance) death() reaction {
	switch c.pick("KILL", 6) {
	case 0:
		return frozen
	case 1:
		return exits(c.span("after", time.Second))
	}
	return exitsNow
}

// child inherits the marker or not, is detached or not.
func (c chance) child() process {
	var p process
	if c.oneIn("own environment", 2) {
		p.env = c.env(0)
	}
	if c.oneIn("detached", 2) {
		p.ppid = 1
	}
	if c.oneIn("own session", 2) {
		p.pgid = -1
	}
	if c.oneIn("deaf", 3) {
		p.term = ignores
	}
	return p
}

func (c chance) aftermath() reaction {
	again := process{env: orphan(0).env, argv: words("/bin/again")}
	switch c.pick("afterwards", 10) {
	case 0, 1:
		return recycles
	case 2:
		again.ppid = outsider
		return respawns(c.span("again after", 300*time.Millisecond), again)
	case 3:
		return respawns(c.span("again after", 300*time.Millisecond), again)
	}
	return nil
}

// events are what happens from outside, and what fails.
func (c chance) events(n int) []func(*kernel) {
	var events []func(*kernel)
	for range c.pick("events", 5) {
		pid, at, lasting := 100+c.pick("to", n), c.span("at", 3*time.Second), c.span("for", time.Second)
		if c.oneIn("early", 2) {
			at = c.span("at", 8*time.Millisecond)
		}
		env := c.env(pid)
		if c.oneIn("cancelled", 12) {
			events = append(events, func(k *kernel) { k.at(at, func() { k.cancel() }) })
		}
		fault := fault{in: []string{"scan", "survey", "wait", "open", "group", "signal", "inspect", "exited"}[c.pick("fails", 8)], pid: []int{0, pid}[c.pick("for", 2)],
			from: max(at, 3*time.Millisecond), to: at + lasting, err: platform.ErrDenied}
		events = append(events, []func(*kernel){
			func(k *kernel) { k.at(at, func() { k.kill(pid) }) },
			func(k *kernel) { k.at(at, func() { k.change(pid, func(p *process) { p.env = env }) }) },
			func(k *kernel) { k.spell(pid, at, lasting, func(p *process, on bool) { p.blank = on }) },
			func(k *kernel) { k.spell(pid, at, lasting, func(p *process, on bool) { p.lost = on }) },
			func(k *kernel) { k.at(at, func() { k.comeAlive() }) },
			func(k *kernel) { k.faults = append(k.faults, fault) },
		}[c.pick("event", 6)])
	}
	return events
}

func (k *kernel) kill(pid int) { k.change(pid, func(p *process) { k.exit(p) }) }

// change does something to the process that holds the pid, if one runs and is no stranger.
func (k *kernel) change(pid int, do func(*process)) {
	if p := k.running(pid); p != nil && !p.stranger {
		do(p)
	}
}

// spell is a state that passes.
func (k *kernel) spell(pid int, at, lasting time.Duration, set func(p *process, on bool)) {
	k.at(at, func() {
		k.change(pid, func(p *process) {
			set(p, true)
			k.after(lasting, func() { set(p, false) })
		})
	})
}

// comeAlive lets somebody have the pid of the process that the orphans follow.
func (k *kernel) comeAlive() {
	if k.table[dead] == nil {
		k.spawn(process{pid: dead})
	}
}
