//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// slowRounds is for programs that take many times as long as the others.
const slowRounds = 3

// dryRun is one kind of scan.
type dryRun struct {
	name   string
	last   string // the fourth rule
	family string
}

var (
	usual   = dryRun{"marker rules, nothing matches", markedRule, quietNames}
	dryRuns = []dryRun{
		usual,
		{"one rule by command alone, nothing matches", unmarkedRule, quietNames},
		{"marker rules, 1 % match", markedRule, loudNames},
		{"one rule by command alone, 1 % match", unmarkedRule, loudNames},
	}
)

// peer is a program to compare with.
type peer struct {
	name    string
	argv    []string
	allowed []int // exit statuses besides 0
	slow    bool
}

const floorName = "C: stat, cmdline and environ of all"

// peers are those that can be had, for what an environment entry begins with.
func (b *bench) peers(entry string) []peer {
	all := []peer{b.floor(entry)}
	if b.tools.floor != "" {
		threads := strconv.Itoa(runtime.NumCPU())
		all = append(all,
			peer{name: "C: environ alone", argv: []string{b.tools.floor, "environ", entry}},
			peer{name: "C: environ alone, " + threads + " threads", argv: []string{b.tools.floor, "environ", entry, threads}})
	}
	grep := "exec grep -lazE '^" + entry + "' /proc/[0-9]*/environ"
	all = append(all,
		peer{name: "`grep -lazE '^MARK=' /proc/[0-9]*/environ`", argv: []string{"sh", "-c", grep}, allowed: []int{1, 2}},
		peer{name: "`ps -eo pid,ppid,pgid,…,args`", argv: []string{"ps", "-eo", "pid,ppid,pgid,sid,state,uid,nlwp,lstart,args"}},
		peer{name: "`pgrep -f`", argv: []string{"pgrep", "-f", entry}, allowed: []int{1}},
		peer{name: "`ps axeww`", argv: []string{"ps", "axeww"}},
		peer{name: "gopsutil loop", argv: []string{b.tools.gopsutil, entry}, slow: true},
		peer{name: "psutil loop", argv: []string{b.tools.python, b.tools.psutil, entry}, slow: true})
	return slices.DeleteFunc(all, func(p peer) bool {
		program := p.argv[0]
		if program == "sh" {
			program = "grep"
		}
		_, err := exec.LookPath(program)
		return err != nil
	})
}

func (b *bench) floor(entry string) peer {
	return peer{name: floorName, argv: []string{b.tools.floor, "all", entry}}
}

// scans is what was measured at one size.
type scans struct {
	order []string                    // of the other programs' names
	by    map[string]map[string]pairs // dry run, other program
	calls map[string]float64          // system calls on files for each process at the largest size, by program; "" is reaper
}

// scan measures dry runs over a population of this size.
func (b *bench) scan(size int) error {
	b.progress("dry runs over %d processes", size)
	l, err := newLab(b.ctx, b.tools, b.dir)
	if err != nil {
		return err
	}
	defer l.close()
	c, err := l.populate("crowd", size)
	if err != nil {
		return err
	}
	plan := b.plan()
	if err := b.warm(l, c, size, plan); err != nil {
		return err
	}
	found := &scans{by: map[string]map[string]pairs{}, calls: map[string]float64{}}
	b.found.scans[size] = found
	for round := range b.rounds {
		for _, cmp := range plan {
			if cmp.slow && round >= slowRounds {
				continue
			}
			if found.by[cmp.scan] == nil {
				found.by[cmp.scan] = map[string]pairs{}
			}
			one, err := b.pair(l, cmp.ours, cmp.peer, round%2 == 1)
			if err != nil {
				return err
			}
			found.by[cmp.scan][cmp.name] = append(found.by[cmp.scan][cmp.name], one)
		}
	}
	if n := len(l.running(c.PIDs)); n != size {
		b.found.expect(false, "%d of %d processes are left after dry runs", n, size)
	}
	for _, cmp := range plan {
		if cmp.scan == usual.name {
			found.order = append(found.order, cmp.name)
		}
	}
	if size < b.sizes[len(b.sizes)-1] {
		return nil
	}
	return b.countCalls(l, size, plan)
}

// countCalls counts the system calls of reaper and of the other programs.
func (b *bench) countCalls(l *lab, size int, plan []comparison) error {
	b.progress("system calls")
	ours := comparison{scan: usual.name}
	ours.argv = b.dryRun(usual)
	for _, cmp := range append(plan, ours) {
		if cmp.scan != usual.name {
			continue
		}
		n, err := b.callsFor(l, size, cmp.argv)
		if err != nil {
			return err
		}
		b.found.scans[size].calls[cmp.name] = n
	}
	return nil
}

// comparison is reaper's scan with another program.
type comparison struct {
	peer
	scan string
	ours []string
}

func (b *bench) plan() []comparison {
	var plan []comparison
	for _, d := range dryRuns {
		entry := d.family + "_PARENT_PID="
		others := []peer{b.floor(entry)}
		if d == usual {
			others = b.peers(entry)
		}
		for _, p := range others {
			if p.argv[0] != "" {
				plan = append(plan, comparison{p, d.name, b.dryRun(d)})
			}
		}
	}
	return plan
}

// dryRun is the command line of one, with more flags.
func (b *bench) dryRun(d dryRun, flags ...string) []string {
	return append([]string{b.tools.reaper, "sweep", "--dry-run", "--rules", b.rulesFile(d.last, d.family)}, flags...)
}

func (b *bench) rulesFile(last, family string) string {
	kind := "marked"
	if last == unmarkedRule {
		kind = "unmarked"
	}
	path := filepath.Join(b.dir, kind+"-"+family+".yaml")
	if err := os.WriteFile(path, []byte(rulesText(last, family)), 0o644); err != nil {
		b.found.expect(false, "%v", err)
	}
	return path
}

// warm runs everything once, so that the kernel has what it keeps of these files,
// and looks whether reaper and the floor find what is there.
func (b *bench) warm(l *lab, c crowdReport, size int, plan []comparison) error {
	for _, d := range dryRuns {
		if _, err := l.run(b.dryRun(d, "--json")...); err != nil {
			return err
		}
		doc, err := l.document()
		if err != nil {
			b.found.expect(false, "%d processes, %s: %v", size, d.name, err)
			continue
		}
		want, members := []int(nil), 0
		if d.family == loudNames {
			want, members = slices.Sorted(slices.Values(c.Orphans)), c.Members
		}
		b.found.expect(doc.Census.Processes >= size && doc.Census.Processes <= size+5,
			"%d processes, %s: reaper saw %d", size, d.name, doc.Census.Processes)
		b.found.expect(slices.Equal(doc.orphans(), want) && doc.Totals.Processes == members,
			"%d processes, %s: reaper found %d orphans with %d processes instead of %d with %d",
			size, d.name, len(doc.Orphans), doc.Totals.Processes, len(want), members)
	}
	for _, cmp := range plan {
		r, err := l.run(cmp.argv...)
		if err != nil {
			return err
		}
		b.found.expect(cmp.may(r.Status), "%s ended with status %d: %s", cmp.name, r.Status, l.complained())
	}
	if b.tools.floor != "" {
		if _, err := l.run(b.floor(loudNames + "_PARENT_PID=").argv...); err != nil {
			return err
		}
		words := strings.Fields(string(l.said()))
		b.found.expect(len(words) == 2 && words[1] == strconv.Itoa(c.Following),
			"%d processes: the C floor said %v instead of %d matches", size, words, c.Following)
	}
	return nil
}

func (p peer) may(status int) bool { return status == 0 || slices.Contains(p.allowed, status) }

// pair runs reaper and another program, or these two the other way round.
func (b *bench) pair(l *lab, ours []string, other peer, swap bool) (pair, error) {
	one := pair{calm: b.quiet.wait()}
	var err error
	first := func() error {
		one.ours, err = l.run(ours...)
		b.found.expect(err != nil || one.ours.Status == 0, "reaper ended with status %d: %s", one.ours.Status, l.complained())
		return err
	}
	second := func() error {
		one.other, err = l.run(other.argv...)
		b.found.expect(err != nil || other.may(one.other.Status), "%s ended with status %d", other.name, one.other.Status)
		return err
	}
	if swap {
		first, second = second, first
	}
	return one, errors.Join(first(), second())
}

// callsFor counts a program's system calls on files for each process, 0 without
// strace. Others would be none of the program's: slowed down by strace, Go's
// scheduler alone makes more calls than there are to count.
func (b *bench) callsFor(l *lab, size int, argv []string) (float64, error) {
	if _, err := exec.LookPath("strace"); err != nil {
		return 0, nil
	}
	counts := filepath.Join(b.dir, "calls")
	defer os.Remove(counts)
	if _, err := l.run(append([]string{"strace", "-f", "-c", "-e", "trace=%file,%desc", "-o", counts}, argv...)...); err != nil {
		return 0, err
	}
	text, _ := os.ReadFile(counts) // there is none where it may not trace
	return float64(totalCalls(string(text))) / float64(size), nil
}

// totalCalls reads the last line of strace -c: percent, seconds, µs a call,
// calls, errors where there were any, "total".
func totalCalls(text string) int {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	words := strings.Fields(lines[len(lines)-1])
	if len(words) < 5 || words[len(words)-1] != "total" {
		return 0
	}
	n, _ := strconv.Atoi(words[3])
	return n
}

// document is what is used of a sweep's JSON.
type document struct {
	Census  struct{ Processes int }
	Orphans []struct{ PID int }
	Totals  struct{ Processes, Stopped int }
}

func (d *document) orphans() []int {
	var pids []int
	for _, o := range d.Orphans {
		pids = append(pids, o.PID)
	}
	slices.Sort(pids)
	return pids
}

// document reads what the last sweep wrote.
func (l *lab) document() (document, error) {
	var d document
	if err := json.Unmarshal(l.said(), &d); err != nil {
		return d, fmt.Errorf("no report of reaper can be read (%w): %s", err, l.complained())
	}
	return d, nil
}
