//go:build linux

// Bench measures reaper against other programs that read or stop processes, all
// of them as whole programs over the same population, in pairs that take turns:
//
//	go run ./test/bench
//
// It prints Markdown tables of ratios; progress goes to stderr. Everything runs
// in a pid namespace of its own, so it needs root or user namespaces. What is not
// installed is left out: gcc (the C programs), procps, grep, strace, psutil.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// settings are what one run of the benchmark measures.
type settings struct {
	reaper   string // path; "": build it
	sizes    []int  // of the populations, ascending
	rounds   int    // pairs of each comparison
	parts    []string
	patience time.Duration // to wait for quiet moments, for each part
	grace    time.Duration // for what is deaf to SIGTERM
	orphans  int           // processes of each stop
}

var allParts = []string{"scan", "stop", "start"}

func main() {
	if len(os.Args) > 1 && isRole(os.Args[1]) {
		if err := playRole(os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	s, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	f, err := measure(ctx, s)
	if err == nil {
		fmt.Print(f.tables(s))
		err = f.wrong()
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parseFlags(args []string) (settings, error) {
	s := settings{grace: time.Second, orphans: 360}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&s.reaper, "reaper", "", "measure the program at `PATH` instead of building this clone's")
	sizes := flags.String("sizes", "300,2000,6000", "`processes` of each population")
	flags.IntVar(&s.rounds, "rounds", 11, "`pairs` of each comparison")
	parts := flags.String("parts", strings.Join(allParts, ","), "what to measure")
	flags.DurationVar(&s.patience, "patience", 30*time.Second, "how `long` a part may wait for quiet moments; 0: no looking for them")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	for _, word := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 20 || n > mostProcesses {
			return s, fmt.Errorf("--sizes %s: numbers from 20 to %d, separated by commas", *sizes, mostProcesses)
		}
		s.sizes = append(s.sizes, n)
	}
	slices.Sort(s.sizes)
	s.sizes = slices.Compact(s.sizes)
	s.parts = strings.Split(*parts, ",")
	for _, part := range s.parts {
		if !slices.Contains(allParts, part) {
			return s, fmt.Errorf("--parts %s: out of %s", *parts, strings.Join(allParts, ","))
		}
	}
	if s.rounds < 1 {
		return s, errors.New("--rounds: one at least")
	}
	return s, nil
}

// measure builds what is needed and measures all parts in turn, until one fails.
func measure(ctx context.Context, s settings) (*findings, error) {
	dir, err := os.MkdirTemp("", "reaper-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	b := &bench{ctx: ctx, settings: s, dir: dir, found: &findings{scans: map[int]*scans{}}}
	b.quiet.off = s.patience == 0
	if b.tools, err = build(ctx, dir, s.reaper); err != nil {
		return nil, err
	}
	for _, part := range allParts {
		if !slices.Contains(s.parts, part) {
			continue
		}
		if err := b.part(part); err != nil {
			return b.found, fmt.Errorf("%s: %w", part, err)
		}
	}
	b.found.quiet = b.quiet
	return b.found, nil
}

// bench is one run.
type bench struct {
	settings
	ctx   context.Context
	dir   string // temporary, for all that is built and written
	tools tools
	quiet quiet
	found *findings
}

func (b *bench) part(name string) error {
	b.quiet.left = b.patience
	switch name {
	case "scan":
		for _, size := range b.sizes {
			b.quiet.left = b.patience
			if err := b.scan(size); err != nil {
				return fmt.Errorf("%d processes: %w", size, err)
			}
		}
		return nil
	case "stop":
		return b.stop()
	}
	return b.start()
}
