package sweep

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"reaper/match"
	"reaper/platform"
)

// gauges reads the file as Prometheus does: name, or name and reason, to value.
func gauges(t *testing.T, text string) map[string]float64 {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	got := map[string]float64{}
	for name, family := range families {
		if family.GetHelp() == "" || family.GetType().String() != "GAUGE" {
			t.Errorf("%s: %q, %s", name, family.GetHelp(), family.GetType())
		}
		for _, m := range family.GetMetric() {
			key := name
			for _, label := range m.GetLabel() {
				key += " " + label.GetName() + "=" + label.GetValue()
			}
			got[key] = m.GetGauge().GetValue()
		}
	}
	return got
}

func TestMetricsAreTheReports(t *testing.T) {
	r := &Report{
		Started: "2026-11-30T19:15:02.250Z", TookMS: 1234.5, Exit: ExitLeft, DryRun: true, Census: platform.Counts{Unreadable: 3},
		Spared: []Spared{{Reason: match.Owned}, {Reason: match.ParentRunning}, {Reason: match.Owned}},
		Totals: Totals{Orphans: 4, Stopped: 7, Unconfirmed: 1, Denied: 1},
	}
	path := filepath.Join(t.TempDir(), "reaper.prom")
	if err := os.WriteFile(path, []byte("old\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := OpenMetrics(path)
	if err != nil {
		t.Fatal(err)
	}
	if old, err := os.ReadFile(path); err != nil || string(old) != "old\n" {
		t.Errorf("before the end: %v, %q", err, old)
	}
	if err := m.Write(r); err != nil {
		t.Fatal(err)
	}
	m.Discard()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{
		"reaper_orphans": 4, "reaper_stopped": 7, "reaper_unconfirmed": 2, "reaper_unreadable": 3, "reaper_dry_run": 1, "reaper_exit_status": 3,
		"reaper_spared reason=owned": 2, "reaper_spared reason=parent-running": 1,
		"reaper_duration_seconds": 1.2345, "reaper_last_run_timestamp_seconds": 1796066102.25,
	}
	got := gauges(t, string(text))
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s is %v, not %v", key, got[key], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%v", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v: the collector is another user", err, info.Mode())
	}
	gauges(t, (&Report{}).metrics())
	onlyFile(t, path)
}

// onlyFile demands that nothing lies beside it.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("%v: %v", err, entries)
	}
}

func TestMetricsThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "gone", "a.prom"), os.DevNull} {
		if m, err := OpenMetrics(path); err == nil {
			t.Errorf("%s: no error", path)
			m.Discard()
		}
	}
	path := filepath.Join(dir, "a.prom")
	m, err := OpenMetrics(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := m.Write(&Report{}); err == nil {
		t.Error("no error where a folder took the name")
	}
	m.Discard()
	onlyFile(t, path)
	none, err := OpenMetrics("")
	if err != nil || none.Write(&Report{}) != nil {
		t.Errorf("without a file: %v", err)
	}
	none.Discard()
}
