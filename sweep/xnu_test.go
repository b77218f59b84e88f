package sweep_test

import (
	"errors"
	"testing"
	"time"

	"reaper/platform"
	"reaper/sweep"
)

func TestStopOnXNU(t *testing.T) {
	tell(t, []story{{
		name:    "a group by its number, a slow exit is waited for",
		world:   onXNU(puts(orphan(100), with(orphan(101), child(100), inGroup(100), onTerm(exits(time.Second))))),
		signals: "0s TERM group 100",
		members: "100 stopped TERM, 101 stopped TERM",
	}, {
		name:    "what ignores SIGTERM is killed",
		world:   onXNU(puts(with(orphan(100), onTerm(ignores)))),
		signals: "0s TERM group 100, 2s KILL group 100",
		members: "100 stopped TERM+KILL",
	}, {
		name:    "an exit that nobody waits for is an exit, and what lives in its group is killed all the same",
		world:   onXNU(puts(process{pid: 90, neglects: true}, with(orphan(100), child(90)), with(orphan(101), child(90), inGroup(100), onTerm(ignores)))),
		signals: "0s TERM group 100, 2s KILL group 100",
		members: "100 stopped TERM, 101 stopped TERM+KILL",
	}, {
		name: "the group is one of zombies by then: its members are looked at and have exited",
		world: onXNU(then(puts(process{pid: 90, neglects: true}, with(orphan(100), child(90)), with(orphan(101), child(90), inGroup(100))), func(k *kernel) {
			k.before("group", 1, func() { k.exit(k.table[100]); k.exit(k.table[101]) })
		})),
		signals: "0s TERM group 100 failed, 0s TERM 100 failed, 0s TERM 101 failed",
		members: "100 vanished, 101 vanished",
	}, {
		name: "a group refused though a member lives: one by one",
		world: onXNU(then(puts(orphan(100), with(orphan(101), child(100), inGroup(100))), func(k *kernel) {
			k.faults = []fault{{in: "group", err: platform.ErrDenied}}
		})),
		signals: "0s TERM group 100 failed, 0s TERM 100, 0s TERM 101",
		members: "100 stopped TERM, 101 stopped TERM",
	}, {
		name: "the pid is used again before the first signal: the stranger gets none",
		world: onXNU(then(puts(with(orphan(100), inGroup(40), onDeath(recycles))), func(k *kernel) {
			k.before("signal", 1, func() { k.exit(k.table[100]) })
		})),
		signals: "0s TERM 100 failed",
		members: "100 vanished",
	}, {
		name: "the pid is used again within the grace: stopped, and the stranger gets no SIGKILL",
		world: onXNU(then(puts(with(orphan(100), inGroup(40), onTerm(ignores), onDeath(recycles)), with(orphan(200), onTerm(ignores))), func(k *kernel) {
			k.at(time.Second, func() { k.exit(k.table[100]) })
		})),
		signals: "0s TERM 100, 0s TERM group 200, 2s KILL group 200",
		members: "100 stopped TERM, 200 stopped TERM+KILL",
	}, {
		name:    "the pid of an exited leader is not used again while its group lasts, which is signalled by that number",
		world:   onXNU(puts(with(orphan(100), onDeath(recycles)), with(orphan(101), child(100), inGroup(100), onTerm(ignores)))),
		signals: "0s TERM group 100, 2s KILL group 100",
		members: "100 stopped TERM, 101 stopped TERM+KILL",
	}, {
		name:    "an exec keeps the start: what follows a live process by then gets no SIGKILL",
		world:   onXNU(puts(with(orphan(100), onTerm(execs("MARK=300"))))),
		signals: "0s TERM group 100",
		members: "100 changed TERM",
	}, {
		name:    "another user's, whose arguments and environment are not shown",
		world:   onXNU(puts(orphan(100), with(orphan(101), child(100), inGroup(100), func(p *process) { p.uid = me + 1 }))),
		signals: "0s TERM 100",
		members: "100 stopped TERM",
		says:    []string{"left 101: other-user"},
	}})
}

func TestWithheldOnXNU(t *testing.T) {
	const commanded = "rules: [{name: r, command: [sleep], marker: [MARK], orphan: [follows: MARK]}]\n"
	tell(t, []story{{
		name:  "alone it is not judged",
		world: onXNU(puts(with(orphan(100), apples))),
	}, {
		name:   "alone, with a rule's command: reported",
		rules:  commanded,
		world:  onXNU(puts(with(orphan(100), apples))),
		spared: "100 environment-unreadable",
		says:   []string{"100: macOS does not show"},
	}, {
		name:    "below an orphan it goes with that",
		world:   onXNU(puts(orphan(100), with(process{pid: 101}, child(100), apples), with(process{pid: 102}, child(101), apples))),
		signals: "0s TERM group 100, 0s TERM group 101, 0s TERM group 102",
		members: "100 stopped TERM, 101 stopped TERM, 102 stopped TERM",
	}, {
		name:    "adopted, in a group that an orphan leads",
		world:   onXNU(puts(orphan(100), with(process{pid: 101}, inGroup(100), apples))),
		signals: "0s TERM group 100",
		members: "100 stopped TERM, 101 stopped TERM",
	}, {
		name:    "adopted, in a session that an orphan leads, with a group of its own",
		world:   onXNU(puts(orphan(100), with(process{pid: 101}, inSession(100), apples))),
		signals: "0s TERM group 100, 0s TERM group 101",
		members: "100 stopped TERM, 101 stopped TERM",
	}, {
		name:    "in that session, its parent alive outside the tree",
		world:   onXNU(puts(orphan(100), with(process{pid: 101}, child(outsider), inSession(100), apples))),
		signals: "0s TERM 100",
		members: "100 stopped TERM",
	}, {
		name:    "in that session, unmarked and shown: no more than it ever was",
		world:   onXNU(puts(orphan(100), with(process{pid: 101}, inSession(100)))),
		signals: "0s TERM 100",
		members: "100 stopped TERM",
	}, {
		name:    "in another session",
		world:   onXNU(puts(orphan(100), with(process{pid: 101}, inSession(77), apples))),
		signals: "0s TERM group 100",
		members: "100 stopped TERM",
	}})
}

func TestLaunchdOnXNU(t *testing.T) {
	const adopted = "rules: [{name: r, marker: [MARK], orphan: [adopted]}]\n"
	tell(t, []story{{
		name:    "adopted",
		rules:   adopted,
		world:   onXNU(puts(orphan(100))),
		signals: "0s TERM group 100",
		members: "100 stopped TERM",
	}, {
		name:   "started by launchd, whatever it carries",
		world:  onXNU(puts(with(orphan(100), launched))),
		spared: "100 service",
	}, {
		name:   "started by launchd, and adopted is asked",
		rules:  adopted,
		world:  onXNU(puts(with(orphan(100), launched))),
		spared: "100 service",
	}})
}

func TestRecycledOnXNU(t *testing.T) {
	counts := func(world func(*kernel)) func(*kernel) {
		return onXNU(func(k *kernel) {
			k.counts = true
			world(k)
		})
	}
	stranger := process{pid: dead, stranger: true}
	tell(t, []story{{
		name:   "the followed pid is used again, and the order of births is not shown",
		world:  onXNU(puts(orphan(100), stranger)),
		spared: "100 possibly-recycled",
	}, {
		name:    "it is shown",
		world:   counts(puts(orphan(100), stranger)),
		signals: "0s TERM group 100",
		members: "100 stopped TERM",
		says:    []string{"pid 4242 is another process now"},
	}, {
		name:    "and a member that carries the same number goes along",
		world:   counts(puts(orphan(100), with(orphan(101), child(100)), stranger)),
		signals: "0s TERM group 100, 0s TERM group 101",
		members: "100 stopped TERM, 101 stopped TERM",
	}, {
		name:   "the holder was born before the program that carries its pid was executed: the one that is meant",
		world:  counts(then(puts(orphan(100), stranger), func(k *kernel) { execs("MARK=4242")(k, k.table[100]) })),
		spared: "100 possibly-recycled",
	}, {
		name:   "older than the process: the one that is meant",
		world:  counts(puts(stranger, orphan(100))),
		spared: "100 parent-running",
	}, {
		name: "the pid is used again as it is verified",
		world: counts(then(puts(orphan(100)), func(k *kernel) {
			k.before("survey", 2, func() { k.spawn(stranger) })
		})),
		signals: "0s TERM group 100",
		members: "100 stopped TERM",
	}, {
		name: "executes a program that is given the new holder's pid as it is verified",
		world: counts(then(puts(orphan(100), stranger), func(k *kernel) {
			k.before("survey", 2, func() { execs("MARK=4242")(k, k.table[100]) })
		})),
		spared: "100 possibly-recycled",
	}})
}

func TestStopWithoutTrust(t *testing.T) {
	blind := errors.New("no environment can be seen")
	tell(t, []story{{
		name:    "what is found is reported, and nothing is signalled",
		world:   onXNU(then(puts(orphan(100)), func(k *kernel) { k.blind = blind })),
		members: "100 would-stop",
		says:    []string{"no environment can be seen: nothing was stopped"},
		exit:    sweep.ExitLeft,
	}, {
		name:  "nothing found says nothing where nothing can be seen",
		world: onXNU(func(k *kernel) { k.blind = blind }),
		says:  []string{"no environment can be seen"},
		exit:  sweep.ExitLeft,
	}, {
		name:    "a dry run needs none",
		dry:     true,
		world:   onXNU(then(puts(orphan(100)), func(k *kernel) { k.blind = blind })),
		members: "100 would-stop",
	}})
}
