package sweep_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"reaper/match"
	"reaper/platform"
	"reaper/sweep"
)

// knowing is a kernel that answers some kinds of question as it is told.
type knowing struct {
	*kernel
	says map[match.FactKind]match.Known
}

func (k knowing) Answer(ctx context.Context, f match.Fact) match.Known {
	if known, ok := k.says[f.Kind]; ok {
		return known
	}
	return k.kernel.Answer(ctx, f)
}

// TestOtherwiseIsSo guards what explain says would turn a verdict: of each process
// it is named, and once the world is made so, the verdict is the other one.
func TestOtherwiseIsSo(t *testing.T) {
	const (
		adopted = "rules: [{name: r, marker: [MARK], orphan: [adopted]}]\n"
		either  = "rules: [{name: r, marker: [MARK], orphan: [follows: MARK, adopted]}]\n"
		home    = "rules: [{name: r, marker: [HOME_DIR], orphan: [gone: HOME_DIR, adopted]}]\n"
		bound   = "rules: [{name: r, marker: [MARK], orphan: [over: 1GiB]}]\n"
		aged    = "rules: [{name: r, marker: [MARK], orphan: [follows: MARK], older_than: 20m}]\n"
		owned   = "rules: [{name: r, command: [worker], marker: none, orphan: [unowned: owner]}]\n"
		two     = "rules: [{name: r, marker: [MARK], orphan: [adopted]}, {name: s, marker: [OTHER], orphan: [follows: OTHER]}]\n"
		kept    = followsMark + "protect: [my-server]\n"
	)
	exits := func(pids ...int) func(*knowing, *sweep.Options) {
		return func(k *knowing, _ *sweep.Options) {
			for _, pid := range pids {
				k.exit(k.table[pid])
			}
		}
	}
	born := func(p process) func(*knowing, *sweep.Options) {
		return func(k *knowing, _ *sweep.Options) { k.spawn(p) }
	}
	below := func(argv string) func(*knowing, *sweep.Options) {
		return func(k *knowing, _ *sweep.Options) {
			k.spawn(process{pid: 99, start: 2, argv: words(argv)})
			k.table[100].ppid = 99
		}
	}
	answers := func(kind match.FactKind, known match.Known) func(*knowing, *sweep.Options) {
		return func(k *knowing, _ *sweep.Options) { k.says[kind] = known }
	}
	gone := answers(match.FactGone, match.Known{Is: platform.Yes})
	there := answers(match.FactGone, match.Known{Is: platform.No})
	large := answers(match.FactMemory, match.Known{Is: platform.Yes, Bytes: 2 << 30})
	small := answers(match.FactMemory, match.Known{Is: platform.Yes, Bytes: 1 << 20})
	both := func(all ...func(*knowing, *sweep.Options)) func(*knowing, *sweep.Options) {
		return func(k *knowing, o *sweep.Options) {
			for _, do := range all {
				do(k, o)
			}
		}
	}
	environ := func(entries ...string) func(*process) { return func(p *process) { p.env = entries } }
	young := func(p *process) { p.start = bootTick - 500 }
	for _, c := range []struct {
		name, rules string
		world       func(*kernel)
		given       func(*knowing, *sweep.Options) // beside the processes
		verdict     string                         // the one that it would be
		ifs         string
		made        func(*knowing, *sweep.Options)
	}{
		{"follows a dead process", followsMark, puts(orphan(100)), nil, "spared", "4242 were running", born(process{pid: dead, start: 3})},
		{"follows a live one", followsMark, puts(with(orphan(100), marked(outsider))), nil, "orphan", "outsider (300) exited", exits(outsider)},
		{"follows two live ones", followsMark, puts(process{pid: 90}, process{pid: 91}, with(orphan(100), environ("MARK=90", "MARK=91"))), nil, "orphan", "worker (90) exited, worker (91) exited", exits(90, 91)},
		{"a member", followsMark, puts(process{pid: 90}, with(orphan(99), marked(90)), with(process{pid: 100}, child(99), environ("MARK=90"))), nil, "orphan", "worker (90) exited", exits(90)},
		{"dead, and adopted too", either, puts(orphan(100)), nil, "spared", "4242 were running", born(process{pid: dead, start: 3})},
		{"adopted", adopted, puts(orphan(100)), nil, "spared", "the process that started 100 still ran", below("sh")},
		{"not adopted", adopted, puts(process{pid: 99}, with(orphan(100), child(99))), nil, "orphan", "worker (99) exited", exits(99)},
		{"not adopted, and with a grandparent", adopted, puts(process{pid: 98}, with(process{pid: 99}, child(98)), with(orphan(100), child(99))), nil, "orphan", "worker (99) exited", exits(99)},
		{"its home is gone, and it is adopted", home, puts(with(process{pid: 100}, environ("HOME_DIR=/x"))), gone, "spared", "/x existed, the process that started 100 still ran", both(there, below("sh"))},
		{"its home is gone, and it is not adopted", home, puts(process{pid: 99}, with(process{pid: 100}, child(99), environ("HOME_DIR=/x"))), gone, "spared", "/x existed", there},
		{"over its bound", bound, puts(orphan(100)), large, "spared", "its tree held no more than 1.0 GiB", small},
		{"within its bound", bound, puts(orphan(100)), small, "orphan", "its tree held more than 1.0 GiB", large},
		{"too young", aged, puts(with(orphan(100), young)), nil, "orphan", "it were 20m old, in 19m 55s", nil},
		{"live and young", aged, puts(with(orphan(100), young, marked(outsider))), nil, "orphan", "outsider (300) exited, it were 20m old, in 19m 55s", nil},
		{"unowned", owned, puts(process{pid: 100}), nil, "spared", "owner, or whatever else started 100, still ran above it", below("owner")},
		{"owned", owned, puts(process{pid: 99, argv: words("owner")}, with(process{pid: 100}, child(99))), nil, "orphan", "owner (99) exited", exits(99)},
		{"a second rule's veto", two, puts(with(process{pid: 100}, environ("MARK=1", "OTHER=300"))), nil, "orphan", "outsider (300) exited", exits(outsider)},
		{"of another user", followsMark, puts(with(orphan(100), func(p *process) { p.uid = 7 })), nil, "orphan", "--all-users were given", func(_ *knowing, o *sweep.Options) { o.AllUsers = true }},
		{"of another user, and live", followsMark, puts(with(orphan(100), marked(outsider), func(p *process) { p.uid = 7 })), nil, "orphan", "--all-users were given, outsider (300) exited",
			both(exits(outsider), func(_ *knowing, o *sweep.Options) { o.AllUsers = true })},
		{"protected by the rules", kept, puts(with(orphan(100), func(p *process) { p.argv = words("my-server") })), nil, "orphan", `protect did not have "my-server"`,
			func(_ *knowing, o *sweep.Options) { o.Rules.Protect = nil }},
		{"hosts live work", followsMark, puts(orphan(100), with(process{pid: 101}, child(100), marked(outsider))), nil, "orphan", "outsider (300) exited", exits(outsider)},
		{"a server", followsMark, puts(with(orphan(100), func(p *process) { p.argv = words("tmux") })), nil, "", "", nil},
		{"not to be read", followsMark, puts(with(orphan(100), func(p *process) { p.lost = true })), nil, "judged", "its environment could be read: its own user and root may", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			rules, err := match.Load("rules.yaml", []byte("version: 1\n"+c.rules))
			if err != nil {
				t.Fatal(err)
			}
			o := sweep.Options{Rules: rules, Deadline: 500 * time.Millisecond, Version: "test"}
			synctest.Test(t, func(t *testing.T) {
				k := knowing{newKernel(), map[match.FactKind]match.Known{}}
				c.world(k.kernel)
				if c.given != nil {
					c.given(&k, &o)
				}
				proven := func() (sweep.Explained, bool) {
					e, err := sweep.Explain(t.Context(), k, o, []platform.Identity{{PID: 100}})
					if err != nil {
						t.Fatal(err)
					}
					x := e.Explained[0]
					return x, slices.Contains([]string{"orphan", "member"}, x.Verdict)
				}
				before, was := proven()
				if got := before.Otherwise; got.Verdict != c.verdict || strings.Join(got.If, ", ") != c.ifs || (c.verdict == "") != (got.Detail != "") {
					t.Errorf("%s (%s): %+v", before.Verdict, before.Detail, got)
				}
				if c.made == nil {
					return
				}
				c.made(&k, &o)
				if after, is := proven(); was == is {
					t.Errorf("%s before, and after all of %s: %s", before.Verdict, c.ifs, after.Detail)
				}
				if len(k.calls) > 0 {
					t.Errorf("signals: %v", k.sent())
				}
			})
		})
	}
}
