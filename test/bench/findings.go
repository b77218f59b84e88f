//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// findings is all that was measured.
type findings struct {
	scans      map[int]*scans // by size
	stop, deaf pairs
	stopped    int           // processes of each stop
	grace      time.Duration // of those that are deaf
	starts     []starting
	mistakes   []string // a fast wrong answer is worth nothing
	quiet      quiet    // of all parts
}

// expect notes a mistake, each once.
func (f *findings) expect(holds bool, format string, args ...any) {
	if what := fmt.Sprintf(format, args...); !holds && !slices.Contains(f.mistakes, what) {
		f.mistakes = append(f.mistakes, what)
	}
}

// wrong says what was answered wrongly, nil where nothing was.
func (f *findings) wrong() error {
	if len(f.mistakes) == 0 {
		return nil
	}
	return errors.New("the figures are not to be used:\n  " + strings.Join(f.mistakes, "\n  "))
}

func (b *bench) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...)
}
