package sweep_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"reaper/match"
	"reaper/platform"
	"reaper/sweep"
)

// naming makes a sweep stop what these names include and nothing else.
func naming(n match.Names) func(*sweep.Options) {
	n.Why = "named by a test"
	return func(o *sweep.Options) { o.Rules, o.Names = o.Rules.WithoutRules(), &n }
}

func pid100() []platform.Identity { return []platform.Identity{{PID: 100, Start: 1}} }

// first is the process that these stories name.
func first(changes ...func(*process)) process {
	return with(process{pid: 100, start: 1}, changes...)
}

func TestStopNamedTree(t *testing.T) {
	byName := naming(match.Names{IDs: pid100()})
	tell(t, []story{{
		name:    "its tree goes, whatever rules prove elsewhere",
		options: byName,
		world:   puts(first(), with(process{pid: 101}, child(100)), orphan(200)),
		signals: "0s TERM group 100 by its leader, 0s TERM group 101 by its leader",
		members: "100 stopped TERM, 101 stopped TERM",
	}, {
		name:    "what it follows itself does not spare it, nor what has that from it",
		options: byName,
		world:   puts(first(marked(outsider)), with(process{pid: 101}, child(100), inGroup(100), marked(outsider))),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM, 101 stopped TERM",
	}, {
		name:    "live work of somebody else's below it spares it",
		options: byName,
		world:   puts(first(), with(process{pid: 101}, child(100), marked(outsider)), with(process{pid: 102}, child(101))),
		spared:  "100 hosts-live-work, 101 parent-running, 102 parent-running",
	}, {
		name:    "a member that follows a member goes",
		options: byName,
		world:   puts(first(), with(process{pid: 101}, child(100), inGroup(100), marked(100))),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM, 101 stopped TERM",
	}, {
		name:    "what is protected stays",
		options: byName,
		world:   puts(first(), with(process{pid: 101, argv: words("tmux")}, child(100)), with(process{pid: 102}, child(101))),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
		says:    []string{"left 101: protected"},
	}, {
		name:    "a protected root stays",
		options: byName,
		world:   puts(first(func(p *process) { p.argv = words("tmux") })),
		spared:  "100 protected",
	}, {
		name:    "the same pid with another start is another process",
		options: naming(match.Names{IDs: []platform.Identity{{PID: 100, Start: 2}}}),
		world:   puts(first()),
	}, {
		name:    "who takes the pid while handles are opened gets no signal",
		options: byName,
		world: then(puts(first()), func(k *kernel) {
			k.before("open", 1, func() {
				k.exit(k.table[100])
				k.spawn(process{pid: 100, start: 77, stranger: true})
			})
		}),
		members: "100 recycled",
	}, {
		name:    "an exec does not matter: the identity was named",
		options: byName,
		world:   puts(first(onTerm(execs("MARK=300")))),
		signals: "0s TERM group 100 by its leader, 2s KILL group 100 by its leader",
		members: "100 stopped TERM+KILL",
	}, {
		name:    "the rules' own defaults hold",
		rules:   "stop: {grace: 500ms}\n" + followsMark,
		options: byName,
		world:   puts(first(onTerm(ignores))),
		signals: "0s TERM group 100 by its leader, 500ms KILL group 100 by its leader",
		members: "100 stopped TERM+KILL",
	}})
}

// adopting lets the process that asks take in orphans, as a run does.
func adopting(world func(*kernel)) func(*kernel) {
	return func(k *kernel) {
		k.table[sweeper].adopts = true
		world(k)
	}
}

func TestStopWhatIsBelowARun(t *testing.T) {
	mine := naming(match.Names{Mine: true})
	tell(t, []story{{
		name:    "every child, and nobody else's",
		options: mine,
		world:   adopting(puts(process{pid: 100, ppid: sweeper}, with(process{pid: 101}, child(100)), process{pid: 102, ppid: sweeper}, process{pid: 103, ppid: 40}, orphan(200))),
		signals: "0s TERM group 100 by its leader, 0s TERM group 101 by its leader, 0s TERM group 102 by its leader",
		members: "100 stopped TERM, 101 stopped TERM, 102 stopped TERM",
	}, {
		name:    "what follows the run itself is the run's own",
		options: mine,
		world:   adopting(puts(process{pid: 100, ppid: sweeper}, with(process{pid: 101}, child(100), inGroup(100), marked(sweeper)))),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM, 101 stopped TERM",
	}, {
		name:    "what follows somebody else is not",
		options: mine,
		world:   adopting(puts(process{pid: 100, ppid: sweeper}, process{pid: 101, ppid: sweeper}, with(process{pid: 102}, child(101), marked(outsider)))),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
		spared:  "101 hosts-live-work, 102 parent-running",
	}, {
		name:    "a helper that leaves its group when it is asked to end, of another program or the same",
		options: mine,
		world: adopting(puts(
			process{pid: 100, ppid: sweeper, env: words("MARK=50"), term: forks(process{pgid: -1, term: ignores, argv: words("/bin/helper")}, exitsNow)},
			process{pid: 200, ppid: sweeper, env: words("MARK=50"), argv: words("/bin/server"), term: func(k *kernel, p *process) {
				k.after(30*time.Millisecond, func() { k.fork(p, process{pgid: -1, term: ignores}); k.exit(p) })
			}})),
		signals: `0s TERM group 100 by its leader, 0s TERM group 200 by its leader, 140ms TERM group 5001 by its leader, 140ms TERM group 5002 by its leader
			2s KILL group 5001 by its leader, 2s KILL group 5002 by its leader`,
		members: "100 stopped TERM, 200 stopped TERM, 5001 stopped TERM+KILL, 5002 stopped TERM+KILL",
	}, {
		name:    "a server that stays by design stays",
		options: mine,
		world:   adopting(puts(process{pid: 100, ppid: sweeper, argv: words("tmux"), env: words("MARK=50")}, process{pid: 101, ppid: 100, env: words("MARK=50")})),
		spared:  "100 protected",
	}, {
		name:    "where nobody adopts, what carries the mark by itself",
		options: naming(match.Names{Marker: platform.Var{Name: "MARK", Value: "50"}}),
		world: puts(process{pid: 100, env: words("MARK=50")}, process{pid: 101, env: words("MARK=51")}, process{pid: 102, ppid: sweeper}, process{pid: 105, env: words("MARK=50 MARK=51")},
			process{pid: 103, argv: words("tmux"), env: words("MARK=50")}, process{pid: 104, ppid: 103, env: words("MARK=50")}),
		signals: "0s TERM group 100 by its leader",
		members: "100 stopped TERM",
		spared:  "103 protected",
	}})
}

// Asked for one process, it does nothing to those that it never touches, and says so.
func TestStopNamedRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		id    platform.Identity
		exit  int
		calls int
		says  string
	}{
		"one that runs":             {platform.Identity{PID: 100}, sweep.ExitDone, 1, ""},
		"by its identity":           {platform.Identity{PID: 100, Start: 1}, sweep.ExitDone, 1, ""},
		"one of another start":      {platform.Identity{PID: 100, Start: 2}, sweep.ExitDone, 0, "100@2 is not running, 100@1 has its pid now"},
		"a pid that nothing holds":  {platform.Identity{PID: dead}, sweep.ExitDone, 0, "4242 is not running"},
		"a zombie":                  {platform.Identity{PID: 101}, sweep.ExitDone, 0, "101 is not running"},
		"pid 1":                     {platform.Identity{PID: 1}, sweep.ExitLeft, 0, "protected: never touched"},
		"itself":                    {platform.Identity{PID: sweeper}, sweep.ExitLeft, 0, "sweeper: this sweep itself"},
		"its ancestor":              {platform.Identity{PID: 40}, sweep.ExitLeft, 0, "sweeper: an ancestor of this sweep"},
		"another user's":            {platform.Identity{PID: 102}, sweep.ExitLeft, 0, "other-user: belongs to user 1001"},
		"one that cannot be read":   {platform.Identity{PID: 103, Start: 3}, sweep.ExitLeft, 0, "it could not be read"},
		"one that hosts live work":  {platform.Identity{PID: 104}, sweep.ExitLeft, 0, "hosts-live-work: hosts 105"},
		"a server meant to be left": {platform.Identity{PID: 106}, sweep.ExitLeft, 0, "protected: matches protect: tmux"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKernel()
				puts(first(), process{pid: 102, uid: me + 1}, process{pid: 103, start: 3, lost: true}, process{pid: 104},
					with(process{pid: 105}, child(104), marked(outsider)), process{pid: 106, argv: words("tmux")}, process{pid: 90, neglects: true})(k)
				k.exit(k.spawn(process{pid: 101, ppid: 90}))
				rules, err := match.Load("rules.yaml", []byte("version: 1\n"+followsMark))
				if err != nil {
					t.Fatal(err)
				}
				r, err := sweep.StopNamed(context.Background(), k, sweep.Options{Rules: rules, Deadline: time.Second}, c.id)
				if err != nil {
					t.Fatal(err)
				}
				if r.Exit != c.exit || len(k.calls) != c.calls {
					t.Errorf("exit %d after %d signals, %+v", r.Exit, len(k.calls), r)
				}
				said := r.Refused
				if said == "" {
					said = r.Nothing
				}
				if c.says == "" && said != "" || !strings.Contains(said, c.says) {
					t.Errorf("%q does not say %q", said, c.says)
				}
			})
		})
	}
}
