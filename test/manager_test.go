//go:build linux

package test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// UserManager is a real `systemd --user` with a /run and a cgroup of its own.
type UserManager struct {
	l *Lab
	Proc
}

const managerScript = `set -e
mount -t tmpfs tmpfs /run
mkdir -p /run/systemd/system /run/user/0
chmod 700 /run/user/0
mount --bind "$1" /sys/fs/cgroup
echo $$ >"/sys/fs/cgroup/$2/cgroup.procs"
export XDG_RUNTIME_DIR=/run/user/0
exec "$3" --user --log-target=console 2>"$4"
`

func (l *Lab) UserManager() UserManager {
	l.t.Helper()
	l.needProgram("systemd-run")
	program := ""
	for _, place := range []string{"/usr/lib/systemd/systemd", "/lib/systemd/systemd"} {
		if _, err := os.Stat(place); err == nil {
			program = place
		}
	}
	if program == "" {
		l.t.Skip("systemd is not installed")
	}
	tree, group, log := l.cgroups(), "lab-"+l.Tag, l.File("systemd.log", "")
	m := UserManager{l, l.Start(Spec{Argv: []string{"unshare", "-m", "sh", "-c", managerScript, "sh", tree, group, program, log}, Leader: true})}
	private := fmt.Sprintf("/proc/%d/root/run/user/0/systemd/private", m.PID)
	l.eventually("systemd's socket", func() bool {
		_, err := os.Stat(private)
		return err == nil || !m.Running()
	})
	if !m.Running() {
		said, _ := os.ReadFile(log)
		l.t.Skipf("systemd --user does not start here: %s", said)
	}
	return m
}

// cgroups mounts a version 2 tree where only the tests see it, and makes the
// lab's own group in it.
func (l *Lab) cgroups() string {
	l.t.Helper()
	tree := l.path("cgroup2")
	l.must(os.Mkdir(tree, 0o755))
	if err := syscall.Mount("cgroup2", tree, "cgroup2", 0, ""); err != nil {
		l.t.Skip("no cgroup2 can be mounted: " + err.Error())
	}
	group := filepath.Join(tree, "lab-"+l.Tag)
	l.t.Cleanup(func() {
		l.endAll(patience)
		if !poll(patience, func() bool { return removeGroups(group) }) {
			l.t.Errorf("left: %s", group)
		}
		if err := syscall.Unmount(tree, syscall.MNT_DETACH); err != nil {
			l.t.Error(err)
		}
	})
	if err := os.Mkdir(group, 0o755); err != nil {
		l.t.Skip("no cgroup can be made: " + err.Error())
	}
	return tree
}

// removeGroups removes a cgroup with all below it; its files go with it.
func removeGroups(group string) bool {
	entries, _ := os.ReadDir(group)
	for _, e := range entries {
		if e.IsDir() {
			removeGroups(filepath.Join(group, e.Name()))
		}
	}
	err := os.Remove(group)
	return err == nil || os.IsNotExist(err)
}

// Run has it start a service and returns once the service is started.
func (m UserManager) Run(argv ...string) {
	m.l.t.Helper()
	enter := []string{"nsenter", "-t", strconv.Itoa(m.PID), "-m", "env", "XDG_RUNTIME_DIR=/run/user/0", "systemd-run", "--user", "-q"}
	this, _ := m.l.launch(Spec{Argv: append(enter, argv...), Leader: true})
	this.Out, this.Err = m.l.path("stdout"), m.l.path("stderr")
	if status := m.l.finish(this); status != 0 {
		said, _ := os.ReadFile(this.Err)
		m.l.t.Fatalf("systemd-run %q: status %d: %s", argv, status, said)
	}
}

// Service runs a shell's text; the lab's home marker is in its environment.
func (m UserManager) Service(kind, text string) {
	m.l.t.Helper()
	m.Run("-p", "Type="+kind, "-p", "KillMode=process", "--setenv="+m.l.MarkHome(), "sh", "-c", text)
}

// sleep in a service's text, with what is to be set before it.
func (m UserManager) sleep(n int, before ...string) string {
	return strings.Join(append(before, "sleep "+m.l.SleepArg(n)), " ")
}

// The main process of a service has its manager as its parent because it is
// healthy, whatever markers whoever started the service had.
func TestServicesOfAUserManager(t *testing.T) {
	lab := newLab(t)
	m := lab.UserManager()
	m.Service("exec", "exec "+m.sleep(901))
	m.Service("forking", m.sleep(902)+" & exit 0")
	m.Service("forking", m.sleep(903, "env", "-u", "SYSTEMD_EXEC_PID")+" & exit 0")
	m.Service("exec", m.sleep(904)+" & "+m.sleep(905, "env", lab.Mark(lab.Dead()))+" & exec "+m.sleep(906))
	m.Service("forking", "sh -c '"+m.sleep(907)+"; :' & exit 0")
	m.Service("exec", "setsid "+m.sleep(908)+" & exit 0")
	m.Service("exec", "setsid "+m.sleep(909, "env", "-u", "SYSTEMD_EXEC_PID")+" & exit 0")
	main, left, scrubbed := lab.Sleeper(901), lab.Sleeper(908), lab.Sleeper(909)
	lab.adoptedBy(left, m.Proc)
	lab.adoptedBy(scrubbed, m.Proc)
	heir := func(what string, pid int) Case {
		return orphan(what, "goes adopted", lab.MarkHome(), "SYSTEMD_EXEC_PID="+strconv.Itoa(pid))
	}
	lab.OrphanLeader([]string{lab.MarkHome()}, "sh", "-c", "SYSTEMD_EXEC_PID=$$ exec "+m.sleep(910))
	res := lab.Cases(
		running("a service's main process", "spared service", main),
		running("a forking service's, whose mark names the process that started it", "spared service", lab.Sleeper(902)),
		running("a forking service's, without the mark", "spared service", lab.Sleeper(903)),
		running("a service's worker, which has the marker from it", "spared service", lab.Sleeper(904)),
		running("a service's worker that was stamped anew", "goes follows", lab.Sleeper(905)),
		running("the service of those", "spared service", lab.Sleeper(906)),
		running("a worker of a forking service", "spared service", lab.Sleeper(907)),
		running("what a service left behind", "goes adopted", left),
		running("what a service left behind, without the mark", "goes adopted", scrubbed),
		heir("has its mark from a service that runs", main.PID),
		heir("has its mark from a service that has ended", lab.Dead()),
		running("the main process of a service of pid 1", "spared service", lab.Sleeper(910)),
		running("the manager", "unnamed", m.Proc))
	o, _ := res.member(left)
	lab.mentions(o.Why.Detail, fmt.Sprintf("systemd --user (%d)", m.PID))
}

// A manager that does not answer leaves it open whose the main process is.
func TestManagerThatDoesNotAnswer(t *testing.T) {
	lab := newLab(t)
	m := lab.UserManager()
	m.Service("exec", "exec "+m.sleep(901))
	m.Service("forking", m.sleep(902)+" & exit 0")
	m.Service("exec", "setsid "+m.sleep(903)+" & exit 0")
	left := lab.Sleeper(903)
	lab.adoptedBy(left, m.Proc)
	lab.must(m.Signal(syscall.SIGSTOP))
	lab.Cases(
		running("carries the manager's own word", "spared service", lab.Sleeper(901)),
		running("may be a main process", "spared unknown", lab.Sleeper(902)),
		running("was left behind, but who can tell", "spared unknown", left))
	lab.must(m.Signal(syscall.SIGCONT))
	lab.Cases(
		running("is a main process", "spared service", lab.Sleeper(902)),
		running("was left behind", "goes adopted", left))
}

// silentManager looks like a systemd --user with these in a service of it. It
// never answers; asked counts who has come to ask.
func (l *Lab) silentManager(children ...Spec) (m Proc, services []Proc, asked func() int) {
	l.t.Helper()
	group := filepath.Join(l.cgroups(), "lab-"+l.Tag)
	notes, runtime := l.File("asked", ""), l.folder("run")
	l.must(os.Mkdir(filepath.Join(runtime, "systemd"), 0o755))
	m = l.Start(Spec{Role: "manager", Exe: l.program("systemd"), Argv: []string{"/usr/lib/systemd/systemd", "--user"},
		Args: []string{group, notes, l.launches(children...)}, Env: []string{"XDG_RUNTIME_DIR=" + runtime}, Leader: true})
	return m, l.said(m, children), func() int {
		raw, err := os.ReadFile(notes)
		l.must(err)
		return strings.Count(string(raw), "\n")
	}
}

// A manager that does not answer is waited for once in a sweep, not once for each
// process below it.
func TestSilentManagerIsAskedOnce(t *testing.T) {
	lab := newLab(t)
	var specs []Spec
	for i := range 6 {
		specs = append(specs, Spec{Argv: lab.Sleep(901 + i), Env: []string{lab.MarkHome()}, Leader: true})
	}
	_, services, asked := lab.silentManager(specs...)
	other := lab.OrphanLeader(lab.deadMark(), lab.Sleep(900)...)
	for runs, sweep := range []func() Result{func() Result { return lab.DryRun() }, func() Result { return lab.Sweep() }} {
		res := sweep()
		for _, p := range services {
			lab.Spared(res, p, "unknown")
		}
		if n := asked(); n != runs+1 {
			t.Errorf("asked %d times in %d runs", n, runs+1)
		}
	}
	if other.Running() {
		t.Error("the orphan beside them is left")
	}
}

// The number in a forking service's mark is of a process that has exited; it may
// have another holder by now.
func TestServiceWhoseMarkNamesAStranger(t *testing.T) {
	lab := newSerialLab(t)
	m := lab.UserManager()
	m.Service("forking", "setsid "+m.sleep(901)+" & exit 0")
	main, stale := lab.Sleeper(901), 0
	for _, entry := range readEnviron(main.PID) {
		if value, ok := strings.CutPrefix(entry, "SYSTEMD_EXEC_PID="); ok {
			stale, _ = strconv.Atoi(value)
		}
	}
	if stale == 0 {
		t.Skip("this systemd sets no SYSTEMD_EXEC_PID")
	}
	lab.adoptedBy(main, m.Proc)
	stranger := lab.Recycle(stale, Spec{Argv: lab.Sleep(902), Leader: true})
	lab.Cases(
		running("a service's main process", "spared service", main),
		running("the stranger", "unnamed", stranger))
}
