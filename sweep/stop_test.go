package sweep_test

import (
	"fmt"
	"testing"
	"time"

	"reaper/platform"
	"reaper/sweep"
)

func TestStopEscalates(t *testing.T) {
	tell(t, []story{{
		name:    "what ends on SIGTERM gets nothing else",
		world:   puts(orphan(100)),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
	}, {
		name:    "a slow exit within the grace is waited for",
		world:   puts(with(orphan(100), onTerm(exits(1900*time.Millisecond)))),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
	}, {
		name:    "what ignores SIGTERM is killed at the end of the grace and not before",
		world:   puts(with(orphan(100), onTerm(ignores))),
		signals: "0s TERM group 100 by its leader, 2s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL",
	}, {
		name:    "all trees get SIGTERM before any gets SIGKILL",
		world:   puts(with(orphan(100), onTerm(ignores)), orphan(200), with(orphan(201), inGroup(200)), orphan(400)),
		signals: "0s TERM group 100 by its leader, 0s TERM group 200 by its leader, 0s TERM group 400 by its leader, 2s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL, 200 stopped TERM, 201 stopped TERM, 400 stopped TERM",
	}, {
		name:    "an exit after SIGTERM without anyone to wait for it is an exit",
		world:   puts(process{pid: 90, neglects: true}, with(orphan(100), child(90))),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
	}, {
		name: "a zombie is no target",
		world: func(k *kernel) {
			k.spawn(process{pid: 90, neglects: true})
			k.exit(k.spawn(with(orphan(100), child(90))))
		},
	}, {
		name:    "what no signal ends is told, the others are stopped all the same",
		world:   puts(with(orphan(100), onTerm(frozen), onKill(frozen)), orphan(200)),
		signals: "0s TERM group 100 by its leader, 0s TERM group 200 by its leader, 2s KILL group 100 by its leader",
		members: "100 stop-unconfirmed TERM+KILL, 200 stopped TERM",
		says:    []string{"100: still running 1s after SIGKILL (state D)"},
		exit:    sweep.ExitLeft,
	}, {
		name:    "a slow death after SIGKILL is waited for",
		world:   puts(with(orphan(100), onTerm(ignores), onKill(exits(900*time.Millisecond)))),
		signals: "0s TERM group 100 by its leader, 2s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL",
	}, {
		name: "each rule has its own grace, counted from the first signal of all",
		rules: `rules:
  - {name: slow, marker: [SLOW], orphan: [adopted], stop: {grace: 4s}}
  - {name: fast, marker: [MARK], orphan: [follows: MARK], stop: {grace: 500ms, confirm: 300ms}}
`,
		world: puts(process{pid: 100, env: words("SLOW=1"), term: ignores}, with(orphan(200), onTerm(ignores), onKill(frozen))),
		signals: `0s TERM group 100 by its leader, 0s TERM group 200 by its leader, 500ms KILL group 200 by its leader
			4s KILL group 100 by its leader`,
		members: "100 stopped TERM+KILL, 200 stop-unconfirmed TERM+KILL",
		says:    []string{"200: still running 300ms after SIGKILL"},
		exit:    sweep.ExitLeft,
	}, {
		name:    "flags override what rules say",
		rules:   "rules: [{name: r, marker: [MARK], orphan: [follows: MARK], stop: {grace: 60s, confirm: 60s}}]\n",
		options: func(o *sweep.Options) { o.Grace, o.Confirm = d(time.Second), d(2*time.Second) },
		world:   puts(with(orphan(100), onTerm(ignores), onKill(frozen))),
		signals: "0s TERM group 100 by its leader, 1s KILL group 100 by its leader",
		members: "100 stop-unconfirmed TERM+KILL",
		says:    []string{"still running 2s after SIGKILL"},
		exit:    sweep.ExitLeft,
	}, {
		name:    "no grace: SIGKILL follows SIGTERM at once",
		options: func(o *sweep.Options) { o.Grace = d(0) },
		world:   puts(with(orphan(100), onTerm(ignores)), orphan(200)),
		signals: "0s TERM group 100 by its leader, 0s TERM group 200 by its leader, 0s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL, 200 stopped TERM",
	}, {
		name:    "no grace: verified again all the same",
		options: func(o *sweep.Options) { o.Grace = d(0) },
		world: puts(with(orphan(100), onTerm(execs("MARK=300"))), with(orphan(200), onTerm(func(k *kernel, p *process) {
			k.fork(p, with(process{}, marked(outsider)))
		}))),
		signals: "0s TERM group 100 by its leader, 0s TERM group 200 by its leader",
		members: "100 changed TERM, 200 changed TERM",
	}, {
		name:    "no confirmation: what exits at once is seen to have exited",
		options: func(o *sweep.Options) { o.Grace, o.Confirm = d(0), d(0) },
		world:   puts(with(orphan(100), onTerm(ignores)), with(orphan(200), onTerm(ignores), onKill(frozen))),
		signals: "0s TERM group 100 by its leader, 0s TERM group 200 by its leader, 0s KILL group 100 by its leader, 0s KILL group 200 by its leader",
		members: "100 stopped TERM+KILL, 200 stop-unconfirmed TERM+KILL",
		exit:    sweep.ExitLeft,
	}})
}

func TestStopByGroupOnlyWhereTheGroupIsWhole(t *testing.T) {
	tell(t, []story{{
		name:    "a group with a bystander is signalled one by one",
		world:   puts(process{pid: 90}, with(orphan(100), inGroup(90), onTerm(ignores)), with(orphan(101), inGroup(90))),
		signals: "0s TERM 100, 0s TERM 101, 2s KILL 100",
		members: "100 stopped TERM+KILL, 101 stopped TERM",
	}, {
		name:    "by number only, while a member is held, where the leader has exited",
		world:   puts(with(orphan(100), inGroup(90)), with(orphan(101), inGroup(90), child(100))),
		signals: "0s TERM group 90",
		members: "100 stopped TERM, 101 stopped TERM",
	}, {
		name: "a zombie is no bystander, but not the handle to signal by",
		world: func(k *kernel) {
			k.spawn(process{pid: 80, neglects: true})
			k.exit(k.spawn(process{pid: 90, ppid: 80}))
			k.spawn(with(orphan(100), inGroup(90)))
		},
		signals: "0s TERM group 90",
		members: "100 stopped TERM",
	}, {
		name:    "never the sweeper's own group",
		world:   puts(with(orphan(100), inGroup(sweeper)), with(orphan(101), inGroup(40))),
		signals: "0s TERM 100, 0s TERM 101",
		members: "100 stopped TERM, 101 stopped TERM",
	}, {
		name:    "never group 1",
		world:   puts(with(orphan(100), inGroup(1))),
		signals: "0s TERM 100",
		members: "100 stopped TERM",
	}, {
		name: "a member that has had its signal does not get it again with a newcomer's",
		world: puts(with(orphan(100), onTerm(func(k *kernel, p *process) {
			k.after(20*time.Millisecond, func() { k.fork(p, process{term: ignores}) })
		}))),
		signals: "0s TERM group 100 by its leader, 60ms TERM 5001, 2s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL, 5001 stopped TERM+KILL",
	}, {
		name: "no group where a process's group is not known: it may be this one",
		world: then(puts(with(orphan(100), inGroup(90)), with(process{pid: 91}, inGroup(90))), func(k *kernel) {
			k.at(2*time.Millisecond, func() { k.table[91].lost = true })
		}),
		signals: "0s TERM 100",
		members: "100 stopped TERM",
	}, {
		name: "a group that cannot be signalled is signalled one by one",
		world: then(puts(orphan(100), with(orphan(101), child(100), inGroup(100))), func(k *kernel) {
			k.faults = []fault{{in: "group", err: platform.ErrDenied}}
		}),
		signals: "0s TERM group 100 by its leader failed, 0s TERM 100, 0s TERM 101",
		members: "100 stopped TERM, 101 stopped TERM",
	}, {
		name: "a group that is gone by then has vanished",
		world: then(puts(orphan(100)), func(k *kernel) {
			k.before("group", 1, func() { k.exit(k.table[100]) })
		}),
		signals: "0s TERM group 100 by its leader failed, 0s TERM 100 failed",
		members: "100 vanished",
	}, {
		name: "a member that exits right before its group's signal has vanished",
		world: then(puts(orphan(100), with(orphan(101), child(100), inGroup(100))), func(k *kernel) {
			// Each is asked once when it is due, and once more for its group.
			k.before("exited", 3, func() { k.exit(k.table[100]) })
		}),
		signals: "0s TERM group 100 by its leader",
		members: "100 vanished, 101 stopped TERM",
	}})
}

func TestStopContinuesWhatIsStopped(t *testing.T) {
	asleep := func(p *process) { p.state = 'T' }
	tell(t, []story{{
		name:    "SIGCONT after SIGTERM, to what is stopped alone, once",
		world:   puts(with(orphan(100), asleep), orphan(200)),
		signals: "0s TERM group 100 by its leader, 0s TERM group 200 by its leader, 0s CONT 100",
		members: "100 stopped TERM+CONT, 200 stopped TERM",
	}, {
		name: "one that stops itself again is killed, not continued again",
		world: puts(with(orphan(100), asleep, onTerm(func(k *kernel, p *process) {
			p.state = 'T'
		}))),
		signals: "0s TERM group 100 by its leader, 0s CONT 100, 2s KILL group 100 by its leader",
		members: "100 stopped TERM+CONT+KILL",
	}, {
		name:    "of a group, the stopped member alone",
		world:   puts(with(orphan(100), onTerm(ignores)), with(orphan(101), child(100), inGroup(100), asleep)),
		signals: "0s TERM group 100 by its leader, 0s CONT 101, 2s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL, 101 stopped TERM+CONT",
	}})
}

func TestStopDoesNothing(t *testing.T) {
	tell(t, []story{{
		name:    "in a dry run",
		dry:     true,
		world:   puts(orphan(100), with(orphan(101), child(100), inGroup(100))),
		members: "100 would-stop, 101 would-stop",
	}, {
		name:    "where there are more orphans than --max",
		options: func(o *sweep.Options) { o.Max = 1 },
		world:   puts(orphan(100), orphan(200)),
		members: "100 would-stop, 200 would-stop",
		says:    []string{"2 orphans are more than --max 1: nothing was stopped"},
		exit:    sweep.ExitLeft,
	}, {
		name:    "in a dry run where there are more orphans than --max",
		dry:     true,
		options: func(o *sweep.Options) { o.Max = 1 },
		world:   puts(orphan(100), orphan(200)),
		members: "100 would-stop, 200 would-stop",
		says:    []string{"2 orphans are more than --max 1: nothing would be stopped"},
	}, {
		name:    "to what a rule reports",
		rules:   "rules: [{name: r, marker: [MARK], orphan: [follows: MARK], action: report}]\n",
		world:   puts(orphan(100), with(orphan(101), child(100))),
		members: "100 reported, 101 reported",
	}, {
		name: "to what a rule reports, while another rule's are stopped",
		rules: `rules:
  - {name: adopt, marker: [KEEP], orphan: [adopted], action: report}
  - {name: r, marker: [MARK], orphan: [follows: MARK]}
`,
		world:   puts(process{pid: 90, env: words("KEEP=1")}, with(orphan(100), onTerm(ignores))),
		signals: "0s TERM group 100 by its leader, 2s KILL group 100 by its leader",
		members: "90 reported, 100 stopped TERM+KILL",
	}, {
		name: "to what a rule reports and exits meanwhile",
		rules: `rules:
  - {name: adopt, marker: [KEEP], orphan: [adopted], action: report}
  - {name: r, marker: [MARK], orphan: [follows: MARK]}
`,
		world: then(puts(process{pid: 90, env: words("KEEP=1")}, with(orphan(100), onTerm(ignores))), func(k *kernel) {
			k.at(time.Second, func() { k.exit(k.table[90]) })
		}),
		signals: "0s TERM group 100 by its leader, 2s KILL group 100 by its leader",
		members: "90 vanished, 100 stopped TERM+KILL",
	}, {
		name:   "where nothing is proven",
		world:  puts(process{pid: 100, env: words(fmt.Sprintf("MARK=%d", outsider))}, process{pid: 200}),
		spared: "100 parent-running",
	}, {
		name:  "where the table cannot be read",
		world: then(puts(orphan(100)), func(k *kernel) { k.faults = []fault{{in: "scan", err: errUnreadable}} }),
		err:   errUnreadable,
	}})
}

// 360 processes that ignore SIGTERM take one grace period, not 360.
func TestStopTakesOneGraceForAll(t *testing.T) {
	got := play(t, story{world: func(k *kernel) {
		for i := range 360 {
			k.spawn(with(orphan(1000+i), onTerm(ignores)))
		}
	}})
	for _, problem := range got.problems() {
		t.Error(problem)
	}
	if got.report.Totals.Stopped != 360 || got.took > 3*time.Second {
		t.Errorf("stopped %d in %v", got.report.Totals.Stopped, got.took)
	}
}
