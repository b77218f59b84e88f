//go:build linux

package test

import (
	"fmt"
	"os"
	"syscall"
)

// initName is what pid 1 of the namespace is called; rules name it as an adopter.
const initName = "labinit"

// runInit is pid 1: it starts the tests, waits for whatever is left to it, and
// ends with the tests' status. Its end ends the namespace.
func runInit() int {
	const reportFD = 3
	syscall.CloseOnExec(reportFD)
	report := os.NewFile(reportFD, "report")
	tests, err := startInside()
	if err != nil {
		fmt.Fprint(report, err)
		return 1
	}
	fmt.Fprint(report, "ok")
	report.Close()
	defer passSignals(tests)()
	return waitForAll(tests.Pid)
}

func startInside() (*os.Process, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := becomeInit(initName); err != nil {
		return nil, err
	}
	return os.StartProcess(exe, append([]string{exe}, os.Args[1:]...), &os.ProcAttr{
		Env:   append(os.Environ(), stageVar+"=inside"),
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}

// becomeInit gives the namespace a /proc of its own and this process its name.
func becomeInit(name string) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return os.WriteFile("/proc/self/comm", []byte(name), 0)
}

// waitForAll waits for every child until the named one has exited.
func waitForAll(last int) int {
	for {
		var w syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &w, 0, nil)
		if err == syscall.ECHILD {
			return 1
		}
		if err == nil && pid == last {
			return exitStatus(w)
		}
	}
}
