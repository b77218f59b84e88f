//go:build linux

package test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// livingRounds is how many processes each of four live runs starts, one after the
// other; LAB_LIVING_ROUNDS makes it as many as one likes.
func livingRounds() int {
	if n, err := strconv.Atoi(os.Getenv("LAB_LIVING_ROUNDS")); err == nil {
		return n
	}
	return 100
}

// Live runs start, fork, exec, daemonize, stamp anew, change title, group and
// session, and exit as fast as the machine allows, while sweeps run back to back
// from three processes at once: no live process is signalled, by the word of the
// victims themselves and of those that wait for them; what a dead run left goes.
func TestLivingAreNeverSignalled(t *testing.T) {
	lab := newLab(t)
	lab.needProgram("perl")
	script, err := filepath.Abs("testdata/living.pl")
	lab.must(err)
	notes := lab.File("notes", "")
	dead := lab.Dead()
	var orphans []Proc
	for i := range 5 {
		orphans = append(orphans, lab.OrphanLeader([]string{lab.Mark(dead)}, lab.Sleep(900+i)...))
	}
	const runs = 4
	for range runs {
		argv := []string{"perl", script, lab.Parent, notes, strconv.Itoa(livingRounds())}
		lab.Start(Spec{Argv: argv, Env: []string{lab.Mark(os.Getpid())}})
	}
	noted := func(word string) int { return strings.Count(readNotes(t, notes), word) }
	var sweeps sync.WaitGroup
	said := make(chan string, 100000)
	done := make(chan struct{})
	argv := lab.Argv(Run{Args: []string{"--grace", "300ms"}})
	for range 3 {
		sweeps.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					said <- "swept " + strconv.Itoa(n)
					return
				default:
				}
				if wrong := sweepOnce(argv, strconv.Itoa(dead)); wrong != "" {
					said <- wrong
				}
			}
		})
	}
	ended := poll(30*time.Minute, func() bool { return noted("finished") == runs && noted("born") == noted("done") })
	close(done)
	sweeps.Wait()
	close(said)
	if !ended {
		t.Error("the runs did not end")
	}
	for line := range said {
		if !strings.HasPrefix(line, "swept") {
			t.Error(line)
		} else {
			t.Log(line)
		}
	}
	for _, line := range strings.Split(readNotes(t, notes), "\n") {
		if line != "" && !regexp.MustCompile(`^(born|done|finished) `).MatchString(line) {
			t.Error("a live run noted: " + line)
		}
	}
	for _, p := range orphans {
		if p.State() == "running" {
			t.Errorf("%v still runs", p)
		}
	}
}

// sweepOnce runs one sweep and says what is wrong with it: only what the dead run
// left may be signalled. One that ended while it was read may be told as vanished.
func sweepOnce(argv []string, dead string) string {
	cmd := exec.Command(argv[0], argv[1:]...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return err.Error() + ": " + string(exit.Stderr)
	}
	var doc struct {
		Orphans []struct {
			PID     int
			Markers map[string]string
			Members []struct {
				Signals []string
				Outcome string
			}
		}
	}
	if err := json.Unmarshal(out, &doc); err != nil {
		return err.Error()
	}
	for _, o := range doc.Orphans {
		values := make([]string, 0, len(o.Markers))
		for _, v := range o.Markers {
			values = append(values, v)
		}
		quiet := true
		for _, m := range o.Members {
			quiet = quiet && len(m.Signals) == 0 && m.Outcome != "stopped"
		}
		if !quiet && !slices.Equal(values, []string{dead}) {
			return "a tree of a live run: " + strconv.Itoa(o.PID) + " follows " + strings.Join(values, ", ")
		}
	}
	return ""
}

func readNotes(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
