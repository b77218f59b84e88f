package platform

import (
	"context"
	"sync"
	"time"
)

// within runs a look-up that may hang for ever, and gives up on it with the
// context: then the answer is the zero value.
func within[T any](ctx context.Context, ask func() T) T {
	answered, broke := make(chan T, 1), make(chan *Broken, 1)
	go func() {
		if b := caught(func() { answered <- ask() }); b != nil {
			broke <- b
		}
	}()
	select {
	case b := <-broke:
		panic(b)
	case a := <-answered:
		return a
	case <-ctx.Done():
		var none T
		return none
	}
}

// afterOne is how long further paths are waited for once one gave no answer: those
// on the same lost file system give none either, and a good one takes microseconds.
const afterOne = 50 * time.Millisecond

// lostPaths are the paths that gave no answer, which are not asked again.
type lostPaths struct {
	mu    sync.Mutex
	paths map[string]bool
}

// ask is the answer about a path, Unknown where it does not come in time.
func (l *lostPaths) ask(ctx context.Context, path string, look func() Answer) Answer {
	l.mu.Lock()
	lost, any := l.paths[path], len(l.paths) > 0
	l.mu.Unlock()
	if lost {
		return Unknown
	}
	if any {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, afterOne)
		defer cancel()
	}
	answer := within(ctx, look)
	if answer == Unknown && ctx.Err() != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.paths == nil {
			l.paths = map[string]bool{}
		}
		l.paths[path] = true
	}
	return answer
}
