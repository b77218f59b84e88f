package platform

import "runtime/debug"

// Broken is the panic of another goroutine, which the one that waits for it raises
// again: the program then ends as by a panic of its own.
type Broken struct {
	Value any
	Stack []byte // of where it was
}

// caught runs work and returns its panic, or nil.
func caught(work func()) (b *Broken) {
	defer func() {
		if r := recover(); r != nil {
			b = &Broken{r, debug.Stack()}
		}
	}()
	work()
	return nil
}
