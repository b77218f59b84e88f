//go:build linux

package test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// nobody is the other user.
const nobody = 65534

// Spec says how a process is started.
type Spec struct {
	Argv      []string // default: the role's name
	Exe       string   // default: what Argv[0] names
	Role      string   // play this role of the test binary
	Args      []string // of the role
	Env       []string // entries after the lab's own
	Bare      bool     // no entries of the lab's own, not even the tag
	Leader    bool     // leads a session and group of its own
	Group     bool     // leads a group of its own in the session of what started it
	Adopted   bool     // adopted by pid 1, what started it has exited
	UID       int      // 0: as the tests
	Dir       string
	TTY       string // path of the terminal it controls
	Namespace bool   // is pid 1 of a new pid namespace
	Notes     bool   // what it is not ended by waits in it, for noted
	Deaf      bool   // as Notes, and SIGTERM waits too
}

// launch is a Spec with everything looked up. Roles start what they are given
// as launches.
type launch struct {
	Exe       string
	Argv, Env []string
	Dir, TTY  string
	Leader    bool
	Group     bool
	Namespace bool
	UID       int
	Blocked   uint64 // signals, see signalBit
	Out, Err  string // files
}

// start starts exactly this; the environment is not tidied.
func (l launch) start() (*os.Process, error) {
	files, err := l.open()
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	if l.Blocked != 0 {
		defer blockSignals(l.Blocked)()
	}
	sys := &syscall.SysProcAttr{Setsid: l.Leader, Setpgid: l.Group, Setctty: l.TTY != ""}
	if l.Namespace {
		sys.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	}
	if l.UID != 0 {
		sys.Credential = &syscall.Credential{Uid: uint32(l.UID), Gid: uint32(l.UID)}
	}
	return os.StartProcess(l.Exe, l.Argv, &os.ProcAttr{Env: l.Env, Dir: l.Dir, Files: files, Sys: sys})
}

func (l launch) open() ([]*os.File, error) {
	names, flags := []string{os.DevNull, os.DevNull, os.DevNull}, os.O_RDWR|os.O_CREATE
	if l.TTY != "" {
		names, flags = []string{l.TTY, l.TTY, l.TTY}, os.O_RDWR|syscall.O_NOCTTY
	}
	if l.Out != "" {
		names = []string{os.DevNull, l.Out, l.Err}
	}
	var files []*os.File
	for _, name := range names {
		f, err := os.OpenFile(name, flags, 0o644)
		if err != nil {
			return files, err
		}
		files = append(files, f)
	}
	return files, nil
}

func (l *Lab) environ() []string {
	return []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + l.Dir, "LANG=C.UTF-8", tagVar + "=" + l.Tag}
}

// launch looks everything up; ready is nil unless a role will say something.
func (l *Lab) launch(s Spec) (launch, *fifo) {
	l.t.Helper()
	out := launch{Exe: s.Exe, Argv: s.Argv, Dir: s.Dir, TTY: s.TTY, Leader: s.Leader, Group: s.Group, Namespace: s.Namespace, UID: s.UID}
	if s.UID != 0 {
		l.needUser(s.UID)
	}
	out.Blocked = s.blocked()
	if !s.Bare {
		out.Env = slices.DeleteFunc(l.environ(), func(e string) bool { return strings.HasPrefix(e, "HOME=") && s.has("HOME") })
	}
	var ready *fifo
	if s.Role != "" {
		ready = l.fifo()
		out.Env = append(out.Env, l.roleEnviron(s, ready.path)...)
		if out.Exe == "" {
			out.Exe = roleBinary(l.t)
		}
		if out.Argv == nil {
			out.Argv = []string{"lab-" + s.Role}
		}
	}
	out.Env = append(out.Env, s.Env...)
	if out.Exe == "" {
		exe, err := exec.LookPath(out.Argv[0])
		l.must(err)
		out.Exe = exe
	}
	if out.Dir == "" {
		out.Dir = "/"
	}
	return out, ready
}

// has says whether the spec sets the variable.
func (s Spec) has(name string) bool {
	return slices.ContainsFunc(s.Env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}

func (l *Lab) needUser(uid int) {
	l.t.Helper()
	raw, err := os.ReadFile("/proc/self/uid_map")
	l.must(err)
	fields := strings.Fields(string(raw))
	if size, _ := strconv.Atoi(fields[2]); size <= uid {
		l.t.Skip("the namespace has no second user: the tests are not run by root")
	}
}

// Start starts a process and returns once it is what it will be: its arguments
// are the final ones, its parent is the adopter, its role is ready.
func (l *Lab) Start(s Spec) Proc {
	l.t.Helper()
	what := strings.Join(s.Argv, " ")
	if what == "" {
		what = s.Role
	}
	this, ready := l.launch(s)
	var pid int
	if s.Adopted {
		pid = l.abandon(this)[0]
	} else {
		child, err := this.start()
		l.must(err)
		l.children[child.Pid], pid = child, child.Pid
	}
	p := l.list(pid, what)
	if ready != nil {
		p.Said = l.line(ready, what+" ready")
	}
	return p
}

// abandon has a process of its own start these and exit. It leads a session and
// group, so a member that leads none is left in a group whose leader is gone.
func (l *Lab) abandon(all ...launch) []int {
	l.t.Helper()
	first, ready := l.launch(Spec{Role: "launch", Args: encode(all), Leader: true})
	launcher, err := first.start()
	l.must(err)
	// Once it has been waited for, its children have their new parent.
	state, err := launcher.Wait()
	l.must(err)
	if !state.Success() {
		l.t.Fatalf("launch: %v", state)
	}
	return decodePIDs(l.t, l.line(ready, "pids"))
}

// Child is a child of the test, in a session of its own.
func (l *Lab) Child(env []string, argv ...string) Proc {
	l.t.Helper()
	return l.Start(Spec{Env: env, Argv: argv, Leader: true})
}

// Live is a live unmarked process that can be followed.
func (l *Lab) Live(argv ...string) Proc {
	l.t.Helper()
	if len(argv) == 0 {
		argv = l.Sleep(900)
	}
	return l.Child(nil, argv...)
}

// Dead is a pid that was used, has exited and has been waited for.
func (l *Lab) Dead() int {
	l.t.Helper()
	short, _ := l.launch(Spec{Argv: []string{"true"}})
	child, err := short.start()
	l.must(err)
	_, err = child.Wait()
	l.must(err)
	l.dead = append(l.dead, child.Pid)
	return child.Pid
}

// Orphan is adopted by pid 1; the leader of its group is gone.
func (l *Lab) Orphan(env []string, argv ...string) Proc {
	l.t.Helper()
	return l.Start(Spec{Env: env, Argv: argv, Adopted: true})
}

// OrphanLeader is adopted by pid 1 and leads its own session and group.
func (l *Lab) OrphanLeader(env []string, argv ...string) Proc {
	l.t.Helper()
	return l.Start(Spec{Env: env, Argv: argv, Adopted: true, Leader: true})
}

// Role is a child of the test that plays a role.
func (l *Lab) Role(env []string, role string, args ...string) Proc {
	l.t.Helper()
	return l.Start(Spec{Env: env, Role: role, Args: args, Leader: true})
}

// OrphanRole is an orphan with its own session and group that plays a role.
func (l *Lab) OrphanRole(env []string, role string, args ...string) Proc {
	l.t.Helper()
	return l.Start(Spec{Env: env, Role: role, Args: args, Leader: true, Adopted: true})
}

// Sleep is a command that sleeps and is the lab's own by its argument.
func (l *Lab) Sleep(n int) []string { return []string{"sleep", l.SleepArg(n)} }

// SleepArg is the argument for a sleep inside a script.
func (l *Lab) SleepArg(n int) string { return fmt.Sprintf("%d.%s", n, l.Tag) }

// Sleeper is the process of Sleep(n), once it is there.
func (l *Lab) Sleeper(n int) Proc {
	l.t.Helper()
	return l.Find(l.Sleep(n)...)
}

// Find is the process with exactly these arguments, once it is there.
func (l *Lab) Find(argv ...string) Proc {
	l.t.Helper()
	var found []int
	l.eventually(fmt.Sprintf("a process %q", argv), func() bool {
		found = l.search(argv)
		return len(found) > 0
	})
	return l.list(found[0], strings.Join(argv, " "))
}

func (l *Lab) search(argv []string) []int {
	var found []int
	for _, pid := range pids() {
		if args := readArgs(pid); len(args) == len(argv) && filepath.Base(args[0]) == filepath.Base(argv[0]) && slices.Equal(args[1:], argv[1:]) {
			found = append(found, pid)
		}
	}
	return found
}

func encode(values any) []string {
	raw, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	return []string{string(raw)}
}
