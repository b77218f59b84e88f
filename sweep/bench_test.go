package sweep

import (
	"context"
	"slices"
	"testing"
	"time"

	"reaper/match"
	"reaper/platform"
)

// still is a machine on which nothing changes, read at no cost.
type still struct {
	Machine
	rows  []platform.Process
	table *match.Table
}

func (m *still) System() (platform.System, error) {
	return platform.System{PID: planSelf, PGID: planSelf, SID: planSelf, UID: planUser, MaxPID: 1 << 22, TicksPerSecond: 100}, nil
}

func (m *still) Scan(context.Context, platform.Query) (*platform.Census, error) {
	return &platform.Census{Processes: slices.Clone(m.rows), Counts: platform.Counts{Processes: len(m.rows)}}, nil
}

func (m *still) Survey(context.Context, *platform.Census, platform.Query) error   { return nil }
func (m *still) Inspect(context.Context, *platform.Census, []int, platform.Query) {}
func (m *still) Answer(_ context.Context, f match.Fact) match.Known               { return known(m.table, f) }
func (m *still) Usage(pids []int) []platform.Usage                                { return make([]platform.Usage, len(pids)) }
func (m *still) Ticks() uint64                                                    { return 1_000_000 }
func (m *still) Now() time.Time                                                   { return time.Unix(0, 0) }

// crowd is n processes in trees of ten, of which one in a hundred follows a
// process that has exited, or none.
func crowd(b *testing.B, n int, orphans bool) *still {
	rows := draw(b, "").rows
	for i := range n {
		pid := 1000 + i
		p := platform.Process{PID: pid, PPID: 1, PGID: pid, SID: pid, UID: planUser, State: 'S', Threads: 1, Start: uint64(pid) * 10,
			Argv: []string{"node", "job.js"}, Comm: "node", Env: platform.EnvPresent, Detailed: true, Namespace: platform.Yes}
		if i%10 > 0 {
			p.PPID = pid - i%10
		}
		if orphans && i%100 == 50 {
			p.Vars = []platform.Var{{Name: "M", Value: "42"}}
		}
		rows = append(rows, p)
	}
	slices.SortFunc(rows, func(a, b platform.Process) int { return a.PID - b.PID })
	return &still{rows: rows, table: match.NewTable(rows)}
}

// benchmarkPlan is a dry run without the reading of a machine and the printing.
func benchmarkPlan(b *testing.B, orphans bool, want int) {
	m := crowd(b, 2000, orphans)
	rules, err := match.Load("rules.yaml", []byte(planRules))
	if err != nil {
		b.Fatal(err)
	}
	o := Options{Rules: rules, Deadline: time.Minute, Version: "1"}
	b.ReportAllocs()
	for b.Loop() {
		r, err := DryRun(context.Background(), m, o)
		if err != nil || len(r.Orphans) != want {
			b.Fatal(len(r.Orphans), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(m.rows)), "ns/process")
}

func BenchmarkPlanOfNothing(b *testing.B) { benchmarkPlan(b, false, 0) }

// Each orphan heads a tree of ten.
func BenchmarkPlan(b *testing.B) { benchmarkPlan(b, true, 20) }
