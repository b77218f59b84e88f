package platform

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// The states of an item. A result is written only in publishing, which a worker
// enters from claimed alone: once an item is abandoned its worker, whenever it
// comes back, has nothing left to write to.
const (
	free int32 = iota
	claimed
	publishing
	done
	abandoned
)

// scratch is a worker's own memory.
type scratch struct {
	buf  []byte // what was read last
	path []byte
}

// scratches are kept from one pool to the next: every page that is touched for the
// first time costs as much as a read. Most environments fit into 8 KiB.
var scratches = sync.Pool{New: func() any { return &scratch{buf: make([]byte, 0, 8<<10), path: make([]byte, 0, 64)} }}

// pool spreads n reads over a few workers and survives reads that never return.
type pool[T any] struct {
	stall    time.Duration // after this, twice at the latest, another worker goes on in the place of one that hangs
	work     func(s *scratch, item int) T
	hangs    func(item int, is bool) // told of an item that is given up, and of its read coming back
	results  []T
	states   []atomic.Int32
	next     atomic.Int64 // the next item to claim
	left     atomic.Int64 // items neither done nor abandoned
	finished chan struct{}
	broke    chan *Broken // the first panic of a worker
}

// patience is for how many stalls a read is waited for. A busy machine keeps a
// worker off the processor for longer than one; reads that hang are waited for
// side by side.
const patience = 3

// worker is one goroutine of a pool.
type worker struct {
	item     atomic.Int64 // being read, -1 for none
	seen     int64        // item at the last look
	looks    int          // in a row that saw this item
	replaced bool
}

func newPool[T any](n int, stall time.Duration, work func(*scratch, int) T) *pool[T] {
	p := &pool[T]{
		stall: stall, work: work, hangs: func(int, bool) {}, results: make([]T, n), states: make([]atomic.Int32, n),
		finished: make(chan struct{}), broke: make(chan *Broken, 1),
	}
	p.left.Store(int64(n))
	return p
}

// run works until every item is done or abandoned, or the context ends; then
// what is left is abandoned and run returns true.
func (p *pool[T]) run(ctx context.Context, workers int) (cut bool) {
	if len(p.states) == 0 {
		return false
	}
	crew := make([]*worker, min(workers, len(p.states)))
	for i := range crew {
		crew[i] = p.start()
	}
	look := time.NewTicker(p.stall)
	defer look.Stop()
	for {
		select {
		case <-p.finished:
			return false
		case b := <-p.broke:
			panic(b)
		case <-ctx.Done():
			return p.stop()
		case <-look.C:
			crew = p.relieve(crew)
		}
	}
}

// relieve adds a worker for each that was at the same item at the last look, and
// abandons the items that were waited for long enough.
func (p *pool[T]) relieve(crew []*worker) []*worker {
	for _, w := range crew {
		item := w.item.Load()
		if item < 0 || item != w.seen {
			w.seen, w.looks = item, 0
			continue
		}
		if w.looks++; w.looks == patience {
			p.hangs(int(item), true) // first, since it may come back at any time
			if !p.abandon(int(item)) {
				p.hangs(int(item), false)
			}
		}
		if !w.replaced {
			w.replaced = true
			crew = append(crew, p.start())
		}
	}
	return crew
}

func (p *pool[T]) start() *worker {
	w := &worker{seen: -1}
	w.item.Store(-1)
	go func() {
		if b := caught(func() { p.loop(w) }); b != nil {
			select {
			case p.broke <- b:
			default:
			}
		}
	}()
	return w
}

func (p *pool[T]) loop(w *worker) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	defer w.item.Store(-1)
	for {
		i := int(p.next.Add(1)) - 1
		if i >= len(p.states) || !p.states[i].CompareAndSwap(free, claimed) {
			return
		}
		w.item.Store(int64(i))
		result := p.work(s, i)
		if !p.states[i].CompareAndSwap(claimed, publishing) {
			p.hangs(i, false)
			return // abandoned meanwhile, and this worker replaced
		}
		p.results[i] = result
		p.states[i].Store(done)
		p.settle()
	}
}

// abandon gives an item up unless its result is there or being written.
func (p *pool[T]) abandon(i int) bool {
	if p.states[i].CompareAndSwap(claimed, abandoned) || p.states[i].CompareAndSwap(free, abandoned) {
		p.settle()
		return true
	}
	return false
}

// stop abandons all that is not done and says whether there was any.
func (p *pool[T]) stop() (cut bool) {
	for i := range p.states {
		cut = p.abandon(i) || cut
	}
	for i := range p.states {
		for p.states[i].Load() == publishing { // a copy in memory, it cannot hang
			runtime.Gosched()
		}
	}
	return cut
}

func (p *pool[T]) settle() {
	if p.left.Add(-1) == 0 {
		close(p.finished)
	}
}

// result is an item's result; ok is false where it was abandoned.
func (p *pool[T]) result(i int) (result T, ok bool) {
	return p.results[i], p.states[i].Load() == done
}
