package platform

import (
	"context"
	"strings"
	"testing"
)

// Guards the exit status and what is shown of the environment when a worker
// panics: it is the caller's panic then, with the place where it was.
func TestPanicOfAWorkerIsTheCallers(t *testing.T) {
	breaks := func() int { panic("for a test") }
	for what, wait := range map[string]func(){
		"a pool": func() {
			newPool(3, shortStall, func(*scratch, int) int { return breaks() }).run(context.Background(), 2)
		},
		"a look-up": func() { within(context.Background(), breaks) },
	} {
		b := caught(wait)
		if b == nil {
			t.Errorf("%s: no panic", what)
			continue
		}
		inner, _ := b.Value.(*Broken)
		if inner == nil || inner.Value != "for a test" || !strings.Contains(string(inner.Stack), "TestPanicOfAWorkerIsTheCallers.func1") {
			t.Errorf("%s: %v", what, b.Value)
		}
	}
}
