//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"
)

// pair is one run of reaper and one of another program, right after each other.
type pair struct {
	ours, other run
	calm        bool // whether the machine did little else just before
}

// pairs are the paired runs of one comparison.
type pairs []pair

// enough pairs from quiet moments make the others not count.
const enough = 3

func (p pairs) counted() pairs {
	var calm pairs
	for _, one := range p {
		if one.calm {
			calm = append(calm, one)
		}
	}
	if len(calm) >= enough {
		return calm
	}
	return p
}

// spread is the median of some values, with the lowest and the highest.
type spread struct{ median, low, high float64 }

func (s spread) String() string { return fmt.Sprintf("%.2f (%.2f–%.2f)", s.median, s.low, s.high) }

// of returns the spread of a value of the pairs that count.
func (p pairs) of(value func(pair) float64) spread {
	var values []float64
	for _, one := range p.counted() {
		values = append(values, value(one))
	}
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return spread{}
	}
	return spread{(values[(n-1)/2] + values[n/2]) / 2, values[0], values[n-1]}
}

func wallRatio(p pair) float64 { return ratio(p.ours.Wall, p.other.Wall) }
func cpuRatio(p pair) float64  { return ratio(p.ours.CPU, p.other.CPU) }

func ratio(a, b time.Duration) float64 { return float64(a) / float64(max(b, 1)) }

// peak is the highest peak memory of the other program in KiB, ourPeak reaper's.
func (p pairs) peak() int64    { return p.highest(func(one pair) int64 { return one.other.Peak }) }
func (p pairs) ourPeak() int64 { return p.highest(func(one pair) int64 { return one.ours.Peak }) }

func (p pairs) highest(of func(pair) int64) (most int64) {
	for _, one := range p {
		most = max(most, of(one))
	}
	return most
}

// quiet waits for moments in which the machine does little else. A higher
// priority is no way out: it helps one thread, and two still get no second
// processor.
type quiet struct {
	off   bool          // whatever the moment, it counts
	left  time.Duration // of the patience
	calm  int           // moments that were quiet
	looks int
}

const (
	look    = 60 * time.Millisecond
	busiest = 0.09 // share of the processors' time: one tick of a dozen
)

// wait says whether the moment is quiet.
func (q *quiet) wait() bool {
	if q.off {
		return true
	}
	for {
		busy, all := processorTicks()
		time.Sleep(look)
		busy2, all2 := processorTicks()
		calm := float64(busy2-busy) <= busiest*float64(all2-all)
		if calm || q.left <= 0 {
			q.looks++
			if calm {
				q.calm++
			}
			return calm
		}
		q.left -= look
	}
}

// processorTicks reads the first line of /proc/stat, proc_stat(5): all ticks of
// all processors, and those that were neither idle nor waiting.
func processorTicks() (busy, all uint64) {
	text, _ := os.ReadFile("/proc/stat")
	line, _, _ := bytes.Cut(text, []byte("\n"))
	for i, word := range bytes.Fields(line) {
		if i == 0 || i > 8 { // guests' time is counted in the others
			continue
		}
		n, _ := strconv.ParseUint(string(word), 10, 64)
		all += n
		if i != 4 && i != 5 {
			busy += n
		}
	}
	return busy, all
}
