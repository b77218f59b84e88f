//go:build linux

package main

// starting is one command that does next to nothing, against an empty Go program.
type starting struct {
	name  string
	argv  []string
	pairs pairs
}

// start measures start-up in a namespace where nothing else runs.
func (b *bench) start() error {
	b.progress("start-up")
	l, err := newLab(b.ctx, b.tools, b.dir)
	if err != nil {
		return err
	}
	defer l.close()
	sweep := []string{b.tools.reaper, "sweep", "--dry-run"}
	starts := []starting{
		{name: "`reaper --version`", argv: []string{b.tools.reaper, "--version"}},
		{name: "`reaper sweep --dry-run`, no rules file, no processes", argv: sweep},
		{name: "the same with four rules", argv: append(sweep, "--rules", b.rulesFile(markedRule, quietNames))},
	}
	for round := range 4 * b.rounds {
		for i := range starts {
			one, err := b.pair(l, starts[i].argv, peer{name: "the empty program", argv: []string{b.tools.empty}}, round%2 == 1)
			if err != nil {
				return err
			}
			starts[i].pairs = append(starts[i].pairs, one)
		}
	}
	b.found.starts = starts
	return nil
}
