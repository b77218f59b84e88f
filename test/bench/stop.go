//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lastLook is the wait between the last exit and the sweep's last look at the
// table. It is there on purpose, so it is not counted.
const lastLook = 100 * time.Millisecond

// patient is a grace that does not run out, in ms.
const patient = 10_000

// netRatio compares stops, reaper's without the last look.
func netRatio(p pair) float64 {
	p.ours.Wall -= min(p.ours.Wall, lastLook)
	return wallRatio(p)
}

// stop measures whole sweeps that stop what is left over. Each needs a new crowd.
func (b *bench) stop() error {
	l, err := newLab(b.ctx, b.tools, b.dir)
	if err != nil {
		return err
	}
	defer l.close()
	bystanders, err := l.populate("bystanders", 0)
	if err != nil {
		return err
	}
	s := stopping{bench: b, lab: l, bystanders: bystanders.PIDs}
	sweep := []string{b.tools.reaper, "sweep", "--rules", b.rulesFile(markedRule, loudNames)}
	b.progress("stops")
	if _, err := s.once("leftovers", append(slices.Clone(sweep), "--json")); err != nil {
		return err
	}
	doc, err := l.document()
	b.found.expect(err == nil && doc.Totals.Stopped == len(s.crowd), "stop: reaper says %d of %d processes were stopped (%v)",
		doc.Totals.Stopped, len(s.crowd), err)

	b.found.stopped = len(s.crowd)
	b.found.grace = b.grace
	if b.found.stop, err = s.paired("leftovers", sweep, patient, b.rounds); err != nil {
		return err
	}
	b.progress("stops of what is deaf to SIGTERM")
	sweep = append(sweep, "--grace", b.grace.String())
	b.found.deaf, err = s.paired("deaf", sweep, int(b.grace/time.Millisecond), min(b.rounds, slowRounds))
	for _, one := range b.found.deaf {
		b.found.expect(one.ours.Wall >= b.grace, "stop: what was to be deaf to SIGTERM was gone before the grace was over")
	}
	return err
}

type stopping struct {
	*bench
	lab        *lab
	bystanders []int
	crowd      []int // pids of the last one
	calm       bool  // whether the last stop began in a quiet moment
}

// paired stops a new crowd of this kind by a sweep and another one by the C
// program, in turns. Without that program the sweep is all.
func (s *stopping) paired(kind string, sweep []string, graceMS, rounds int) (pairs, error) {
	other := []string{s.tools.stop, strconv.Itoa(graceMS), s.pidFile()}
	var all pairs
	for round := range rounds {
		var one pair
		turns := []struct {
			argv []string
			run  *run
		}{{sweep, &one.ours}, {other, &one.other}}
		if round%2 == 1 {
			slices.Reverse(turns)
		}
		one.calm = true
		for _, turn := range turns {
			if turn.argv[0] == "" {
				continue
			}
			var err error
			if *turn.run, err = s.once(kind, turn.argv); err != nil {
				return nil, err
			}
			one.calm = one.calm && s.calm
		}
		all = append(all, one)
	}
	return all, nil
}

func (s *stopping) pidFile() string { return filepath.Join(s.dir, "pids") }

// once starts a crowd and stops it by the command, and looks whether that did it.
func (s *stopping) once(kind string, argv []string) (run, error) {
	c, err := s.lab.populate(kind, s.orphans)
	if err != nil {
		return run{}, err
	}
	s.crowd = c.PIDs
	pids := strings.Trim(fmt.Sprint(c.PIDs), "[]")
	if err := os.WriteFile(s.pidFile(), []byte(pids), 0o644); err != nil {
		return run{}, err
	}
	s.calm = s.quiet.wait()
	r, err := s.lab.run(argv...)
	if err != nil {
		return r, err
	}
	name := filepath.Base(argv[0])
	s.found.expect(r.Status == 0, "stop: %s ended with status %d: %s", name, r.Status, s.lab.complained())
	if left := s.lab.running(s.crowd); len(left) > 0 {
		return r, fmt.Errorf("%s left %d of %d processes running", name, len(left), len(s.crowd))
	}
	if n := len(s.lab.running(s.bystanders)); n != len(s.bystanders) {
		return r, fmt.Errorf("%d of %d bystanders are left after %s", n, len(s.bystanders), name)
	}
	return r, nil
}
