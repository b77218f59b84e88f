package match

import (
	"math"
	"testing"

	"reaper/platform"
)

func TestGone(t *testing.T) {
	rules := []string{"marker: [H], orphan: [gone: H]"}
	home := func(values ...string) platform.Process {
		p := proc(50)
		for _, v := range values {
			mark("H=" + v)(&p)
		}
		return p
	}
	aged := func(ticks uint64) platform.Process { return proc(50, mark("H=/tmp/a"), start(now-ticks)) }
	checkRulings(t, rules, []ruling{
		{"it does not exist", nil, table(home("/tmp/a")).but(missing("/tmp/a")), orphan(Gone, "H=/tmp/a no longer exists")},
		{"wherever the process hangs", nil, table(proc(50, parent(40), mark("H=/tmp/a")), proc(40)).but(missing("/tmp/a")), orphan(Gone, "H=/tmp/a")},
		{"it exists", nil, table(home("/tmp/a")), spared(Undecided, "no test says orphan")},
		{"a relative path is none", nil, table(home("a")).but(missing("a")), spared(Undecided, "")},
		{"an empty one neither", nil, table(home("")).but(missing("")), spared(Undecided, "")},
		{"no value at all", []string{"marker: [X], orphan: [gone: H]"}, table(proc(50, mark("X=1"))), spared(Undecided, "")},
		{"two, one of which exists", nil, table(home("/tmp/a", "/tmp/b")).but(missing("/tmp/a")), spared(Undecided, "")},
		{"two, one of which is relative", nil, table(home("/tmp/a", "b")).but(missing("/tmp/a")), spared(Undecided, "")},
		{"two alike", nil, table(home("/tmp/a", "/tmp/a")).but(missing("/tmp/a")), orphan(Gone, "/tmp/a")},
		{"a newborn may be about to create it", nil, table(aged(999)).but(missing("/tmp/a")), spared(Undecided, "")},
		{"after ten seconds it is not", nil, table(aged(1000)).but(missing("/tmp/a")), orphan(Gone, "/tmp/a")},
		{"an unknown age may be a newborn's", nil, table(proc(50, mark("H=/tmp/a"), start(0))).but(missing("/tmp/a")), spared(Undecided, "")},
		{"it never spares from what comes after", []string{"marker: [H], orphan: [gone: H, adopted]"}, table(home("/tmp/a")), orphan(Adopted, "init (1)")},
	})
	t.Run("it cannot be told", func(t *testing.T) {
		s := table(home("/tmp/a"))
		asked := Fact{Kind: FactGone, Process: s.rows[0].ID(), Path: "/tmp/a"}
		world := &World{Table: NewTable(s.rows), System: s.system, Now: now}
		facts := Facts{asked: {}, {Kind: FactMainPID, Process: s.rows[0].ID()}: {Is: platform.No}}
		checkJudged(t, Judge(rulesOf(t, rules...), world, facts), 50, spared(Undecided, ""))
	})
}

func TestOver(t *testing.T) {
	rules := []string{"marker: [H], orphan: [over: 3MiB]"}
	const mib = 1 << 20
	holds := func(byPID map[int]uint64) setting { return memory(byPID) }
	owner := []string{"marker: [H], orphan: [over: 3MiB, unowned: node]"}
	checkRulings(t, rules, []ruling{
		{"over", nil, table(job()).but(holds(map[int]uint64{50: 3*mib + 1})), orphan(Over, "its tree holds 3.0 MiB of PSS and swap, over the rule's 3.0 MiB")},
		{"just not", nil, table(job()).but(holds(map[int]uint64{50: 3 * mib})), spared(Undecided, "")},
		{"owned or not", owner, table(job(parent(40)), proc(40)).but(holds(map[int]uint64{50: 4 * mib})), orphan(Over, "4.0 MiB")},
		{"with the whole tree", nil, table(job(), proc(51, parent(50)), proc(52, parent(51))).but(holds(map[int]uint64{50: mib, 51: mib, 52: 2 * mib})), orphan(Over, "4.0 MiB")},
		{"without what is not below it", nil, table(job(), proc(51)).but(holds(map[int]uint64{50: mib, 51: 9 * mib})), spared(Undecided, "")},
		{"what has exited holds nothing", nil, table(job(), proc(51, parent(50), zombie)).but(holds(map[int]uint64{50: 4 * mib})), orphan(Over, "4.0 MiB")},
		{"a part that cannot be read is no answer, whatever the rest holds", nil, table(job(), proc(51, parent(50))).but(holds(map[int]uint64{50: 9 * mib})), spared(Undecided, "")},
		{"a system without such a figure", nil, table(job()), spared(Undecided, "")},
		{"a cycle of parents is counted once", nil, table(job(parent(52)), proc(51, parent(50)), proc(52, parent(51))).but(holds(map[int]uint64{50: mib, 51: mib, 52: mib})), spared(Undecided, "")},
	})
}

func TestSize(t *testing.T) {
	for want, bytes := range map[string]uint64{
		"0 B": 0, "1023 B": 1023, "1.0 KiB": 1024, "1.5 KiB": 1536, "9.9 KiB": 10137, "10 KiB": 10240, "1023 KiB": 1023 << 10, "1.0 MiB": 1<<20 - 1,
		"2.0 GiB": 2 << 30, "16 EiB": math.MaxUint64,
	} {
		if got := Size(bytes); got != want {
			t.Errorf("Size(%d) = %q, want %q", bytes, got, want)
		}
	}
}
