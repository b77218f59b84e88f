//go:build linux

package test

import "testing"

// A limit on open files below the number of orphans makes the sweep take them in
// batches, the deaf ones with a grace and a KILL of their own each; none is left.
func TestFewDescriptorsMeanBatches(t *testing.T) {
	for name, role := range map[string]string{"obedient": "idle", "deaf": "deaf"} {
		t.Run(name, func(t *testing.T) {
			lab := newLab(t)
			mark := lab.Mark(lab.Dead())
			var orphans []Proc
			for range 70 {
				orphans = append(orphans, lab.OrphanRole([]string{mark}, role))
			}
			res := lab.Run(Run{Via: []string{"sh", "-c", `ulimit -n 48; exec "$@"`, "sh"}, Args: []string{"--grace", "300ms"}, Status: 0})
			signals := []string{"TERM"}
			if role == "deaf" {
				signals = append(signals, "KILL")
			}
			for _, p := range orphans {
				lab.Stopped(res, p, With(signals...))
			}
			if n := res.Doc.Totals.Stopped; n != len(orphans) {
				t.Errorf("%d stopped of %d", n, len(orphans))
			}
		})
	}
}

// Guards the status where there are hardly any descriptors: a sweep that could not
// read a process does not say that nothing is left to do.
func TestWithHardlyAnyDescriptorsNothingIsMissedInSilence(t *testing.T) {
	lab := newLab(t)
	for range 2 {
		lab.OrphanRole([]string{lab.Mark(lab.Dead())}, "idle")
	}
	for range 10 {
		for _, limit := range []string{"9", "10", "12"} {
			res := lab.Run(Run{Via: []string{"sh", "-c", "ulimit -n " + limit + `; exec "$@"`, "sh"}, Args: []string{"--dry-run"}})
			if res.Exit == 0 && len(res.Doc.Orphans) < 2 {
				t.Errorf("limit %s: status 0 with %d orphans of 2: %s", limit, len(res.Doc.Orphans), res.Stderr)
			}
		}
	}
}
