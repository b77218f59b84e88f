package sweep_test

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"testing"
	"time"

	"reaper/match"
	"reaper/platform"
	"reaper/sweep"
)

// textMachine is the real one, read through ps.
type textMachine struct {
	sweep.OS
	text *platform.TextReader
}

func (m textMachine) Scan(ctx context.Context, q platform.Query) (*platform.Census, error) {
	return m.text.Scan(ctx, q)
}

func (m textMachine) Survey(ctx context.Context, c *platform.Census, q platform.Query) error {
	return m.text.Survey(ctx, c, q)
}

func (m textMachine) Inspect(ctx context.Context, c *platform.Census, pids []int, q platform.Query) {
	m.text.Inspect(ctx, c, pids, q)
}

// TestWhatPSShowsIsNeverStopped sweeps a real process twice: what the kernel's word
// proves an orphan is reported, and lives, where only ps speaks.
func TestWhatPSShowsIsNeverStopped(t *testing.T) {
	if _, err := exec.LookPath("/bin/ps"); err != nil {
		t.Skip("no /bin/ps")
	}
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	left := exec.Command("sleep", "60")
	left.Env = []string{fmt.Sprintf("REAPER_TEXT_TEST=%d", gone.Process.Pid)}
	if err := left.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { left.Process.Kill(); left.Wait() }()
	rules, err := match.Load("rules.yaml", []byte("version: 1\nrules: [{name: r, marker: [REAPER_TEXT_TEST], orphan: [follows: REAPER_TEXT_TEST]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	reader, err := platform.NewReader()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	o := sweep.Options{Rules: rules, Deadline: 20 * time.Second}
	proven, err := sweep.DryRun(t.Context(), sweep.OS{Reader: reader}, o)
	if err != nil || !slices.ContainsFunc(proven.Orphans, func(o sweep.Orphan) bool { return o.PID == left.Process.Pid }) {
		t.Fatalf("%v, %+v", err, proven)
	}
	r, err := sweep.Stop(t.Context(), textMachine{sweep.OS{Reader: reader}, platform.NewTextReader()}, o)
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(r.Spared, func(s sweep.Spared) bool { return s.PID == left.Process.Pid })
	if len(r.Orphans) > 0 || at < 0 || r.Spared[at].Reason != match.UnknownReason {
		t.Errorf("orphans %+v, spared %+v", r.Orphans, r.Spared)
	}
	if live := reader.Liveness(left.Process.Pid); live.Running != platform.Yes {
		t.Errorf("it was stopped: %+v", live)
	}
}
