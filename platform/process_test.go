package platform

import "testing"

func TestParsePID(t *testing.T) {
	for s, want := range map[string]int{"1": 1, "4194304": 4194304, "12": 12} {
		if got, ok := ParsePID(s); !ok || got != want {
			t.Errorf("%q: %d, %v", s, got, ok)
		}
	}
	for _, s := range []string{"", "0", "01", "+1", "-1", " 1", "1 ", "1x", "１", "99999999999", "1@2"} {
		if got, ok := ParsePID(s); ok {
			t.Errorf("%q was read as %d", s, got)
		}
	}
}

func TestExited(t *testing.T) {
	for _, row := range []struct {
		state           byte
		threads         int
		exited, exiting bool
	}{{'S', 1, false, false}, {'Z', 1, true, true}, {'Z', 2, false, true}, {'X', 1, true, true}, {'x', 0, true, true}, {0, 0, false, false}, {'T', 1, false, false}} {
		p := Process{State: row.state, Threads: row.threads}
		if p.Exited() != row.exited || p.Exiting() != row.exiting || p.halfway() != (row.exiting && !row.exited) {
			t.Errorf("%c with %d threads: exited %v, exiting %v", row.state, row.threads, p.Exited(), p.Exiting())
		}
	}
}
