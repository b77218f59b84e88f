package match

import (
	"fmt"
	"testing"

	"reaper/platform"
)

const benchRules = `
version: 1
rules:
  - name: daemons
    command: [daemon/main.ts, host/main.ts, stress/agent.ts]
    marker: [OWN_PARENT_PID, OWN_HOME=<tmp>/own-*]
    orphan: [follows: OWN_PARENT_PID, adopted]
  - name: workers
    command: [vitest.mjs, "node (vitest *)"]
    marker: [RUNNER_PID]
    orphan: [follows: RUNNER_PID, adopted]
  - name: jobs
    marker: [JOB_PID]
    orphan: [follows: JOB_PID]
  - name: servers
    command: [tool/server.js, "python3 -m tool"]
    marker: none
    orphan: [unowned: claude]
`

// crowd is a table of n processes in trees of ten, each of them with the traits.
func crowd(n int, traits func(i int) []trait) *scene {
	var rows []platform.Process
	for i := range n {
		p := proc(1000+i, argv("/usr/local/bin/node", fmt.Sprintf("/home/dev/projects/alpha/%d.js", i), "--workdir=/home/dev/projects/alpha"))
		if i%10 > 0 {
			parent(1000 + i/10*10)(&p)
		}
		for _, set := range traits(i) {
			set(&p)
		}
		rows = append(rows, p)
	}
	return table(rows...)
}

func nobody(int) []trait { return nil }

// oneInAHundred follows a process that has exited.
func oneInAHundred(i int) []trait {
	if i%100 != 50 {
		return nil
	}
	return []trait{argv("node", "daemon/main.ts"), mark("OWN_PARENT_PID=4242")}
}

func candidates(rules *Rules, s *scene) (n int) {
	for i := range s.rows {
		if rules.Candidate(&s.rows[i], maxPID) {
			n++
		}
	}
	return n
}

// TestWhatDoesNotMatchTakesNoMemory guards the usual run, in which nothing does.
func TestWhatDoesNotMatchTakesNoMemory(t *testing.T) {
	rules, s := mustLoad(t, benchRules), crowd(100, nobody)
	if n := testing.AllocsPerRun(10, func() { candidates(rules, s) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkLoad(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		mustLoad(b, benchRules)
	}
}

func BenchmarkCandidate(b *testing.B) {
	rules, s := mustLoad(b, benchRules), crowd(2000, nobody)
	b.ReportAllocs()
	for b.Loop() {
		candidates(rules, s)
	}
	perRow(b, s)
}

func BenchmarkTable(b *testing.B) {
	s := crowd(2000, nobody)
	b.ReportAllocs()
	for b.Loop() {
		NewTable(s.rows)
	}
	perRow(b, s)
}

func BenchmarkJudge(b *testing.B) {
	rules, s := mustLoad(b, benchRules), crowd(2000, oneInAHundred)
	b.ReportAllocs()
	for b.Loop() {
		if j := s.judge(b, rules); len(j.Orphans) != 20 {
			b.Fatalf("%d orphans", len(j.Orphans))
		}
	}
	perRow(b, s)
}

// perRow adds the time for one process.
func perRow(b *testing.B, s *scene) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(s.rows)), "ns/process")
}
