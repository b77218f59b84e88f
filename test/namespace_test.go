//go:build linux

package test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// Namespace is a pid namespace inside the tests' own, with its own /proc. Its
// pid 1 waits for everything and starts what it is asked to.
type Namespace struct {
	l        *Lab
	Init     Proc
	requests *fifo
	replies  *fifo
}

// request asks a namespace's pid 1 to start something; it replies with the pid
// there, or with the exit status where Wait is set.
type request struct {
	Launch launch
	Wait   bool
}

// Namespace starts one. The spec's Argv and Env are those of its pid 1, and
// Argv[0] is what that is called: "labinit" is an adopter, "sh" is none.
func (l *Lab) Namespace(s Spec) *Namespace {
	l.t.Helper()
	ns := &Namespace{l: l, requests: l.fifo(), replies: l.fifo()}
	s.Role, s.Namespace, s.Args = "nsinit", true, []string{ns.requests.path, ns.replies.path}
	ns.Init = l.Start(s)
	return ns
}

func (ns *Namespace) ask(r request) int {
	ns.l.t.Helper()
	ns.l.tell(ns.requests, encode(r)[0])
	n, err := strconv.Atoi(ns.l.line(ns.replies, "reply of pid 1"))
	ns.l.must(err)
	return n
}

// Start starts a child of pid 1, or with Adopted one that pid 1 has adopted.
func (ns *Namespace) Start(s Spec) Proc {
	ns.l.t.Helper()
	this, ready := ns.l.launch(s)
	inner := 0
	if s.Adopted {
		first, said := ns.l.launch(Spec{Role: "launch", Args: encode([]launch{this}), Leader: true})
		if status := ns.ask(request{first, true}); status != 0 {
			ns.l.t.Fatalf("launch inside: status %d", status)
		}
		inner = decodePIDs(ns.l.t, ns.l.line(said, "pids"))[0]
	} else {
		inner = ns.ask(request{Launch: this})
	}
	p := ns.find(inner, strings.Join(this.Argv, " "))
	if ready != nil {
		p.Said = ns.l.line(ready, "ready inside")
	}
	return p
}

// Find is the process with exactly these arguments inside, once it is there.
func (ns *Namespace) Find(argv ...string) Proc {
	ns.l.t.Helper()
	return ns.l.Find(argv...)
}

func (ns *Namespace) find(inner int, what string) Proc {
	ns.l.t.Helper()
	own := namespaceOf(ns.Init.PID)
	for _, pid := range pids() {
		if namespaceOf(pid) == own && innerPID(pid) == inner {
			return ns.l.list(pid, what)
		}
	}
	ns.l.t.Fatalf("%s is not there: %d inside", what, inner)
	return Proc{}
}

func namespaceOf(pid int) string {
	name, _ := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", pid))
	return name
}

// Sweep runs a sweep as a child of pid 1, or of the test where pid 1 is not ours. The numbers in its document are those
// of the namespace.
func (ns *Namespace) Sweep(args ...string) Result {
	ns.l.t.Helper()
	r := Run{Args: args, inside: ns}
	if ns.requests == nil {
		r.Via = []string{"nsenter", "-t", strconv.Itoa(ns.Init.PID), "-m", "-p"}
	}
	return ns.l.Run(r)
}

// Enter starts a process inside whose parent is outside: there its parent is 0.
func (ns *Namespace) Enter(s Spec) Proc {
	ns.l.t.Helper()
	this, ready := ns.l.launch(s)
	child, err := ns.enter(this)
	ns.l.must(err)
	ns.l.children[child.Pid] = child
	p := ns.l.list(child.Pid, strings.Join(this.Argv, " "))
	if ready != nil {
		p.Said = ns.l.line(ready, "ready inside")
	}
	return p
}

func (ns *Namespace) enter(this launch) (child *os.Process, err error) {
	var spaces []*os.File // opened before the first is joined, which changes /proc
	for _, kind := range []string{"mnt", "pid"} {
		f, err := os.Open(filepath.Join("/proc", strconv.Itoa(ns.Init.PID), "ns", kind))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		spaces = append(spaces, f)
	}
	var done sync.WaitGroup
	done.Go(func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if err = unix.Unshare(unix.CLONE_FS); err != nil {
			return
		}
		if err = join(spaces); err != nil {
			return
		}
		child, err = this.start()
	})
	done.Wait()
	return child, err
}

func join(spaces []*os.File) error {
	for _, space := range spaces {
		if err := unix.Setns(int(space.Fd()), 0); err != nil {
			return err
		}
	}
	return nil
}
