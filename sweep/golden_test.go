package sweep

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what is said now to the golden files")

// golden demands that the text is the file's.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test ./sweep -update writes it", err)
	}
	if got != string(want) {
		t.Errorf("%s, got:\n%s\nwant:\n%s", path, got, want)
	}
}

// Every face of a report that is kept: a file for each, a section for each way to
// look at it.
var (
	at80       = View{Width: 80, Home: "/home/ann"}
	at200      = View{Width: 200}
	piped      = View{}
	coloured   = View{Width: 80, Color: true}
	verbose80  = View{Width: 80, Verbose: true}
	verbose200 = View{Width: 200, Verbose: true}
	quiet      = View{Width: 80, Quiet: true}
)

func (v View) String() string {
	what := "a pipe"
	if v.Width > 0 {
		what = fmt.Sprintf("%d columns", v.Width)
	}
	for _, is := range []struct {
		so   bool
		what string
	}{{v.Color, ", colour"}, {v.Verbose, ", verbose"}, {v.Quiet, ", quiet"}} {
		if is.so {
			what += is.what
		}
	}
	return what
}

var faces = []struct {
	name   string
	report *Report
	views  []View
}{
	{"dryrun", usual(), []View{at80, at200, piped, coloured, verbose80, verbose200, quiet}},
	{"sweep", usual().end(nil), []View{at80, at200, coloured, verbose200, quiet}},
	{"sweep-mixed", usual().end(map[int]Member{
		41300: {Outcome: Vanished}, 41310: {Outcome: Changed, Detail: "no longer part of an orphan's tree"},
		41233: {Outcome: Recycled, Detail: "41233 is held by 41233@99 now"}, 39001: {Outcome: Denied, Detail: "operation not permitted"},
		41240: {Outcome: Stopped, Signals: []string{"TERM", "KILL"}},
	}), []View{at80, coloured, verbose80}},
	{"unconfirmed", unconfirmed(), []View{at80, at200, coloured, verbose80, quiet}},
	{"many", incident(), []View{at80, at200, piped}},
	{"many-unconfirmed", incident().end(map[int]Member{
		20010: {Outcome: Unconfirmed, Detail: "started again by supervise (90)"}, // a worker
		20100: {Outcome: Vanished}, 20112: {Outcome: Vanished},
	}), []View{at80, coloured, quiet}},
	{"nothing", scene(), []View{at80, piped, verbose80, quiet}},
	{"spared", live(), []View{at80, at200, verbose80, quiet}},
	{"reported", reported(), []View{at80, quiet}},
	{"refused", refused(), []View{at80, quiet}},
	{"cut", cut(), []View{at80, quiet}},
	{"named", named(), []View{at80}},
	{"wide", strange("wide", wideCommands), []View{at80, at200, piped, coloured}},
	{"hostile", strange("hostile", hostileCommands()), []View{at80, at200, piped, coloured}},
	{"long", strange("long", longCommands()), []View{at80, at200, piped}},
}

// TestFaces guards what a person reads. go test ./sweep -update writes the files,
// which then are to be read.
func TestFaces(t *testing.T) {
	for _, f := range faces {
		t.Run(f.name, func(t *testing.T) {
			var b strings.Builder
			for _, v := range f.views {
				fmt.Fprintf(&b, "== %s\n%s", v, strings.ReplaceAll(text(t, f.report, v), "\x1b", "ESC"))
			}
			golden(t, "text/"+f.name+".golden", b.String())
		})
	}
}

// TestDocuments guards what a program reads.
func TestDocuments(t *testing.T) {
	for name, report := range map[string]*Report{"dryrun": usual(), "sweep": usual().end(nil)} {
		raw, err := json.MarshalIndent(report, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		golden(t, "json/"+name+".golden", string(raw)+"\n")
	}
}

// TestLinesFit guards the width: no line is wider than the terminal, in any face.
func TestLinesFit(t *testing.T) {
	for _, f := range faces {
		for _, width := range []int{80, 132, 200} {
			for _, v := range []View{{Width: width}, {Width: width, Verbose: true}} {
				for line := range strings.Lines(text(t, f.report, v)) {
					if line = strings.TrimSuffix(line, "\n"); columns(line) > width {
						t.Errorf("%s, %s: %d columns: %s", f.name, v, columns(line), line)
					}
				}
			}
		}
	}
}

// TestManyFitOneScreen guards the size: the incident, 360 orphans with 660
// processes next to live runs, takes no more than a screen of 80 columns and 24 lines.
func TestManyFitOneScreen(t *testing.T) {
	r := incident()
	if len(r.Orphans) != 360 || r.Totals.Processes != 660 {
		t.Fatalf("%d orphans, %d processes", len(r.Orphans), r.Totals.Processes)
	}
	if lines := strings.Count(text(t, r, at80), "\n"); lines > 24 {
		t.Errorf("%d lines:\n%s", lines, text(t, r, at80))
	}
	all := text(t, r, verbose200)
	for _, o := range r.Orphans {
		for _, m := range o.Members {
			if !strings.Contains(all, fmt.Sprintf(" %d ", m.PID)) {
				t.Fatalf("--verbose lacks %d", m.PID)
			}
		}
	}
}

// BenchmarkText is what a person waits for after the sweep: as text, of few and of
// many processes.
func BenchmarkText(b *testing.B) {
	for name, r := range map[string]*Report{"few": usual(), "many": incident(), "long": strange("long", longCommands())} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := r.Text(io.Discard, at80); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
