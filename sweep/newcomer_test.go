package sweep_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"reaper/sweep"
)

func TestStopTakesInWhatIsBornMeanwhile(t *testing.T) {
	detached := with(process{ppid: 1, pgid: -1}, unmarked)
	tell(t, []story{{
		name: "a child forked before SIGTERM",
		world: then(puts(orphan(100)), func(k *kernel) {
			k.before("open", 1, func() { k.fork(k.table[100], with(process{pgid: -1}, unmarked)) })
		}),
		signals: "0s TERM group 100 by its leader, 0s TERM group 5001 by its leader",
		members: "100 stopped TERM, 5001 stopped TERM",
	}, {
		name: "children forked as each reading verifies: the last one waits for the next look",
		world: then(puts(orphan(100)), func(k *kernel) {
			for reading := 2; reading <= 4; reading++ {
				k.before("survey", reading, func() { k.fork(k.table[100], process{pgid: -1}) })
			}
		}),
		signals: `0s TERM group 100 by its leader, 0s TERM group 5001 by its leader, 0s TERM group 5002 by its leader
			50ms TERM group 5003 by its leader`,
		members: "100 stopped TERM, 5001 stopped TERM, 5002 stopped TERM, 5003 stopped TERM",
	}, {
		name: "a child forked between verification and SIGTERM, in the group: reached with it",
		world: then(puts(with(orphan(100), onTerm(ignores))), func(k *kernel) {
			k.before("group", 1, func() { k.fork(k.table[100], process{}) })
		}),
		signals: "0s TERM group 100 by its leader, 2s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL",
	}, {
		name:    "a handler's helper in a session of its own, marked",
		world:   puts(with(orphan(100), onTerm(forks(process{ppid: 1, pgid: -1}, exitsNow)))),
		signals: "0s TERM group 100 by its leader, 110ms TERM group 5001 by its leader",
		members: "100 stopped TERM, 5001 stopped TERM",
	}, {
		name:    "a handler's helper without the marker, in the group that the orphan led",
		world:   puts(with(orphan(100), onTerm(forks(with(process{ppid: 1}, unmarked), exitsNow)))),
		signals: "0s TERM group 100 by its leader, 110ms TERM group 100",
		members: "100 stopped TERM, 5001 stopped TERM",
	}, {
		name:    "a handler's helper that nothing proves is left alone",
		world:   puts(with(orphan(100), onTerm(forks(detached, exitsNow)))),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
	}, {
		name:    "a handler's helper that is deaf gets what is left of the grace",
		world:   puts(with(orphan(100), onTerm(forks(process{ppid: 1, pgid: -1, term: ignores}, exitsNow)))),
		signals: "0s TERM group 100 by its leader, 110ms TERM group 5001 by its leader, 2s KILL group 5001 by its leader",
		members: "100 stopped TERM, 5001 stopped TERM+KILL",
	}, {
		name: "one that is born after the grace is killed at once, and waited for",
		world: puts(with(orphan(100), onTerm(ignores), onDeath(func(k *kernel, p *process) {
			k.fork(p, process{ppid: 1, pgid: -1, kill: exits(900 * time.Millisecond)})
		}))),
		signals: "0s TERM group 100 by its leader, 2s KILL group 100 by its leader, 2.11s KILL group 5001 by its leader",
		members: "100 stopped TERM+KILL, 5001 stopped KILL",
	}, {
		name:    "one that is found as the wait after SIGKILL ends is waited for a little longer",
		options: func(o *sweep.Options) { o.Confirm = d(300 * time.Millisecond) },
		world: puts(with(orphan(100), onTerm(ignores), onKill(func(k *kernel, p *process) {
			k.after(280*time.Millisecond, func() { k.fork(p, process{pgid: -1, kill: exits(200 * time.Millisecond)}) })
		}))),
		signals: "0s TERM group 100 by its leader, 2s KILL group 100 by its leader, 2.3s KILL group 5001 by its leader",
		members: "100 stop-unconfirmed TERM+KILL, 5001 stopped KILL",
		exit:    sweep.ExitLeft,
	}, {
		name:    "a respawner and its child go together",
		world:   puts(with(orphan(100), onTerm(exits(30*time.Millisecond))), with(orphan(101), child(100), onDeath(startedBy(100, process{pgid: -1})))),
		signals: "0s TERM group 100 by its leader, 0s TERM group 101 by its leader, 140ms TERM group 5001 by its leader",
		members: "100 stopped TERM, 101 stopped TERM, 5001 stopped TERM",
	}, {
		name: "a respawner that is deaf: its last child goes with it",
		world: puts(with(orphan(100), onTerm(ignores)), with(orphan(101), child(100), unmarked,
			onDeath(startedBy(100, process{pgid: -1, term: ignores})))),
		signals: `0s TERM group 100 by its leader, 0s TERM group 101 by its leader, 60ms TERM group 5001 by its leader
			2s KILL group 100 by its leader, 2s KILL group 5001 by its leader`,
		members: "100 stopped TERM+KILL, 101 stopped TERM, 5001 stopped TERM+KILL",
	}, {
		name: "an orphan that followed a member is taken in the same sweep",
		world: puts(with(orphan(100), onTerm(exits(30*time.Millisecond))), with(process{pid: 200}, marked(100)),
			with(process{pid: 201}, marked(outsider))),
		signals: "0s TERM group 100 by its leader, 140ms TERM group 200 by its leader",
		members: "100 stopped TERM, 200 stopped TERM",
		spared:  "201 parent-running",
	}, {
		name: "an orphan that has nothing to do with it is the next sweep's",
		world: then(puts(with(orphan(100), onTerm(exits(30*time.Millisecond))), process{pid: 90}, with(process{pid: 200}, marked(90))), func(k *kernel) {
			k.at(20*time.Millisecond, func() { k.exit(k.table[90]) })
		}),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
		spared:  "200 parent-running",
	}, {
		name: "a number that is used again has no group that the exited member led",
		world: puts(with(orphan(100), onTerm(exits(10*time.Millisecond)), onDeath(func(k *kernel, p *process) {
			k.spawn(process{pid: 100, argv: words("/bin/stranger"), stranger: true, start: bootTick})
			k.spawn(process{pid: 101, pgid: 100, argv: words("/bin/stranger"), stranger: true, start: bootTick})
		})), with(orphan(200), onTerm(ignores))),
		signals: "0s TERM group 100 by its leader, 0s TERM group 200 by its leader, 2s KILL group 200 by its leader",
		members: "100 stopped TERM, 200 stopped TERM+KILL",
	}})
}

func TestStopNamesWhoStartsThemAgain(t *testing.T) {
	supervisor := process{pid: 90, argv: words("/bin/supervise -a")}
	again := with(orphan(0), child(90))
	inSession := func(p *process) { p.pgid, p.sid = 100, 100 }
	next := with(orphan(0), inSession)
	tell(t, []story{{
		name:    "a parent outside that runs",
		world:   puts(supervisor, with(orphan(100), child(90), onDeath(respawns(20*time.Millisecond, again)))),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM, 5001 stop-unconfirmed",
		says:    []string{"5001: started again by supervise (90)"},
		exit:    sweep.ExitLeft,
	}, {
		name:    "a parent outside, while another orphan is waited for",
		world:   puts(supervisor, with(orphan(100), child(90), onDeath(respawns(20*time.Millisecond, again))), with(orphan(200), onTerm(ignores))),
		signals: "0s TERM group 200 by its leader, 0s TERM group 100 by its leader, 2s KILL group 200 by its leader",
		members: "200 stopped TERM+KILL, 5001 stop-unconfirmed, 100 stopped TERM",
		exit:    sweep.ExitLeft,
	}, {
		name: "started again and gone again before the last look",
		world: then(puts(supervisor, with(orphan(100), child(90), onDeath(respawns(10*time.Millisecond, again)))), func(k *kernel) {
			k.at(50*time.Millisecond, func() { k.exit(k.table[5001]) })
		}),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
	}, {
		name:    "someone unseen, once all have exited",
		world:   puts(with(orphan(100), onDeath(respawns(30*time.Millisecond, orphan(0))))),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM, 5001 stop-unconfirmed",
		says:    []string{"5001: started again by someone unseen; its parent is init (1)"},
		exit:    sweep.ExitLeft,
	}, {
		name:    "in its session, where nobody else was: it changes its pid, and is stopped",
		world:   puts(with(orphan(100), onDeath(respawns(30*time.Millisecond, next)))),
		signals: "0s TERM group 100 by its leader, 110ms TERM group 100",
		members: "100 stopped TERM, 5001 stopped TERM",
	}, {
		name: "the same, once more before the first signal, and not to be read then",
		world: then(puts(with(orphan(100), onDeath(respawns(0, with(next, onDeath(respawns(0, next)))))), orphan(200)), func(k *kernel) {
			k.before("survey", 2, func() { k.exit(k.table[100]) })
			k.faults = []fault{{in: "inspect", pid: 5001, err: errUnreadable}}
			k.at(50*time.Millisecond, func() { k.exit(k.table[5001]) })
		}),
		signals: "0s TERM group 200 by its leader, 110ms TERM group 100",
		members: "100 vanished, 200 stopped TERM, 5002 stopped TERM",
	}, {
		name:    "in its session, which another one is about to leave",
		world:   puts(with(orphan(100), onDeath(respawns(30*time.Millisecond, next))), process{pid: 90, sid: 100, ending: true}),
		signals: "0s TERM 100, 110ms TERM 5001",
		members: "100 stopped TERM, 5001 stopped TERM",
	}, {
		name:  "in its session, where something is that is only reported",
		rules: "rules: [{name: r, marker: [MARK], orphan: [follows: MARK]}, {name: k, marker: [KEEP], orphan: [follows: KEEP], action: report}]\n",
		world: puts(with(orphan(100), onDeath(respawns(30*time.Millisecond, next))),
			process{pid: 200, sid: 100, env: []string{fmt.Sprintf("KEEP=%d", dead)}}),
		signals: "0s TERM 100",
		members: "100 stopped TERM, 5001 stop-unconfirmed, 200 reported",
		exit:    sweep.ExitLeft,
	}, {
		name:  "in its session, when not all could be read",
		rules: "rules: [{name: r, marker: [MARK], orphan: [follows: MARK]}, {name: k, marker: [KEEP], orphan: [follows: KEEP]}]\n",
		world: then(puts(with(orphan(100), onDeath(respawns(30*time.Millisecond, next))), process{pid: 200, env: []string{fmt.Sprintf("KEEP=%d", dead)}}), func(k *kernel) {
			k.faults = []fault{{in: "inspect", pid: 200, from: 4 * time.Millisecond, err: errStalled}}
		}),
		signals: "0s TERM 100",
		members: "100 stopped TERM, 5001 stop-unconfirmed, 200 stop-unconfirmed",
		exit:    sweep.ExitLeft,
	}, {
		name: "in its session, where somebody may be hidden",
		world: then(puts(with(orphan(100), onDeath(respawns(30*time.Millisecond, next)))), func(k *kernel) {
			k.hides = true
		}),
		signals: "0s TERM 100",
		members: "100 stopped TERM, 5001 stop-unconfirmed",
		exit:    sweep.ExitLeft,
	}, {
		name: "in its session, where somebody else is as well",
		world: puts(with(orphan(100), onDeath(respawns(30*time.Millisecond, next))),
			with(process{pid: 90, argv: words("/bin/supervise")}, func(p *process) { p.sid = 100 })),
		signals: "0s TERM 100",
		members: "100 stopped TERM, 5001 stop-unconfirmed",
		says:    []string{"5001: in the group of what was stopped, 100: it changes its pid, or was started again there; its parent is init (1)"},
		exit:    sweep.ExitLeft,
	}, {
		name: "a straggler, born before the last exit, is no such thing",
		world: puts(with(orphan(100), onTerm(func(k *kernel, p *process) {
			k.after(30*time.Millisecond, func() { k.fork(p, process{ppid: 1, pgid: -1}) })
			k.after(35*time.Millisecond, func() { k.exit(p) })
		}))),
		signals: "0s TERM group 100 by its leader, 140ms TERM group 5001 by its leader",
		members: "100 stopped TERM, 5001 stopped TERM",
	}, {
		name:  "by the command line where a rule has no marker",
		rules: "rules: [{name: r, command: [worker], marker: none, orphan: [adopted]}]\n",
		world: puts(process{pid: 100, argv: words("/bin/worker -x"), death: respawns(30*time.Millisecond, process{argv: words("/bin/worker -x")})},
			process{pid: 200, argv: words("/bin/worker -y"), ppid: outsider}),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM, 5001 stop-unconfirmed",
		spared:  "200 not-adopted",
		exit:    sweep.ExitLeft,
	}})
}

// What forks faster than it can be stopped ends in bounded time, and truthfully.
func TestStopIsBoundedAgainstForkStorms(t *testing.T) {
	for _, s := range []story{{
		name:  "one that forks until it is killed",
		world: puts(with(orphan(100), onTerm(ignores), func(p *process) { p.life = forksEvery(20*time.Millisecond, process{ppid: 1, pgid: -1, term: ignores}) })),
	}, {
		name: "each generation forks the next before it can be stopped",
		world: func(k *kernel) {
			var next process
			next = process{pid: 0, pgid: -1, ppid: 1, env: orphan(0).env, death: func(k *kernel, p *process) { k.fork(p, next) }}
			first := next
			first.pid, first.pgid = 100, 0
			k.spawn(first)
		},
		exit: sweep.ExitLeft,
	}, {
		name: "a frozen one that forks for ever",
		world: puts(with(orphan(100), onTerm(ignores), onKill(ignores), func(p *process) {
			p.life = forksEvery(30*time.Millisecond, process{ppid: 1, pgid: -1, term: ignores})
		})),
		exit: sweep.ExitLeft,
	}} {
		t.Run(s.name, func(t *testing.T) {
			got := play(t, s)
			for _, problem := range got.problems() {
				t.Error(problem)
			}
			if got.report.Exit != s.exit || got.took > 15*time.Second {
				t.Errorf("exit status %d after %v, %+v", got.report.Exit, got.took, got.report.Totals)
			}
			left := 0
			for _, p := range got.k.past {
				left += truth(!p.exited() && len(p.env) > 0)
			}
			if s.exit == sweep.ExitDone && left > 0 {
				t.Errorf("%d still run", left)
			}
		})
	}
}

func TestStopIsInterrupted(t *testing.T) {
	cancelled := func(at time.Duration) func(k *kernel) {
		return func(k *kernel) { k.at(at, func() { k.cancel() }) }
	}
	deaf := with(orphan(100), onTerm(ignores), onKill(frozen))
	tell(t, []story{{
		name:  "while the plan is made: nothing was done",
		world: then(puts(deaf), cancelled(2*time.Millisecond)),
		err:   context.Canceled,
	}, {
		name:    "before the first signal: none is sent",
		world:   then(puts(deaf), cancelled(4*time.Millisecond)),
		members: "100 stop-unconfirmed",
		says:    []string{"100: not seen to exit before the sweep was interrupted"},
		exit:    sweep.ExitInterrupted,
	}, {
		name:    "during the grace: no SIGKILL",
		world:   then(puts(deaf, orphan(200)), cancelled(time.Second)),
		signals: "0s TERM group 100 by its leader, 0s TERM group 200 by its leader",
		members: "100 stop-unconfirmed TERM, 200 stopped TERM",
		says:    []string{"100: not seen to exit before the sweep was interrupted"},
		exit:    sweep.ExitInterrupted,
	}, {
		name:    "as the reading before SIGKILL is made: no SIGKILL",
		world:   then(puts(deaf), cancelled(verified+2*time.Second+readCost/2)),
		signals: "0s TERM group 100 by its leader",
		members: "100 stop-unconfirmed TERM",
		exit:    sweep.ExitInterrupted,
	}, {
		name:    "after SIGKILL",
		world:   then(puts(deaf), cancelled(verified+2500*time.Millisecond)),
		signals: "0s TERM group 100 by its leader, 2s KILL group 100 by its leader",
		members: "100 stop-unconfirmed TERM+KILL",
		exit:    sweep.ExitInterrupted,
	}, {
		name:    "before the last look: what has exited is stopped",
		world:   then(puts(orphan(100)), cancelled(50*time.Millisecond)),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
		exit:    sweep.ExitInterrupted,
	}})
	for _, at := range []time.Duration{time.Second, verified + 2500*time.Millisecond} {
		if got := play(t, story{world: then(puts(deaf), cancelled(at))}); got.took != at || got.report.Cut {
			t.Errorf("interrupted after %v, ended after %v, census cut %v", at, got.took, got.report.Cut)
		}
	}
}

// Members of another user stay, and a group that one is in is signalled one by one.
func TestStopLeavesOtherUsersAlone(t *testing.T) {
	tell(t, []story{{
		name: "below an orphan, in its group",
		world: puts(orphan(100), with(process{pid: 101, uid: me + 1}, child(100), inGroup(100)),
			with(process{pid: 102}, child(101), inGroup(100))),
		signals: "0s TERM 100, 0s TERM 102",
		members: "100 stopped TERM, 102 stopped TERM",
		says:    []string{fmt.Sprintf("left 101: other-user belongs to user %d", me+1)},
	}})
}
