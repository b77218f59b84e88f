//go:build linux

package test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is said now to the golden files")

const errorsFile = "testdata/errors.golden"

// wrong are command lines with a mistake in each; DIR is the test's own folder.
var wrong = [][]string{
	{},
	{"swep"},
	{"rules", "chek", "DIR/good.yaml"},
	{"sweep", "--dryrun"},
	{"sweep", "--nope"},
	{"sweep", "extra"},
	{"sweep", "--grace", "2x"},
	{"sweep", "--grace=-1s"},
	{"sweep", "--max", "0"},
	{"sweep", "--color", "sometimes"},
	{"sweep", "--rules"},
	{"sweep", "--rules", "DIR/none.yaml"},
	{"sweep", "--rules", "DIR"},
	{"sweep", "--rules", "DIR/empty.yaml"},
	{"sweep", "--rules", "DIR/typos.yaml"},
	{"sweep", "--rules", "DIR/wide.yaml"},
	{"sweep", "--rules", "DIR/hostile\x1b[2J\n.yaml"},
	{"sweep", "--rules", "DIR/open.yaml"},
	{"sweep", "--rules", "DIR/good.yaml", "--only", "roots"},
	{"sweep", "--dry-run", "--quiet", "--rules", "DIR/good.yaml", "--metrics", "DIR/none/reaper.prom"},
	{"rules", "check", "DIR/typos.yaml"},
	{"rules", "check"},
	{"explain"},
	{"explain", "x"},
	{"explain", "4194303"},
	{"stop", "0"},
	{"stop", "12@"},
	{"alive", "-1"},
	{"id", "4194303"},
	{"run"},
	{"run", "--follow", "x", "--", "true"},
	{"run", "--", "no-such-command"},
	{"schedule", "crontab"},
	{"schedule", "cron", "--every", "7m"},
	{"completion", "tcsh"},
}

// TestErrors guards the words of each mistake, its status, and that nothing of it
// is on stdout. They are the same on a terminal of any width, so that they can be
// searched for. go test ./test -run TestErrors -update writes them; then read them.
func TestErrors(t *testing.T) {
	lab := newLab(t)
	rule := "version: 1\nrules:\n  - name: roost\n    marker: [M]\n    orphan: [follows: M]\n"
	for name, text := range map[string]string{
		"good.yaml": rule, "empty.yaml": "", "open.yaml": rule,
		"typos.yaml":            "version: 1\nrules:\n  - name: roost\n    markers: [M]\n    orphan:\n      - folows: M\n    older_than: 5 minutes\n",
		"wide.yaml":             "version: 1\nrules:\n  - name: 日本語の名前\n    marker: [M]\n    orphan: [follows: M, \"ｆｏｏ\"]\n",
		"hostile\x1b[2J\n.yaml": "version: 1\nrules: [{\"\\e[2J\": 1}]\n",
	} {
		lab.must(os.WriteFile(filepath.Join(lab.Dir, name), []byte(text), 0o644))
	}
	lab.must(os.Chmod(filepath.Join(lab.Dir, "open.yaml"), 0o666))
	var b strings.Builder
	for _, words := range wrong {
		args := make([]string, len(words))
		for i, word := range words {
			args[i] = strings.Replace(word, "DIR", lab.Dir, 1)
		}
		this, _ := lab.launch(Spec{Argv: append([]string{reaperBinary(t)}, args...), Env: []string{quickExit}, Leader: true})
		this.Out, this.Err = lab.path("stdout"), lab.path("stderr")
		res := lab.Collect(this.Out, this.Err, lab.finish(this), args)
		if res.Stdout != "" || res.Exit == 0 {
			t.Errorf("%q: status %d, on stdout %q", words, res.Exit, res.Stdout)
		}
		if strings.ContainsAny(res.Stderr, "\x1b\r") {
			t.Errorf("%q: %q", words, res.Stderr)
		}
		fmt.Fprintf(&b, "$ reaper %q: status %d\n%s\n", words, res.Exit, strings.ReplaceAll(res.Stderr, lab.Dir, "DIR"))
	}
	if *update {
		lab.must(os.WriteFile(errorsFile, []byte(b.String()), 0o644))
	}
	if want := string(readAll(t, errorsFile)); b.String() != want {
		t.Errorf("%s, got:\n%s\nwant:\n%s", errorsFile, b.String(), want)
	}
}
