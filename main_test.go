package main

import (
	"bytes"
	"io"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"reaper/platform"
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
		{&platform.Broken{Value: "TOKEN=secret", Stack: debug.Stack()}, "(a string)"},
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

// Guards the status of an answer that nobody got, as on a full disk: a script that
// keeps it in a file must see that.
func TestAnswerThatCannotBeWrittenIsNoSuccess(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	pid := strconv.Itoa(os.Getpid())
	for _, line := range []string{"--version", "man", "completion bash", "rules show", "rules schema", "rules init -", "rules check rules.example.yaml",
		"id " + pid, "explain " + pid, "explain --json " + pid, "sweep --dry-run", "sweep --dry-run --json"} {
		var stderr bytes.Buffer
		if status := run(strings.Fields(line), full{}, &stderr); status != sweep.ExitLeft {
			t.Errorf("reaper %s: status %d: %s", line, status, &stderr)
		}
		if status := run(strings.Fields(line), io.Discard, &stderr); status != sweep.ExitDone {
			t.Errorf("reaper %s: status %d where there is room: %s", line, status, &stderr)
		}
	}
}

// full is a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }
