//go:build linux

package test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tagVar is in the environment of whatever a test starts, unless it asks for a
// bare environment.
const tagVar = "LAB_TAG"

// Lab is one test's processes, rules and sweeps. Its names are unique, so tests
// with different labs run at the same time and do not see each other's.
type Lab struct {
	t        *testing.T
	Tag      string   // random digits
	Parent   string   // marker whose value names the followed parent
	HomeVar  string   // marker whose value is a temporary folder
	Dir      string   // the test's own folder
	Adopters []string // named in the rules, besides pid 1
	serial   bool
	rules    string // path of the rules file
	files    int
	dead     []int
	listed   map[Proc]bool // identities only: pid and start
	children map[int]*os.Process
}

// newLab is for a test that runs in parallel with the others.
func newLab(t *testing.T) *Lab {
	t.Helper()
	needNamespace(t)
	t.Parallel()
	return makeLab(t, false)
}

// newSerialLab is for a test that changes what all share: the next pid, or a
// marker whose name is not the test's own.
func newSerialLab(t *testing.T) *Lab {
	t.Helper()
	needNamespace(t)
	return makeLab(t, true)
}

func needNamespace(t *testing.T) {
	t.Helper()
	if noNamespace != "" {
		t.Skip("no namespace of its own: " + noNamespace)
	}
}

func makeLab(t *testing.T, serial bool) *Lab {
	t.Helper()
	tag := fmt.Sprintf("%08d", 10_000_000+rand.IntN(90_000_000))
	lab := &Lab{
		t: t, Tag: tag, Parent: "LAB_PARENT_PID_" + tag, HomeVar: "LAB_HOME_" + tag,
		Dir:    filepath.Join(os.Getenv(dirVar), tag),
		serial: serial, listed: map[Proc]bool{}, children: map[int]*os.Process{},
	}
	t.Cleanup(lab.cleanUp)
	lab.must(os.Mkdir(lab.Dir, 0o777))
	lab.must(os.Chmod(lab.Dir, 0o777))
	return lab
}

func (l *Lab) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// eventually waits for a state that the kernel offers no event for.
func (l *Lab) eventually(what string, done func() bool) {
	l.t.Helper()
	if !poll(patience, done) {
		l.t.Fatalf("never came: %s", what)
	}
}

// path is a new name in the lab's folder.
func (l *Lab) path(name string) string {
	l.files++
	return filepath.Join(l.Dir, fmt.Sprintf("%d-%s", l.files, name))
}

// File writes a file of the lab and returns its path.
func (l *Lab) File(name, text string) string {
	l.t.Helper()
	path := l.path(name)
	l.must(writeProgram(path, []byte(text)))
	return path
}

// Mark is the environment entry that follows a process or number.
func (l *Lab) Mark(parent any) string {
	if p, ok := parent.(Proc); ok {
		parent = p.PID
	}
	return fmt.Sprintf("%s=%v", l.Parent, parent)
}

// MarkHome is the environment entry with a folder that the default rule matches
// and that does not exist.
func (l *Lab) MarkHome() string { return l.HomeVar + "=/tmp/lab-" + l.Tag }

// list makes an identity of a pid and remembers it as the lab's.
func (l *Lab) list(pid int, what string) Proc {
	l.t.Helper()
	s, ok := readStat(pid)
	if !ok {
		l.t.Fatalf("%s (%d) is not there", what, pid)
	}
	l.listed[Proc{PID: pid, Start: s.Start}] = true
	return Proc{PID: pid, Start: s.Start, Inner: innerPID(pid), What: what}
}

// Kill ends a process of the lab and returns once it is gone, waited for where
// it is the test's own child.
func (l *Lab) Kill(p Proc) {
	l.t.Helper()
	p.Signal(syscall.SIGKILL)
	l.AwaitExit(p)
	if child := l.children[p.PID]; child != nil {
		child.Wait()
		delete(l.children, p.PID)
	}
	l.eventually(p.String()+" gone", func() bool { return p.State() == "gone" })
}

// AwaitExit waits until the process has exited.
func (l *Lab) AwaitExit(p Proc) {
	l.t.Helper()
	if !p.awaitExit(patience) {
		l.t.Fatalf("%s does not exit", p)
	}
}

func (l *Lab) cleanUp() {
	left := l.endAll(10 * time.Second)
	l.waitForChildren()
	os.RemoveAll(l.Dir)
	if len(left) > 0 {
		l.t.Errorf("left running: %v", left)
	}
}

// endAll kills what the lab started until nothing of it runs, and returns what
// would not go.
func (l *Lab) endAll(limit time.Duration) []Proc {
	for deadline := time.Now().Add(limit); ; {
		mine := l.running()
		if len(mine) == 0 || time.Now().After(deadline) {
			return mine
		}
		for _, p := range mine {
			p.Signal(syscall.SIGKILL)
		}
		poll(time.Until(deadline), func() bool {
			l.waitForChildren()
			return !slices.ContainsFunc(mine, Proc.Running)
		})
	}
}

// waitForChildren also lets a namespace end, whose pid 1 outlasts even the
// zombies in it.
func (l *Lab) waitForChildren() {
	for pid, child := range l.children {
		if s, ok := readStat(pid); !ok || s.Exited() {
			child.Wait()
			delete(l.children, pid)
		}
	}
}

// running is what the lab started and all below it, the test itself aside.
func (l *Lab) running() []Proc {
	table := map[int]Stat{}
	for _, pid := range pids() {
		if s, ok := readStat(pid); ok && !s.Exited() && pid != 1 && pid != os.Getpid() {
			table[pid] = s
		}
	}
	mine := map[int]bool{}
	for more := true; more; {
		more = false
		for pid, s := range table {
			if !mine[pid] && (mine[s.PPID] || l.owns(s)) {
				mine[pid], more = true, true
			}
		}
	}
	var found []Proc
	for pid := range mine {
		found = append(found, Proc{PID: pid, Start: table[pid].Start, What: strings.Join(readArgs(pid), " ")})
	}
	return found
}

func (l *Lab) owns(s Stat) bool {
	args := readArgs(s.PID)
	return l.listed[Proc{PID: s.PID, Start: s.Start}] ||
		slices.Contains(readEnviron(s.PID), tagVar+"="+l.Tag) ||
		len(args) == 2 && strings.HasSuffix(args[1], "."+l.Tag)
}
