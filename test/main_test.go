//go:build linux

// Package test runs the built binary against real processes.
//
// All of it happens in a pid and mount namespace of its own: nothing that a
// sweep does in a test can reach the machine, and the end of the namespace's
// pid 1 ends everything that a test started.
package test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary runs itself: outside, as pid 1, inside, and in the roles of
// the processes that the tests need.
const (
	stageVar = "LAB_STAGE"
	dirVar   = "LAB_DIR"
)

// noNamespace is why there is no namespace; empty inside of one.
var noNamespace string

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		playRole(role)
	}
	stage := os.Getenv(stageVar)
	os.Unsetenv(stageVar)
	switch stage {
	case "init":
		os.Exit(runInit())
	case "inside":
		os.Exit(runInside(m))
	}
	os.Exit(runOutside(m))
}

func runOutside(m *testing.M) int {
	// The parent-death signal is sent when the thread that started the child ends.
	runtime.LockOSThread()
	dir, err := makeDir("", "reaper-lab-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "test:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	status, err := enterNamespace(dir)
	if err == nil {
		return status
	}
	noNamespace = err.Error()
	fmt.Fprintln(os.Stderr, "test: what needs a namespace is skipped:", err)
	return m.Run()
}

func makeDir(parent, name string) (string, error) {
	dir, err := os.MkdirTemp(parent, name)
	if err == nil {
		err = os.Chmod(dir, 0o755) // roles run as another user too
	}
	return dir, err
}

// enterNamespace runs the tests inside and returns their exit status, or says
// why it cannot be done here.
func enterNamespace(dir string) (int, error) {
	flags := uintptr(syscall.CLONE_NEWPID | syscall.CLONE_NEWNS)
	if os.Geteuid() == 0 {
		status, err := runNamespace(dir, flags)
		if err == nil {
			return status, nil
		}
	}
	return runNamespace(dir, flags|syscall.CLONE_NEWUSER)
}

func runNamespace(dir string, flags uintptr) (int, error) {
	report, theirs, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer report.Close()
	cmd := initCommand(dir, flags, theirs)
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return 0, fmt.Errorf("start in a new namespace: %w", err)
	}
	defer passSignals(cmd.Process)()
	said, err := io.ReadAll(report)
	waited := cmd.Wait()
	if err != nil {
		return 0, err
	}
	if string(said) != "ok" {
		return 0, fmt.Errorf("set up the namespace: %s (%v)", said, waited)
	}
	if exit := (*exec.ExitError)(nil); waited != nil && !errors.As(waited, &exit) {
		return 0, waited
	}
	return exitStatus(cmd.ProcessState.Sys().(syscall.WaitStatus)), nil
}

func initCommand(dir string, flags uintptr, report *os.File) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Args[0] = initName
	cmd.Env = append(cleanEnviron(), stageVar+"=init", dirVar+"="+dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{report}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL, Setsid: true}
	if flags&syscall.CLONE_NEWUSER != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	return cmd
}

// cleanEnviron is the environment without what a sweep could take for a marker
// or a setting.
func cleanEnviron() []string {
	var kept []string
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "LAB_") && (!strings.HasPrefix(entry, "REAPER_") || strings.HasPrefix(entry, binVar+"=")) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// passSignals hands on what ends a test run, until the returned function is called.
func passSignals(to *os.Process) func() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGQUIT, syscall.SIGHUP)
	go func() {
		for s := range signals {
			to.Signal(s)
		}
	}()
	return func() {
		signal.Stop(signals)
		close(signals)
	}
}

func exitStatus(w syscall.WaitStatus) int {
	if w.Signaled() {
		return 128 + int(w.Signal())
	}
	return w.ExitStatus()
}

func runInside(m *testing.M) int {
	status := m.Run()
	var left []string
	if !poll(10*time.Second, func() bool { left = othersInside(); return len(left) == 0 }) {
		fmt.Fprintf(os.Stderr, "test: left running: %s\n", strings.Join(left, ", "))
		status = max(status, 1)
	}
	return status
}

// othersInside lists what the namespace holds besides pid 1 and the tests.
func othersInside() []string {
	var others []string
	for _, pid := range pids() {
		if pid != 1 && pid != os.Getpid() {
			if s, ok := readStat(pid); ok {
				others = append(others, fmt.Sprintf("%d (%s, state %c) %q", pid, s.Comm, s.State, readArgs(pid)))
			}
		}
	}
	return others
}
