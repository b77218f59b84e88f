package platform

import "context"

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
