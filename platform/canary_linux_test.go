package platform

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestTrust(t *testing.T) {
	r := reader(t)
	var seen int
	real := func(pid int, names []string) ([]Var, EnvState) {
		seen = pid
		got := r.scan(&scratch{}, pid, newWanted(names), Query{Names: names})
		return got.row.Vars, got.row.Env
	}
	for _, c := range []struct {
		name string
		read func(pid int, names []string) ([]Var, EnvState)
		says string
	}{
		{"is read back", real, ""},
		{"is withheld", func(int, []string) ([]Var, EnvState) { return nil, EnvWithheld }, "keeps back"},
		{"is refused", func(int, []string) ([]Var, EnvState) { return nil, EnvUnreadable }, "cannot be read"},
		{"is empty", func(int, []string) ([]Var, EnvState) { return nil, EnvOverwritten }, "cannot be read"},
		{"is another's", func(int, []string) ([]Var, EnvState) { return []Var{{canaryMark, "x"}}, EnvPresent }, "does not show"},
		{"shows no marker", func(int, []string) ([]Var, EnvState) { return nil, EnvPresent }, "does not show"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := trust(context.Background(), c.read)
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
	if live := r.Liveness(seen); seen == 0 || live.Running != No {
		t.Errorf("the canary %d is left: %+v", seen, live)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := trust(ended, real); err == nil {
		t.Error("trust without a canary")
	}
}

// shown is a scripted kernel that also shows the real processes of this machine.
type shown struct {
	*scripted
	env func(entries []string) []byte // the record of one with this environment
}

func (k shown) record(pid int) ([]byte, error) {
	if k.procs[pid] == nil {
		k.add(pid, nil)
	}
	return k.scripted.record(pid)
}

func (k shown) procargs(pid int) ([]byte, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	return k.env(strings.Split(strings.TrimSuffix(string(raw), "\x00"), "\x00")), err
}

// Guards that a Mac's canary is read as any other process is.
func TestXNUTrust(t *testing.T) {
	record := func(env []string) []byte { return build("/opt/reaper", []string{canaryProgram}, env, true) }
	for name, c := range map[string]struct {
		env  func([]string) []byte
		says string
	}{
		"shown":             {record, ""},
		"withheld":          {func([]string) []byte { return []byte("\x01\x00\x00\x00/opt/r\x00\x00r\x00") }, "keeps back"},
		"of another layout": {func([]string) []byte { return nil }, "cannot be read"},
		"another one's":     {func([]string) []byte { return record([]string{canaryMark + "=X"}) }, "does not show"},
	} {
		k := newScripted()
		k.procs[50].args[0] = record([]string{canaryMark + "=own"})
		r := k.reader()
		r.kernel = shown{k, c.env}
		if err := r.Trust(context.Background()); (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoCanaryByAccident(t *testing.T) {
	t.Setenv(canaryMark, "1")
	if PlayCanary() {
		t.Error("this test is one")
	}
}
