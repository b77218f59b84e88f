//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Two families of marker names: quiet ones, which no process carries whole, and
// loud ones, which one process in a hundred does. They are the benchmark's own.
const (
	quietNames = "BENCH_QUIET"
	loudNames  = "BENCH_LOUD"
)

// exited is a pid that nothing in the namespace ever has: the largest number that
// a pid can be, less one.
const exited = 1<<22 - 1

// mostProcesses is what the default limit of pids, 32768, leaves room for.
const mostProcesses = 20_000

// rules in force: three that want a marker, and a last one.
const (
	threeRules = `version: 1
adopters: [` + initName + `]
rules:
  - name: daemons
    command: [bench-daemon/main.ts, bench-host/main.ts, bench-stress/agent.ts]
    marker: [FAMILY_PARENT_PID, "FAMILY_HOME=<tmp>/bench-*"]
    orphan:
      - follows: FAMILY_PARENT_PID
      - adopted
  - name: workers
    command: [bench-runner.mjs, "node (bench-runner *)"]
    marker: [FAMILY_RUNNER_PID, "FAMILY_RUNNER_HOME=<tmp>/runner-*"]
    orphan:
      - follows: FAMILY_RUNNER_PID
      - adopted
  - name: jobs
    marker: [FAMILY_JOB_PID]
    orphan:
      - follows: FAMILY_JOB_PID
`
	markedRule = `  - name: browsers
    marker: ["FAMILY_PROFILE=<tmp>/profile-*"]
    orphan:
      - adopted
`
	unmarkedRule = `  - name: tool-servers
    command: [bench-tool/server.js, "python3 -m bench_tool"]
    marker: none
    orphan:
      - unowned: claude
`
)

func rulesText(last, family string) string {
	return strings.ReplaceAll(threeRules+last, "FAMILY", family)
}

// What the processes that the rules speak of run.
const (
	daemonScript = "bench-daemon/main.ts"
	hostScript   = "bench-host/main.ts"
	agentScript  = "bench-stress/agent.ts"
)

// idler is one idle process.
type idler struct {
	Argv, Env []string
}

// tree is a process with its children.
type tree struct {
	Top     idler
	Below   []idler
	Session bool   // the top leads a session
	Group   bool   // the top leads a group
	Deaf    bool   // all ignore SIGTERM
	Program string // of idle.c; "" for a shell that waits for input

	orphans []int // indices of what a sweep by the loud rules finds, 0 for the top
}

// crowdReport says what was started.
type crowdReport struct {
	PIDs      []int
	Orphans   []int // pids that a sweep by the loud rules must find
	Members   int   // processes in the orphans' trees
	Following int   // processes with a loud variable that names a pid
}

// writer makes argument vectors and environments of the sizes that development
// machines show, the same ones each time.
type writer struct {
	*rand.Rand
	pool string
}

func newWriter(seed uint64) *writer {
	w := &writer{Rand: rand.New(rand.NewPCG(seed, 0))}
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789/_-.:"
	pool := make([]byte, 1<<18)
	for i := range pool {
		pool[i] = letters[w.IntN(len(letters))]
	}
	w.pool = string(pool)
	return w
}

func pick[T any](w *writer, of ...T) T { return of[w.IntN(len(of))] }

// text is a piece of at least low bytes and less than high.
func (w *writer) text(low, high int) string {
	n := low + w.IntN(high-low)
	at := w.IntN(len(w.pool) - n)
	return w.pool[at : at+n]
}

func (w *writer) word() string {
	return pick(w, "agent", "alpha", "bridge", "build", "cache", "context", "daemon", "index", "model", "node_modules",
		"project", "runner", "server", "session", "typescript", "watch", "worker")
}

// argv has 100 to 200 bytes; a script of "" is any other.
func (w *writer) argv(script string) []string {
	if script == "" {
		script = w.word() + "/" + w.word() + ".js"
	}
	argv := []string{
		pick(w, "/usr/local/bin/node", "/usr/bin/python3", "/bin/bash", "/home/dev/.local/bin/tool-server"),
		"/home/dev/projects/" + w.word() + "/" + script,
		"--workdir=/home/dev/projects/" + w.word() + "-" + strconv.Itoa(w.IntN(1000)),
		"--session-id=" + w.text(20, 40),
	}
	if w.IntN(2) == 0 {
		argv = append(argv, "--port="+strconv.Itoa(1024+w.IntN(60000)))
	}
	return argv
}

// env has about size bytes, and the extra entries somewhere among its own.
func (w *writer) env(size int, extra ...string) []string {
	env := []string{
		"PATH=/home/dev/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/home/dev", "SHELL=/bin/bash", "LANG=C.UTF-8",
	}
	longest := 100
	if size > 60_000 {
		longest = 460
	}
	for total := len(strings.Join(env, "=")); total < size; {
		entry := strings.ToUpper(w.word()) + "_" + w.word() + "=" + w.text(20, longest)
		env = append(env, entry)
		total += len(entry) + 1
	}
	return slices.Insert(env, w.IntN(len(env)+1), extra...)
}

func (w *writer) usual(script string, extra ...string) idler {
	return idler{w.argv(script), w.env(2048+w.IntN(2048), extra...)}
}

// crowd is size processes in trees of 1 to 12. One in 50 has 64 to 128 KiB of
// environment, the others 2 to 4, and one in 25 has five threads. One in a hundred
// is an orphan: half of them tops that were adopted, half children whose followed
// process has exited. As many each only look like one: by their command, by a
// marker inside another one's value or at the end of a longer name, or by a value
// that no rule wants.
func crowd(size int) []tree {
	w := newWriter(1)
	var trees []tree
	for left := size; left > 0; {
		n := min(left, 1+w.IntN(12))
		kind := w.IntN(3)
		trees = append(trees, tree{Below: make([]idler, n-1), Session: kind == 0, Group: kind == 1})
		left -= n
	}
	choose(w, trees, max(2, size/100))
	serial := 0
	for i := range trees {
		t := &trees[i]
		t.Top = w.member(serial, slices.Contains(t.orphans, 0), true)
		for k := range t.Below {
			serial++
			t.Below[k] = w.member(serial, slices.Contains(t.orphans, k+1), false)
		}
		serial++
	}
	return trees
}

// choose makes orphans of as many processes, in a tree each.
func choose(w *writer, trees []tree, wanted int) {
	tops := wanted / 2
	for _, at := range w.Perm(len(trees)) {
		switch t := &trees[at]; {
		case wanted == 0:
			return
		case tops > 0:
			t.orphans = []int{0}
			tops--
			wanted--
		case len(t.Below) > 0:
			t.orphans = []int{1 + w.IntN(len(t.Below))}
			wanted--
		}
	}
}

// member is one process of a crowd.
func (w *writer) member(serial int, orphan, top bool) idler {
	var script string
	var extra []string
	look := serial % 100
	switch {
	case orphan && top:
		extra = []string{loudNames + "_HOME=/tmp/bench-" + strconv.Itoa(serial)}
	case orphan:
		extra = []string{fmt.Sprintf("%s_PARENT_PID=%d", loudNames, exited)}
	default:
		for _, family := range []string{quietNames, loudNames} {
			pid := fmt.Sprintf("%s_PARENT_PID=%d", family, exited)
			switch look {
			case 23:
				extra = append(extra, "NOTE=see "+pid)
			case 43:
				extra = append(extra, "MY_"+pid)
			case 63:
				extra = append(extra, family+"_HOME=/tmp/other/place")
			}
		}
	}
	if orphan || look == 3 || extra != nil {
		script = pick(w, daemonScript, hostScript, agentScript)
	}
	p := w.usual(script, extra...)
	if serial%50 == 13 || orphan && w.IntN(10) == 0 {
		p.Env = w.env(65536+w.IntN(65536), extra...)
	}
	if serial%25 == 7 {
		p.Argv = append(p.Argv, "--threads=5")
	}
	return p
}

// leftovers follow a process that has exited: of 360 are 60 daemons, and 150
// hosts with an agent each.
func leftovers(size int, deaf bool) []tree {
	w := newWriter(2)
	follow := fmt.Sprintf("%s_PARENT_PID=%d", loudNames, exited)
	var trees []tree
	for range size / 6 {
		trees = append(trees, tree{Top: w.usual(daemonScript, follow), Session: true, Deaf: deaf, orphans: []int{0}})
	}
	for range size * 5 / 12 {
		trees = append(trees, tree{Top: w.usual(hostScript, follow), Below: []idler{w.usual(agentScript, follow)},
			Group: true, Deaf: deaf, orphans: []int{0}})
	}
	return trees
}

// bystanders are 40 processes that no sweep may stop: ten of them follow pid 1.
func bystanders() []tree {
	w := newWriter(3)
	var trees []tree
	for n := range 40 {
		t := tree{Top: w.usual(""), Group: true}
		if n < 10 {
			t.Top = w.usual(daemonScript, loudNames+"_PARENT_PID=1")
		}
		trees = append(trees, t)
	}
	return trees
}

// crowdOf makes a crowd by its kind.
func crowdOf(kind string, size int) ([]tree, error) {
	switch kind {
	case "crowd":
		return crowd(size), nil
	case "leftovers":
		return leftovers(size, false), nil
	case "deaf":
		return leftovers(size, true), nil
	case "bystanders":
		return bystanders(), nil
	}
	return nil, fmt.Errorf("no crowd is called %q", kind)
}
