//go:build linux

package test

import (
	"encoding/json"
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// launcherPID in an environment entry of a launch stands for the pid of the
// process that starts it.
const launcherPID = "{LAUNCHER}"

func decodeLaunches(text string) []launch {
	var all []launch
	check(json.Unmarshal([]byte(text), &all))
	for _, l := range all {
		for i := range l.Env {
			if strings.HasPrefix(l.Env[i], argsVar+"=") {
				continue // what that one starts in turn
			}
			l.Env[i] = strings.ReplaceAll(l.Env[i], launcherPID, strconv.Itoa(os.Getpid()))
		}
	}
	return all
}

func startAll(all []launch) []int {
	started := []int{}
	for _, l := range all {
		child, err := l.start()
		check(err)
		started = append(started, child.Pid)
	}
	return started
}

func playLaunch(args []string) { say(encode(startAll(decodeLaunches(args[0])))[0]) }

// launcher is a process that starts these, says their pids and exits.
func launcher(launches, ready string) launch {
	exe, err := os.Executable()
	check(err)
	return launch{Exe: exe, Argv: []string{"lab-launch"}, Dir: "/", Leader: true, Env: []string{
		roleVar + "=launch", argsVar + "=" + encode([]string{launches})[0], readyVar + "=" + ready,
		tagVar + "=" + os.Getenv(tagVar), quickExit,
	}}
}

func playForker(args []string) {
	all := decodeLaunches(args[1])
	if args[0] == "onterm" {
		terms := onTerm()
		say("")
		<-terms
		startAll(all)
		os.Exit(0)
	}
	started := startAll(all)
	say(encode(started)[0])
	for args[0] == "respawn" {
		pid, err := syscall.Wait4(-1, nil, 0, nil)
		for i := range started {
			if err == nil && started[i] == pid {
				started[i] = startAll(all[i : i+1])[0]
			}
		}
	}
}

func playSubreaper(args []string) {
	check(unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	said := os.Getenv(readyVar) + ".pids"
	check(os.WriteFile(said, nil, 0o644))
	child, err := launcher(args[1], said).start()
	check(err)
	_, err = child.Wait()
	check(err)
	pids, err := os.ReadFile(said)
	check(err)
	say(strings.TrimSpace(string(pids)))
	for args[0] == "reap" {
		syscall.Wait4(-1, nil, 0, nil)
	}
}

func playZombieKeeper([]string) {
	child, err := launcher("[]", "").start()
	check(err)
	check(unix.Waitid(unix.P_PID, child.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil))
	say(strconv.Itoa(child.Pid))
}

// playTracer stops a process at the end of its exit: killed, it never becomes a
// zombie while the tracer lives.
func playTracer(args []string) {
	runtime.LockOSThread()
	pid, err := strconv.Atoi(args[0])
	check(err)
	_, _, errno := syscall.Syscall6(syscall.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, unix.PTRACE_O_TRACEEXIT, 0, 0)
	if errno != 0 {
		check(errno)
	}
	say("")
	for {
		var w syscall.WaitStatus
		_, err := syscall.Wait4(pid, &w, syscall.WALL, nil)
		if err != nil {
			return
		}
		if w.Stopped() && w.TrapCause() == unix.PTRACE_EVENT_EXIT {
			return
		}
		signal := 0
		if w.Stopped() && int(w)>>16 == 0 {
			signal = int(w.StopSignal())
		}
		syscall.PtraceCont(pid, signal)
	}
}

// playRetitle writes over the memory that the kernel shows as the command line,
// as setproctitle does; what is longer runs into the environment.
func playRetitle(args []string) {
	size := 0
	for _, text := range append(os.Args, os.Environ()...) {
		size += len(text) + 1
	}
	memory := unsafe.Slice(unsafe.StringData(os.Args[0]), size)
	end := 0
	for _, text := range os.Args {
		end += len(text) + 1
	}
	if len(args[0]) >= end {
		end = size
	}
	clear(memory[copy(memory[:end-1], args[0]):end])
	say("")
}

// playOverrun writes a title that ends, with its NUL, right before a text in the
// middle of some entry, as a careless strcpy over the arguments does.
func playOverrun(args []string) {
	memory := argsAndEnvironment()
	end := strings.LastIndex(string(memory), args[0])
	if end < 0 {
		check(errors.New("no such text in the environment"))
	}
	for i := range end {
		memory[i] = 'x'
	}
	memory[end-1] = 0
	if len(args) > 1 {
		clear(memory[copy(memory, args[1]) : len(os.Args[0])+1])
	}
	say("")
}

// playBlank zeroes its environment up to an entry.
func playBlank(args []string) {
	memory := argsAndEnvironment()
	begin := 0
	for _, text := range os.Args {
		begin += len(text) + 1
	}
	end := strings.Index(string(memory), "\x00"+args[0])
	if end < begin {
		check(errors.New("no such entry behind the first"))
	}
	clear(memory[begin:end])
	say("")
}

// argsAndEnvironment is where exec put both, one behind the other.
func argsAndEnvironment() []byte {
	size := 0
	for _, text := range append(os.Args, os.Environ()...) {
		size += len(text) + 1
	}
	return unsafe.Slice(unsafe.StringData(os.Args[0]), size)
}
