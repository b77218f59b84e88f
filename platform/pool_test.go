package platform

import (
	"context"
	"sync"
	"testing"
	"time"
)

// shortStall is still longer than a busy machine keeps a worker from running.
const shortStall = 200 * time.Millisecond

// Every worker of the first crew hangs, and one more: only replacements can
// finish the rest.
func TestPoolReplacesStuckWorkers(t *testing.T) {
	const n = 100
	release := make(chan struct{})
	var stuck sync.WaitGroup
	hangs := map[int]bool{0: true, 1: true, 50: true, n - 1: true}
	stuck.Add(len(hangs))
	p := newPool(n, shortStall, func(_ *scratch, i int) int {
		if hangs[i] {
			defer stuck.Done()
			<-release
		}
		return i + 1
	})
	if p.run(context.Background(), 2) {
		t.Error("cut without a deadline")
	}
	check := func() {
		t.Helper()
		for i := range n {
			got, ok := p.result(i)
			if ok == hangs[i] || ok && got != i+1 || !ok && got != 0 {
				t.Errorf("item %d: %d, %v", i, got, ok)
			}
		}
	}
	check()
	close(release)
	stuck.Wait() // what comes back late must change nothing
	check()
}

// What comes back in the moment in which it is given up does not count as hanging.
func TestPoolForgetsWhatCameBack(t *testing.T) {
	p := newPool(1, shortStall, func(*scratch, int) int { return 1 })
	balance := 0
	p.hangs = func(_ int, is bool) { balance += map[bool]int{true: 1, false: -1}[is] }
	for _, state := range []int32{publishing, done} {
		p.states[0].Store(state)
		p.relieve([]*worker{{looks: patience - 1, replaced: true}})
	}
	if balance != 0 {
		t.Errorf("%d reads hang", balance)
	}
}

// A worker that comes back after one stall, because it was kept from running, has
// its result taken; the others do not wait for it.
func TestPoolWaitsForTheSlow(t *testing.T) {
	const n = 10
	release := make(chan struct{})
	var rest sync.WaitGroup
	rest.Add(n - 1)
	go func() { rest.Wait(); close(release) }()
	p := newPool(n, 5*shortStall, func(_ *scratch, i int) int {
		if i == 0 {
			<-release // the only worker: it takes another one to get here
		} else {
			rest.Done()
		}
		return i + 1
	})
	if p.run(context.Background(), 1) {
		t.Error("cut")
	}
	for i := range n {
		if got, ok := p.result(i); !ok || got != i+1 {
			t.Errorf("item %d: %d, %v", i, got, ok)
		}
	}
}

func TestPoolCut(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	release := make(chan struct{})
	defer close(release)
	p := newPool(10, time.Hour, func(_ *scratch, i int) int {
		if i == 3 {
			cancel()
			<-release
		}
		return i + 1
	})
	if !p.run(ctx, 1) {
		t.Error("not cut")
	}
	for i := range 10 {
		if got, ok := p.result(i); ok != (i < 3) || ok && got != i+1 {
			t.Errorf("item %d: %d, %v", i, got, ok)
		}
	}
}

func TestPoolEmpty(t *testing.T) {
	p := newPool(0, time.Hour, func(*scratch, int) int { return 0 })
	if p.run(context.Background(), 2) {
		t.Error("cut")
	}
}

// Results are there when run returns, however often it is cut in the middle.
func TestPoolCutRace(t *testing.T) {
	for range 200 {
		ctx, cancel := context.WithCancel(context.Background())
		p := newPool(64, time.Hour, func(_ *scratch, i int) [8]int {
			if i == 20 {
				cancel()
			}
			return [8]int{7: i + 1}
		})
		p.run(ctx, 4)
		for i := range 64 {
			if got, ok := p.result(i); ok && got[7] != i+1 {
				t.Fatalf("item %d: %v", i, got)
			}
		}
	}
}
