package sweep

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

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
	if err := WriteMetrics(path, r); err != nil {
		t.Fatal(err)
	}
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

// TestMetricsThatCannotBeWritten guards what is refused, that nothing of it is
// touched, and that nothing is left aside.
func TestMetricsThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	must(t, os.Mkdir(in("folder"), 0o755))
	must(t, syscall.Mkfifo(in("pipe"), 0o644))
	open, err := os.Create(in("open"))
	must(t, err)
	defer open.Close()
	fd := fmt.Sprintf("/proc/self/fd/%d", open.Fd())
	for name, to := range map[string]string{"a": "b", "b": "a", "null": os.DevNull, "to-open": fd, "to-to-open": "to-open", "dangling": "gone/file"} {
		must(t, os.Symlink(to, in(name)))
	}
	for path, want := range map[string]string{
		in("folder"): "no regular file", in("folder") + "/": "no regular file", in("pipe"): "no regular file", in("gone/x.prom"): "no such file",
		in("a"): "too many links", in("null"): "/dev/null is no file of a folder", in("to-open"): "is no file of a folder", in("to-to-open"): "is no file of a folder",
		in("dangling"): "no such file", fd: "is no file of a folder", os.DevNull: "is no file of a folder", "/dev/fd/1": "is no file of a folder", "/dev": "is no file of a folder",
	} {
		if err := WriteMetrics(path, &Report{}); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "metrics: ") {
			t.Errorf("%s: %v, not %s", path, err, want)
		}
	}
	if text, err := os.ReadFile(in("open")); err != nil || len(text) > 0 {
		t.Errorf("what somebody has open was written: %v, %q", err, text)
	}
	if err := replaceFile(in("folder"), ""); err == nil { // it took the name meanwhile
		t.Error("no error where a folder has the name")
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 9 {
		t.Errorf("%v: %v", err, entries)
	}
	if err := WriteMetrics("", &Report{}); err != nil {
		t.Errorf("without a file: %v", err)
	}
}

// TestMetricsFollowLinks guards that a link stays one, and that the file which it
// names is written where that is.
func TestMetricsFollowLinks(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"real", "links", "real/inner"} {
		must(t, os.Mkdir(in(name), 0o755))
	}
	must(t, os.WriteFile(in("real/old.prom"), []byte("old\n"), 0o600))
	links := map[string]string{
		"links/one": "../real/old.prom", "links/two": in("links/one"), "links/new": in("real/new.prom"),
		"links/inner": in("real/inner"), "links/up": "inner/../up.prom", // the folder above inner is real
	}
	for name, to := range links {
		must(t, os.Symlink(to, in(name)))
	}
	for name, file := range map[string]string{"links/two": "real/old.prom", "links/new": "real/new.prom", "links/up": "real/up.prom", "links/inner/x.prom": "real/inner/x.prom"} {
		must(t, WriteMetrics(in(name), &Report{}))
		if text, err := os.ReadFile(in(file)); err != nil || !strings.Contains(string(text), "reaper_orphans 0\n") {
			t.Errorf("%s: %v, %q", name, err, text)
		}
	}
	for name, to := range links {
		if got, err := os.Readlink(in(name)); err != nil || got != to {
			t.Errorf("%s: %v, leads to %s", name, err, got)
		}
	}
	t.Chdir(in("real"))
	must(t, WriteMetrics("here.prom", &Report{}))
	if _, err := os.Stat(in("real/here.prom")); err != nil {
		t.Error(err)
	}
}

// TestMetricsNotThroughAnothersLink: a link in a shared folder could lead root's
// sweep to any file.
func TestMetricsNotThroughAnothersLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	must(t, os.WriteFile(file, []byte("kept\n"), 0o644))
	must(t, os.Symlink(file, link))
	if err := os.Lchown(link, 65534, 65534); err != nil {
		t.Skip("no second user: the tests are not run by root")
	}
	if err := WriteMetrics(link, &Report{}); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
		t.Errorf("%v", err)
	}
	if text, _ := os.ReadFile(file); string(text) != "kept\n" {
		t.Errorf("%q", text)
	}
}

// TestMetricsLeftByKilledSweeps guards that only what a sweep left aside long ago
// is removed.
func TestMetricsLeftByKilledSweeps(t *testing.T) {
	dir := t.TempDir()
	old := time.Now().Add(-2 * staleAfter)
	for name, stays := range map[string]bool{
		".a.prom.reaper-123": false, ".a.prom.reaper-9": false, ".a.prom.reaper-": true, ".a.prom.reaper-12x": true, ".b.prom.reaper-123": true, ".a.prom.123": true, "a.prom.reaper-1": true,
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o644))
		must(t, os.Chtimes(filepath.Join(dir, name), old, old))
		defer func() {
			if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != stays {
				t.Errorf("%s: %v", name, err)
			}
		}()
	}
	young, folder := filepath.Join(dir, ".a.prom.reaper-77"), filepath.Join(dir, ".a.prom.reaper-78")
	must(t, os.WriteFile(young, nil, 0o644))
	must(t, os.Mkdir(folder, 0o755))
	must(t, os.Chtimes(folder, old, old))
	must(t, WriteMetrics(filepath.Join(dir, "a.prom"), &Report{}))
	for _, path := range []string{young, folder} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
