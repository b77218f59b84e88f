//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// tables is the answer, in Markdown.
func (f *findings) tables(s settings) string {
	var t text
	t.line("%s; %s.", machine(), f.effort(s.rounds))
	t.line("x is reaper's wall time as a multiple of the other's, of whole programs in turns: median (lowest–highest).")
	if len(f.scans) > 0 {
		f.usualTable(&t, s.sizes)
		f.otherScans(&t, s.sizes)
	}
	f.stopTable(&t)
	return t.String()
}

func (f *findings) effort(rounds int) string {
	words := fmt.Sprintf("%d rounds", rounds)
	if f.quiet.looks > 0 {
		words += fmt.Sprintf(", %d %% of the runs in quiet moments", 100*f.quiet.calm/f.quiet.looks)
	}
	return words
}

// text is a document that grows by lines.
type text struct{ strings.Builder }

func (t *text) line(format string, args ...any) { fmt.Fprintf(t, format+"\n", args...) }

// row is one line of a table.
func (t *text) row(cells ...string) { t.line("| %s |", strings.Join(cells, " | ")) }

// head begins a table after an empty line.
func (t *text) head(cells ...string) {
	t.line("")
	t.row(cells...)
	t.line("|%s", strings.Repeat(" --- |", len(cells)))
}

// usualTable compares the dry run in which nothing matches with all the others.
func (f *findings) usualTable(t *text, sizes []int) {
	last := f.scans[sizes[len(sizes)-1]]
	at := thousands(sizes[len(sizes)-1])
	cells := []string{"`reaper sweep --dry-run`, " + usual.name + ", against"}
	ours := []string{"(reaper itself)"}
	var our pairs
	for _, size := range sizes {
		cells = append(cells, "x at "+thousands(size))
		our = nil
		for _, p := range f.scans[size].by[usual.name] {
			our = append(our, p...)
		}
		each := our.of(func(p pair) float64 { return float64(p.ours.Wall) / float64(time.Microsecond) / float64(size) })
		ours = append(ours, fmt.Sprintf("%.1f µs a process", each.median))
	}
	t.head(append(cells, "x cpu at "+at, "peak MiB", "file calls a process")...)
	t.row(append(ours, "", mebibytes(our.ourPeak()), perProcess(last.calls[""]))...)
	least := our.ourPeak()
	for _, name := range last.order {
		cells := []string{name}
		for _, size := range sizes {
			cells = append(cells, f.scans[size].by[usual.name][name].of(wallRatio).String())
		}
		p := last.by[usual.name][name]
		least = min(least, p.peak())
		t.row(append(cells, fmt.Sprintf("%.2f", p.of(cpuRatio).median), mebibytes(p.peak()), perProcess(last.calls[name]))...)
	}
	t.line("")
	t.line("%s MiB is the peak of what starts the programs: theirs show only above it.", mebibytes(least))
}

// otherScans compares every kind of dry run with the floor.
func (f *findings) otherScans(t *text, sizes []int) {
	floors := func(size int, scan string) pairs { return f.scans[size].by[scan][floorName] }
	if len(floors(sizes[0], usual.name)) == 0 {
		return // no gcc
	}
	cells := []string{"`reaper sweep --dry-run` against the C program that reads stat, cmdline and environ of all"}
	for _, size := range sizes {
		cells = append(cells, "x at "+thousands(size))
	}
	t.head(append(cells, "peak MiB")...)
	for _, d := range dryRuns {
		cells := []string{d.name}
		var peak int64
		for _, size := range sizes {
			p := floors(size, d.name)
			cells = append(cells, p.of(wallRatio).String())
			peak = max(peak, p.ourPeak())
		}
		t.row(append(cells, mebibytes(peak))...)
	}
	if n := len(sizes); n > 1 {
		small, large := sizes[n-2], sizes[n-1]
		growth := floors(large, usual.name).of(wallRatio).median / floors(small, usual.name).of(wallRatio).median
		t.line("")
		t.line("A process takes %.2f times as long at %s as at %s, the floor's own growth taken out.", growth, thousands(large), thousands(small))
	}
}

// stopTable holds stops and start-up.
func (f *findings) stopTable(t *text) {
	if len(f.stop)+len(f.starts) == 0 {
		return
	}
	t.head("whole program", "against", "x", "ms", "its ms")
	if len(f.stop) > 0 {
		f.stopRows(t)
	}
	for _, s := range f.starts {
		t.row(s.name, "an empty Go program", s.pairs.of(wallRatio).String(), milliseconds(s.pairs.of(ourMS).median), milliseconds(s.pairs.of(itsMS).median))
	}
}

// stopRows compares with the C program where there is one.
func (f *findings) stopRows(t *text) {
	grace := inMS(f.grace)
	against, x := "C: told the pids, stops by pidfd", f.stop.of(netRatio).String()
	its, itsDeaf := milliseconds(f.stop.of(itsMS).median), milliseconds(f.deaf.of(itsMS).median-grace)
	if f.stop.peak() == 0 {
		against, x, its, itsDeaf = "", "", "", ""
	}
	t.row(fmt.Sprintf("%d orphans stopped and confirmed, less the last look of %d ms", f.stopped, lastLook.Milliseconds()),
		against, x, milliseconds(f.stop.of(ourMS).median-inMS(lastLook)), its)
	t.row(fmt.Sprintf("the same deaf to SIGTERM: time over the grace of %v", f.grace),
		against, "", milliseconds(f.deaf.of(ourMS).median-grace), itsDeaf)
}

func inMS(d time.Duration) float64   { return float64(d) / float64(time.Millisecond) }
func ourMS(p pair) float64           { return inMS(p.ours.Wall) }
func itsMS(p pair) float64           { return inMS(p.other.Wall) }
func milliseconds(ms float64) string { return fmt.Sprintf("%.1f", ms) }
func mebibytes(kib int64) string     { return fmt.Sprintf("%.1f", float64(kib)/1024) }

// perProcess is a number of system calls; 0 was not counted.
func perProcess(calls float64) string {
	if calls == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", calls)
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// machine says where and when this was measured.
func machine() string {
	var u syscall.Utsname
	syscall.Uname(&u)
	var release []byte
	for _, c := range u.Release {
		if c == 0 {
			break
		}
		release = append(release, byte(c))
	}
	return fmt.Sprintf("%s, %d processors, Linux %s, %s, %s", processor(), runtime.NumCPU(), release, runtime.Version(),
		time.Now().Format("2 January 2006"))
}

// processor is its name, where the system tells.
func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range bytes.Lines(info) {
		if name, value, _ := bytes.Cut(line, []byte(":")); strings.TrimSpace(string(name)) == "model name" {
			return string(bytes.TrimSpace(value))
		}
	}
	return runtime.GOARCH
}
