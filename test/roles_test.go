//go:build linux

package test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	roleVar  = "LAB_ROLE"
	argsVar  = "LAB_ROLE_ARGS"
	readyVar = "LAB_READY"
)

// quickExit keeps the race detector from its default of a second's sleep at exit.
const quickExit = "GORACE=atexit_sleep_ms=0"

// roles are the processes that the test binary can be. Each says that it is
// ready, and stays until it is ended unless its line here says otherwise.
var roles map[string]func(args []string)

func init() {
	if os.Getenv(roleVar) != "" {
		runtime.LockOSThread() // main stays on the thread that leads the group
	}
	roles = map[string]func([]string){
		"idle":         func([]string) { say("") },
		"deaf":         playDeaf,         // ignores SIGTERM
		"slow":         playSlow,         // MILLISECONDS: exits so long after SIGTERM
		"held":         playHeld,         // FIFO FIFO: says TERM on the first, exits once the second says something
		"canary":       playCanary,       // FILE: notes every signal it can catch
		"retitle":      playRetitle,      // TITLE: overwrites its arguments, and its environment by a long title
		"overrun":      playOverrun,      // TEXT [TITLE]: writes a title up to that text in its environment, then perhaps a shorter one
		"blank":        playBlank,        // TEXT: zeroes its environment up to the entry that begins with it
		"threads":      playThreads,      // says the id of a thread that is not its first
		"threadleader": playThreadLeader, // its first thread exits, another lives
		"undumpable":   playUndumpable,   // its /proc files are root's
		"reexec":       playReexec,       // LAUNCH: becomes it on SIGUSR1
		"launch":       playLaunch,       // LAUNCHES: starts them, says their pids, exits
		"forker":       playForker,       // once|respawn|onterm LAUNCHES: starts them, says their pids
		"subreaper":    playSubreaper,    // reap|keep LAUNCHES: adopts them, says their pids
		"zombiekeeper": playZombieKeeper, // says the pid of a zombie child
		"tracer":       playTracer,       // PID: keeps it from ever exiting
		"joiner":       playJoiner,       // FIFO FIFO: goes into the groups that the first names, says so on the second
		"nsinit":       playNamespaceInit,
		"manager":      playManager, // CGROUP NOTES LAUNCHES: a service manager that notes each question and answers none; says the pids
		"fuse":         playFUSE,    // DIR FIFO: mounts what never answers, tells of each question
		"locked":       playLocked,  // FILE FIFO: maps the file, says where; at a line waits for its own memory lock
		"peeker":       playPeeker,  // PID ADDRESS: reads a page of that memory
		"step":         playStep,    // FIFO FIFO LAUNCH: runs it call by call
	}
}

func playRole(name string) {
	play, ok := roles[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "test: no role %q\n", name)
		os.Exit(70)
	}
	var args []string
	check(json.Unmarshal([]byte(os.Getenv(argsVar)), &args))
	play(args)
	if name == "launch" {
		os.Exit(0)
	}
	for {
		syscall.Pause() // not select: the runtime would call it a deadlock
	}
}

func (l *Lab) roleEnviron(s Spec, ready string) []string {
	l.t.Helper()
	if _, ok := roles[s.Role]; !ok {
		l.t.Fatalf("no role %q", s.Role)
	}
	args := s.Args
	if args == nil {
		args = []string{}
	}
	return []string{
		roleVar + "=" + s.Role, argsVar + "=" + encode(args)[0], readyVar + "=" + ready,
		quickExit,
		"GODEBUG=asyncpreemptoff=1", // the runtime's own SIGURG would be noted too
	}
}

// roleBinary is the test binary where every user can run it.
func roleBinary(t *testing.T) string {
	t.Helper()
	path, err := copyTestBinary()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var copyTestBinary = sync.OnceValues(func() (string, error) {
	path := filepath.Join(os.Getenv(dirVar), "role")
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer from.Close()
	syscall.ForkLock.RLock() // a child that has the descriptor yet would keep it from being executed
	defer syscall.ForkLock.RUnlock()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	if closed := to.Close(); err == nil {
		err = closed
	}
	return path, err
})

// say is a role's line to the test, once.
func say(text string) {
	f, err := os.OpenFile(os.Getenv(readyVar), os.O_WRONLY, 0)
	if err == nil {
		fmt.Fprintln(f, text)
		f.Close()
	}
}

func check(err error) {
	if err != nil {
		say("error: " + err.Error())
		os.Exit(71)
	}
}

func playDeaf([]string) {
	signal.Ignore(syscall.SIGTERM)
	say("")
}

func onTerm() <-chan os.Signal {
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	return terms
}

func playSlow(args []string) {
	delay, err := strconv.Atoi(args[0])
	check(err)
	terms := onTerm()
	say("")
	<-terms
	<-time.After(time.Duration(delay) * time.Millisecond)
	os.Exit(0)
}

func playHeld(args []string) {
	terms := onTerm()
	said, err := os.OpenFile(args[0], os.O_RDWR, 0)
	check(err)
	gate, err := os.OpenFile(args[1], os.O_RDWR, 0)
	check(err)
	say("")
	<-terms
	fmt.Fprintln(said, "TERM")
	gate.Read(make([]byte, 1))
	os.Exit(0)
}

// flushSignal is the last in a row of pending ones that a Go program is told of.
const flushSignal = syscall.Signal(64)

func playCanary(args []string) {
	notes, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o666)
	check(err)
	signals := make(chan os.Signal, 128)
	signal.Notify(signals)
	say("")
	for s := range signals {
		fmt.Fprintln(notes, signalName(s))
	}
}

func signalName(s os.Signal) string {
	number := s.(syscall.Signal)
	if number == flushSignal {
		return "flush"
	}
	return unix.SignalName(number)
}

func playThreads([]string) {
	tid := make(chan int)
	go func() {
		runtime.LockOSThread()
		tid <- syscall.Gettid()
		select {}
	}()
	say(strconv.Itoa(<-tid))
}

func playThreadLeader([]string) {
	go func() {
		runtime.LockOSThread()
		poll(patience, func() bool {
			s, ok := readStat(os.Getpid())
			return ok && s.State == 'Z'
		})
		say("")
		select {}
	}()
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0)
}

func playUndumpable([]string) {
	check(unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0))
	say("")
}

func playReexec(args []string) {
	var next launch
	check(json.Unmarshal([]byte(args[0]), &next))
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGUSR1)
	say("")
	<-signals
	check(syscall.Exec(next.Exe, next.Argv, next.Env))
}
