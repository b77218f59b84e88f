package main

import (
	"bytes"
	"strings"
	"testing"

	"reaper/sweep"
)

// Guards environments against a mistake in this program: what it panics with is not
// shown, where it was is, and the status is none that says all is well or all is
// known.
func TestPanicShowsNoEnvironment(t *testing.T) {
	for _, c := range []struct {
		with any
		says string
	}{
		{"TOKEN=secret", "(a string)"},
		{struct{ Env []string }{[]string{"TOKEN=secret"}}, "(a struct"},
		{nil, "runtime error: index out of range [3] with length 1"},
	} {
		var stderr bytes.Buffer
		code := told(&stderr, func() (int, error) {
			if c.with == nil {
				_ = []string{"TOKEN=secret"}[stderr.Len()+3]
			}
			panic(c.with)
		})
		if said := stderr.String(); code != sweep.ExitLeft || !strings.Contains(said, c.says) || !strings.Contains(said, "TestPanicShowsNoEnvironment") || strings.Contains(said, "secret") {
			t.Errorf("status %d: %s", code, said)
		}
	}
}
