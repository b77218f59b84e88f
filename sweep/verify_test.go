package sweep_test

import (
	"testing"
	"time"

	"reaper/platform"
	"reaper/sweep"
)

// A sweep reads the table (scan, survey, inspect), opens its handles, reads it
// again (survey, inspect) and signals at 5 ms.
const verified = 5 * time.Millisecond

func TestStopVerifiesBeforeTheFirstSignal(t *testing.T) {
	tell(t, []story{{
		name:    "gone before its handle was opened",
		world:   then(puts(orphan(100), orphan(200)), func(k *kernel) { k.before("open", 1, func() { k.exit(k.table[100]) }) }),
		signals: "0s TERM group 200 by its leader",
		members: "100 vanished, 200 stopped TERM",
	}, {
		name:    "gone before it was verified",
		world:   then(puts(orphan(100)), func(k *kernel) { k.before("survey", 2, func() { k.exit(k.table[100]) }) }),
		members: "100 vanished",
	}, {
		name:    "gone after it was verified",
		world:   then(puts(orphan(100)), func(k *kernel) { k.before("exited", 1, func() { k.exit(k.table[100]) }) }),
		members: "100 vanished",
	}, {
		name: "its pid is a stranger's before the handle was opened",
		world: then(puts(with(orphan(100), onDeath(recycles)), orphan(200)), func(k *kernel) {
			k.before("open", 1, func() { k.exit(k.table[100]) })
		}),
		signals: "0s TERM group 200 by its leader",
		members: "100 recycled, 200 stopped TERM",
	}, {
		name: "its pid is a stranger's between handle and verification",
		world: then(puts(with(orphan(100), onDeath(recycles)), orphan(200)), func(k *kernel) {
			k.before("survey", 2, func() { k.exit(k.table[100]) })
		}),
		signals: "0s TERM group 200 by its leader",
		members: "100 vanished, 200 stopped TERM",
	}, {
		name:    "executes another program without the marker",
		world:   then(puts(orphan(100)), func(k *kernel) { k.before("survey", 2, func() { execs()(k, k.table[100]) }) }),
		members: "100 changed",
		says:    []string{"100: no longer part of an orphan's tree"},
	}, {
		name: "executes another program that follows a running one",
		world: then(puts(orphan(100), orphan(200)), func(k *kernel) {
			k.before("survey", 2, func() { execs("MARK=300")(k, k.table[100]) })
		}),
		signals: "0s TERM group 200 by its leader",
		members: "200 stopped TERM",
		spared:  "100 parent-running",
	}, {
		name: "the pid that it follows is held again",
		world: then(puts(orphan(100)), func(k *kernel) {
			k.before("survey", 2, func() { k.spawn(process{pid: dead}) })
		}),
		spared: "100 possibly-recycled",
	}, {
		name: "executes a program that is protected",
		world: then(puts(orphan(100)), func(k *kernel) {
			k.before("survey", 2, func() { k.table[100].argv = words("tmux new") })
		}),
		spared: "100 protected",
	}, {
		name: "has a child by then that follows a running one",
		world: then(puts(orphan(100), with(orphan(101), child(100))), func(k *kernel) {
			k.before("survey", 2, func() { k.fork(k.table[101], with(process{}, marked(outsider))) })
		}),
		spared: "100 hosts-live-work, 101 hosts-live-work, 5001 parent-running",
	}})
}

func TestStopVerifiesBeforeEachFurtherSignal(t *testing.T) {
	tell(t, []story{{
		name: "its pid is a stranger's during the grace",
		world: then(puts(with(orphan(100), onTerm(exits(time.Second)), onDeath(recycles)), with(orphan(200), onTerm(ignores))), func(k *kernel) {
			k.faults = []fault{{in: "wait", err: errUnreadable}} // so that the exit is not seen as it happens
		}),
		signals: "0s TERM group 100 by its leader, 0s TERM group 200 by its leader, 2s KILL group 200 by its leader",
		members: "100 stopped TERM, 200 stopped TERM+KILL",
	}, {
		name: "its pid is a stranger's and its handle does not answer",
		world: then(puts(with(orphan(100), inGroup(40), onDeath(recycles))), func(k *kernel) {
			k.faults = []fault{{in: "exited", from: verified + time.Millisecond, err: errUnreadable}, {in: "wait", err: errUnreadable}}
		}),
		signals: "0s TERM 100",
		members: "100 stopped TERM",
	}, {
		name: "it is gone and its handle does not answer",
		world: then(puts(orphan(100)), func(k *kernel) {
			k.faults = []fault{{in: "exited", from: verified + time.Millisecond, err: errUnreadable}, {in: "wait", err: errUnreadable}}
		}),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
	}, {
		name: "its pid is a stranger's right before SIGKILL",
		world: then(puts(with(orphan(100), onTerm(ignores), onDeath(recycles))), func(k *kernel) {
			k.at(verified+2*time.Second+readCost/2, func() { k.exit(k.table[100]) })
		}),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
	}, {
		name:    "executes another program on SIGTERM: no SIGKILL",
		world:   puts(with(orphan(100), onTerm(execs()))),
		signals: "0s TERM group 100 by its leader",
		members: "100 changed TERM",
	}, {
		name: "executes another program on SIGTERM and exits before the sweep ends: stopped",
		world: puts(with(orphan(100), onTerm(func(k *kernel, p *process) {
			execs()(k, p)
			exits(time.Second)(k, p)
		})), with(orphan(200), onTerm(ignores))),
		signals: "0s TERM group 100 by its leader, 0s TERM group 200 by its leader, 2s KILL group 200 by its leader",
		members: "100 stopped TERM, 200 stopped TERM+KILL",
	}, {
		name:    "follows a running process since SIGTERM: no SIGKILL",
		world:   puts(with(orphan(100), onTerm(execs("MARK=300"))), with(orphan(101), child(100), onTerm(ignores))),
		signals: "0s TERM group 100 by its leader, 0s TERM group 101 by its leader, 2s KILL group 101 by its leader",
		members: "100 changed TERM, 101 stopped TERM+KILL",
		says:    []string{"100: follows 300 (MARK), which is running"},
	}, {
		name: "the pid that it follows is held again since SIGTERM: no SIGKILL",
		world: puts(with(orphan(100), onTerm(func(k *kernel, p *process) {
			k.spawn(process{pid: dead})
		}))),
		signals: "0s TERM group 100 by its leader",
		members: "100 changed TERM",
		says:    []string{"possibly recycled"},
	}, {
		name:    "another member hosts live work since SIGTERM: no SIGKILL for the path to it",
		world:   puts(with(orphan(100), onTerm(ignores)), with(orphan(101), child(100), onTerm(forks(with(process{}, marked(outsider)), ignores))), with(orphan(102), child(100), onTerm(ignores))),
		signals: "0s TERM group 100 by its leader, 0s TERM group 101 by its leader, 0s TERM group 102 by its leader, 2s KILL group 102 by its leader",
		members: "100 changed TERM, 101 changed TERM, 102 stopped TERM+KILL",
		spared:  "",
	}})
}

// What says nothing of a process is not a no.
func TestStopTakesDoubtForNoAnswer(t *testing.T) {
	blank := func(pid int, from, to time.Duration) func(*kernel) {
		return func(k *kernel) {
			k.at(from, func() { k.table[pid].blank = true })
			k.at(to, func() { k.table[pid].blank = false })
		}
	}
	tell(t, []story{{
		name:    "within an exec as it is verified: asked again",
		world:   then(puts(orphan(100)), blank(100, 4*time.Millisecond, 20*time.Millisecond)),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
	}, {
		name:    "within an exec as it is verified, another one not",
		world:   then(puts(orphan(100), orphan(200)), blank(100, 4*time.Millisecond, 20*time.Millisecond)),
		signals: "0s TERM group 200 by its leader, 50ms TERM group 100 by its leader",
		members: "100 stopped TERM, 200 stopped TERM",
	}, {
		name: "exiting as it is verified",
		world: then(puts(orphan(100)), func(k *kernel) {
			k.at(4*time.Millisecond, func() { k.table[100].ending = true })
			k.at(30*time.Millisecond, func() { k.exit(k.table[100]) })
		}),
		members: "100 vanished",
	}, {
		name: "no environment ever again",
		world: then(puts(orphan(100)), func(k *kernel) {
			k.at(4*time.Millisecond, func() { k.table[100].blank = true })
		}),
		members: "100 stop-unconfirmed",
		says:    []string{"100: it could not be read again"},
		exit:    sweep.ExitLeft,
	}, {
		name:    "within an exec at the end of the grace: killed once it can be read",
		world:   then(puts(with(orphan(100), onTerm(ignores))), blank(100, 1900*time.Millisecond, 2030*time.Millisecond)),
		signals: "0s TERM group 100 by its leader, 2.05s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL",
	}, {
		name: "a root within an exec says nothing of its members",
		world: then(puts(with(orphan(100), onTerm(ignores)), with(orphan(101), child(100), unmarked, onTerm(ignores))),
			blank(100, 500*time.Millisecond, 1000*time.Millisecond)),
		signals: "0s TERM group 100 by its leader, 0s TERM group 101 by its leader, 2s KILL group 100 by its leader, 2s KILL group 101 by its leader",
		members: "100 stopped TERM+KILL, 101 stopped TERM+KILL",
	}, {
		name: "a root of which nothing can be read: no SIGKILL for its members",
		world: then(puts(with(orphan(100), onTerm(ignores)), with(orphan(101), child(100), unmarked, onTerm(ignores))), func(k *kernel) {
			k.at(500*time.Millisecond, func() { k.table[100].lost = true })
		}),
		signals: "0s TERM group 100 by its leader, 0s TERM group 101 by its leader",
		members: "100 stop-unconfirmed TERM, 101 stop-unconfirmed TERM",
		says:    []string{"100: it could not be read again", "101: whether 100 is an orphan could not be told again"},
		exit:    sweep.ExitLeft,
	}, {
		name: "nothing but its pid could be read for a while: not recycled",
		world: then(puts(with(orphan(100), onTerm(ignores))), func(k *kernel) {
			k.at(100*time.Millisecond, func() { k.table[100].lost = true })
			k.at(time.Second, func() { k.table[100].lost = false })
		}),
		signals: "0s TERM group 100 by its leader, 2s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL",
	}, {
		name: "a member that cannot be read in detail is not signalled",
		world: then(puts(orphan(100), with(orphan(101), child(100))), func(k *kernel) {
			k.faults = []fault{{in: "inspect", pid: 101, from: 4 * time.Millisecond, err: errUnreadable}}
		}),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM, 101 stop-unconfirmed",
		says:    []string{"101: it could not be read again"},
		exit:    sweep.ExitLeft,
	}, {
		name: "a child that was never read in detail is left, named, and no success",
		world: then(puts(orphan(100), with(process{pid: 101}, child(100), unmarked)), func(k *kernel) {
			k.faults = []fault{{in: "inspect", pid: 101, err: errUnreadable}}
		}),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
		says:    []string{"left 101: environment-unreadable it could not be read"},
		exit:    sweep.ExitLeft,
	}, {
		name: "children that could not be read at first: one can be later, others exit",
		world: then(puts(with(orphan(100), onTerm(ignores)), with(process{pid: 101}, child(100), inGroup(100), unmarked),
			with(process{pid: 102}, child(100), unmarked), with(process{pid: 103, ending: true}, child(100), unmarked)), func(k *kernel) {
			k.faults = []fault{{in: "inspect", pid: 101, to: time.Second, err: errUnreadable}, {in: "inspect", pid: 102, err: errUnreadable},
				{in: "inspect", pid: 103, err: errUnreadable}}
			k.at(time.Second, func() { k.exit(k.table[102]) })
		}),
		signals: "0s TERM 100, 1.57s TERM 101, 2s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL, 101 stopped TERM",
	}, {
		name: "a child that can be read later and does not stop is no longer left",
		world: then(puts(with(orphan(100), onTerm(ignores)), with(process{pid: 101}, child(100), unmarked, onTerm(ignores), onKill(ignores))), func(k *kernel) {
			k.faults = []fault{{in: "inspect", pid: 101, to: time.Second, err: errUnreadable}}
		}),
		signals: "0s TERM group 100 by its leader, 1.57s TERM group 101 by its leader, 2s KILL group 100 by its leader, 2s KILL group 101 by its leader",
		members: "100 stopped TERM+KILL, 101 stop-unconfirmed TERM+KILL",
		exit:    sweep.ExitLeft,
	}, {
		name: "a read that hangs costs its process the signal, nobody else, and no group is trusted",
		world: then(puts(orphan(100), with(orphan(101), child(100), inGroup(100)), orphan(200)), func(k *kernel) {
			k.faults = []fault{{in: "inspect", pid: 200, from: 4 * time.Millisecond, err: errStalled}}
		}),
		signals: "0s TERM 100, 0s TERM 101",
		members: "100 stopped TERM, 101 stopped TERM, 200 stop-unconfirmed",
		exit:    sweep.ExitLeft,
	}})
}

func TestStopReadsOnWhereAReadingFails(t *testing.T) {
	failing := func(in string, from, to time.Duration) func(*kernel) {
		return func(k *kernel) { k.faults = []fault{{in: in, from: from, to: to, err: errUnreadable}} }
	}
	deaf := with(orphan(100), onTerm(ignores))
	slow := with(orphan(100), onTerm(exits(1500*time.Millisecond)))
	const grace = verified + 2*time.Second
	tell(t, []story{{
		name:    "none that verifies: no signal at all",
		world:   then(puts(deaf), failing("survey", 3*time.Millisecond, 0)),
		members: "100 stop-unconfirmed",
		says:    []string{"100: not verified, so not signalled: unreadable"},
		exit:    sweep.ExitLeft,
	}, {
		name:    "the first that verifies: done again",
		world:   then(puts(orphan(100)), failing("survey", 3*time.Millisecond, 4*time.Millisecond)),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
	}, {
		name:    "during the grace: no SIGKILL before its end",
		world:   then(puts(deaf), failing("scan", 10*time.Millisecond, grace-time.Millisecond)),
		signals: "0s TERM group 100 by its leader, 2s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL",
	}, {
		name:    "all through a long grace: the exit is waited for",
		options: func(o *sweep.Options) { o.Grace = d(20 * time.Second) },
		world:   then(puts(with(orphan(100), onTerm(exits(19*time.Second)))), failing("scan", 10*time.Millisecond, 18*time.Second)),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
	}, {
		name:    "at the end of the grace: SIGKILL once one succeeds",
		world:   then(puts(deaf), failing("survey", 10*time.Millisecond, grace+120*time.Millisecond)),
		signals: "0s TERM group 100 by its leader, 2.16s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL",
	}, {
		name:    "for ever: no SIGKILL, and that is told",
		world:   then(puts(deaf), failing("scan", 10*time.Millisecond, 0)),
		signals: "0s TERM group 100 by its leader",
		members: "100 stop-unconfirmed TERM",
		says:    []string{"not verified again, so not killed: unreadable"},
		exit:    sweep.ExitLeft,
	}, {
		name:    "the last look alone: done again",
		world:   then(puts(orphan(100)), failing("scan", 100*time.Millisecond, 150*time.Millisecond)),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
	}, {
		name:    "for ever, and all exit: the last look is missing, and the status tells",
		world:   then(puts(slow), failing("scan", 10*time.Millisecond, 0)),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
		exit:    sweep.ExitLeft,
	}, {
		name:    "a wait that fails is no answer either",
		world:   then(puts(deaf, with(orphan(200), onTerm(exits(time.Second)))), failing("wait", 0, 0)),
		signals: "0s TERM group 100 by its leader, 0s TERM group 200 by its leader, 2s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL, 200 stopped TERM",
	}, {
		name:    "handles that cannot be asked: signalled one by one, the exits seen by the wait",
		world:   then(puts(deaf), failing("exited", 0, 0)),
		signals: "0s TERM 100, 2s KILL 100",
		members: "100 stopped TERM+KILL",
	}})
}

func TestStopIsRefused(t *testing.T) {
	tell(t, []story{{
		name: "a signal that is not permitted: denied, the others get theirs",
		world: then(puts(orphan(100), orphan(200)), func(k *kernel) {
			k.faults = []fault{{in: "group", pid: 0, err: platform.ErrDenied}, {in: "signal", pid: 100, err: platform.ErrDenied}}
		}),
		signals: `0s TERM group 100 by its leader failed, 0s TERM 100 failed
			0s TERM group 200 by its leader failed, 0s TERM 200`,
		members: "100 denied, 200 stopped TERM",
		exit:    sweep.ExitLeft,
	}, {
		name: "no handle is to be had: nothing is signalled without one",
		world: then(puts(orphan(100), with(orphan(101), child(100), inGroup(100)), orphan(200)), func(k *kernel) {
			k.faults = []fault{{in: "open", pid: 100, err: errTooMany}}
		}),
		signals: "0s TERM 101, 0s TERM group 200 by its leader",
		members: "100 stop-unconfirmed, 101 stopped TERM, 200 stopped TERM",
		says:    []string{"100: too many open files"},
		exit:    sweep.ExitLeft,
	}, {
		name: "no handle on any",
		world: then(puts(orphan(100), orphan(200)), func(k *kernel) {
			k.faults = []fault{{in: "open", err: errTooMany}}
		}),
		members: "100 stop-unconfirmed, 200 stop-unconfirmed",
		exit:    sweep.ExitLeft,
	}, {
		name: "no handle, and it exits meanwhile",
		world: then(puts(orphan(100), with(orphan(200), onTerm(exits(time.Second)))), func(k *kernel) {
			k.faults = []fault{{in: "open", pid: 100, err: errTooMany}}
			k.at(500*time.Millisecond, func() { k.exit(k.table[100]) })
		}),
		signals: "0s TERM group 200 by its leader",
		members: "100 vanished, 200 stopped TERM",
	}, {
		name: "a signal that fails for no known reason: told, and tried again with SIGKILL",
		world: then(puts(with(orphan(100), inGroup(40), onTerm(ignores))), func(k *kernel) {
			k.faults = []fault{{in: "signal", to: time.Second, err: errTooMany}}
		}),
		signals: "0s TERM 100 failed, 50ms TERM 100 failed, 160ms TERM 100 failed, 360ms TERM 100 failed, 760ms TERM 100 failed, 1.57s TERM 100, 2s KILL 100",
		members: "100 stopped TERM+KILL",
	}})
}
