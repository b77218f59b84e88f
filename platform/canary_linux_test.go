package platform

import (
	"context"
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

func TestNoCanaryByAccident(t *testing.T) {
	t.Setenv(canaryMark, "1")
	if PlayCanary() {
		t.Error("this test is one")
	}
}
