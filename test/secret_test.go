//go:build linux

package test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// secrets are entries that no output may repeat: of an unrelated name, of names
// near the rule's markers, and one that is no entry at all.
func (l *Lab) secrets() (word string, entries []string) {
	word = fmt.Sprintf("hush%016x", rand.Uint64())
	return word, []string{
		"LAB_API_TOKEN=" + word + "a", l.Parent + "_TOKEN=" + word + "b", "X" + l.Parent + "=" + word + "c",
		"SYSTEMD_EXEC_PID=" + word + "d", "LAB_LINES=x\n" + l.Parent + "=" + word + "e", word + "f",
	}
}

// Nothing of any environment is shown but the rule's own markers: not of an
// orphan, a member, a spared or protected process, another user's, the program
// itself, in no form of answer, log or error.
func TestNoEnvironmentIsShown(t *testing.T) {
	lab := newLab(t)
	word, secrets := lab.secrets()
	with := func(entries ...string) []string { return append(entries, secrets...) }
	lab.Rules("protect: [lab-kept-" + lab.Tag + "]\n" + lab.DefaultRule())
	dead := lab.Mark(lab.Dead())
	orphan, below := lab.Forker(Spec{Env: with(dead, lab.MarkHome()), Adopted: true, Leader: true}, "once", Spec{Argv: lab.Sleep(900), Env: with()})
	spared := lab.OrphanLeader(with(lab.Mark(lab.Live())), lab.Sleep(901)...)
	kept := lab.Start(Spec{Role: "idle", Argv: []string{"lab-kept-" + lab.Tag}, Env: with(dead), Adopted: true, Leader: true})
	unmatched := lab.OrphanLeader(with(), lab.Sleep(902)...)
	homeless := lab.Child(with(lab.HomeVar+"=/elsewhere"), lab.Sleep(903)...)
	others := lab.Start(Spec{Argv: lab.Sleep(904), Env: with(dead), UID: nobody, Adopted: true, Leader: true})
	junk := lab.File("junk.yaml", "version: 1\nrules: [{name: lab, marker: [LAB_API_TOKEN], orphan: [folows: LAB_API_TOKEN]}]\n")

	quiet := func(r Run) Result {
		t.Helper()
		r.Env, r.Text = append(r.Env, with(lab.Mark(lab.Dead()))...), r.Text || r.Command != ""
		res := lab.Run(r)
		if out := res.Stdout + res.Stderr; strings.Contains(out, word) {
			at := strings.Index(out, word)
			t.Errorf("%s %v shows a secret: …%q", r.Command, r.Args, out[max(0, at-200):min(len(out), at+40)])
		}
		return res
	}
	all := []string{itoa(orphan.PID), itoa(below[0].PID), itoa(spared.PID), itoa(kept.PID), itoa(unmatched.PID), itoa(homeless.PID), itoa(others.PID), "1"}
	for _, level := range []string{"debug", "error"} {
		log := []string{"--log-level", level}
		explain := append([]string{"--rules", lab.rules}, log...)
		res := quiet(Run{Args: append(log, "--dry-run", "--verbose"), Text: true, Status: 0})
		if !strings.Contains(res.Stdout, itoa(orphan.PID)) {
			t.Errorf("the orphan is not there: %s", res.Stdout)
		}
		quiet(Run{Args: append(log, "--dry-run"), Status: 0})
		quiet(Run{Args: append(log, "--check", "--all-users"), Status: 1})
		quiet(Run{Args: append(log, "--dry-run"), UID: nobody, Status: 0})
		quiet(Run{Command: "explain", Args: append(explain, all...), Status: 0})
		quiet(Run{Command: "explain", Args: append(append(explain, "--json"), all...), Status: 0})
		quiet(Run{Command: "explain", Args: append(explain, all...), UID: nobody, Status: 0})
		quiet(Run{Command: "explain", Args: append(explain, "4194300"), Status: 2})
		quiet(Run{Command: "explain", Args: append(explain, "x"), Status: 2})
		quiet(Run{Args: append(log, "--rules", junk), Text: true, Status: 2})
		quiet(Run{Args: append(log, "--rules", junk+"x"), Text: true, Status: 2})
		quiet(Run{Args: append(log, "--only", "nobody"), Text: true, Status: 2})
		quiet(Run{Args: append(log, "--nope"), Text: true, Status: 2})
	}
	quiet(Run{Command: "rules", Args: []string{"show", "--rules", lab.rules}, Status: 0})
	quiet(Run{Command: "rules", Args: []string{"check", junk}, Status: 2})
	lab.Stopped(quiet(Run{Args: []string{"--log-level", "debug"}, Status: 0}), orphan)
}

// What went is told from the log alone: which process, of which rule, why, by
// which signals, and how it ended. stdout stays the one document.
func TestLogTellsTheDecision(t *testing.T) {
	lab := newLab(t)
	dead := lab.Dead()
	orphan, below := lab.Forker(Spec{Env: []string{lab.Mark(dead)}, Adopted: true, Leader: true}, "once", Spec{Argv: lab.Sleep(900)})
	res := lab.Run(Run{Args: []string{"--log-level", "info"}, Status: 0})
	lab.Stopped(res, orphan)
	type entry struct {
		Level, Rule, Why, Outcome, Message string
		PID, Orphan                        int
		Start                              uint64
		Signals, Command                   []string
	}
	told := map[int]entry{}
	for line := range strings.Lines(res.Stderr) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		told[e.PID] = e
	}
	for _, p := range []Proc{orphan, below[0]} {
		e := told[p.PID]
		if e.Level != "info" || e.Rule != "lab" || e.Start != p.Start || e.Orphan != orphan.PID || e.Outcome != "stopped" ||
			!slices.Contains(e.Signals, "TERM") || e.Why != fmt.Sprintf("follows %d (%s), which is not running", dead, lab.Parent) || len(e.Command) == 0 {
			t.Errorf("%s: %+v", p, e)
		}
	}
	if res := lab.Run(Run{Status: 0}); res.Stderr != "" {
		t.Errorf("without a level: %q", res.Stderr)
	}
}

// A command line that would forge lines, colours or JSON is shown as text.
func TestHostileCommandLines(t *testing.T) {
	lab := newLab(t)
	argv := []string{"lab\x1b[2J", "a\nstopped 1", "\x9b31m", "\u202etxt.exe", "\xff\xfe", "\"},{\"", "\u200b"}
	orphan := lab.Start(Spec{Role: "idle", Argv: argv, Env: []string{lab.Mark(lab.Dead())}, Leader: true}) // adopted, the bytes would pass through JSON
	text := lab.Run(Run{Args: []string{"--dry-run", "--verbose", "--log-level", "debug"}, Text: true, Status: 0})
	explained := lab.Run(Run{Command: "explain", Args: []string{"--rules", lab.rules, itoa(orphan.PID)}, Text: true, Status: 0})
	odd := lab.Dir + "/rules\x1b[2J\n\u202e.yaml"
	lab.must(os.WriteFile(odd, readAll(t, lab.rules), 0o644))
	named := lab.Run(Run{Args: []string{"--dry-run", "--rules", odd}, Text: true, Status: 0})
	for _, out := range []string{text.Stdout, text.Stderr, explained.Stdout, named.Stdout} {
		for _, bad := range []string{"\x1b", "\u202e", "\u200b", "\xff", "\x9b", "\nstopped 1"} {
			if strings.Contains(out, bad) {
				t.Errorf("%q in %q", bad, out)
			}
		}
	}
	if !strings.Contains(text.Stdout, `lab\x1b[2J a\nstopped 1`) {
		t.Errorf("%q", text.Stdout)
	}
	res := lab.Sweep()
	lab.Stopped(res, orphan)
	if o, _ := res.member(orphan); o == nil || len(o.Command) != len(argv) || o.Command[5] != argv[5] || o.Command[4] != `\xff\xfe` {
		t.Errorf("%s", res.Stdout)
	}
}
