// Package orphans sweeps what killed test runs left behind, and marks all that
// this one starts.
package orphans

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// Sweep is the first thing that TestMain calls.
func Sweep() {
	const marker = "REAPER_PARENT_PID"
	run := identity(os.Getpid())
	if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", os.Getppid())); string(name) == "go\n" {
		// All test binaries follow the go command, so that what it runs in parallel
		// is one live run. This process begins again with the marker in its own
		// environment, for it may outlive go test itself.
		run = identity(os.Getppid())
		if exe, err := os.Executable(); err == nil && os.Getenv(marker) != run {
			os.Setenv(marker, run)
			fmt.Fprintln(os.Stderr, "begin again:", syscall.Exec(exe, os.Args, os.Environ()))
		}
	}
	os.Setenv(marker, run)
	sweep := exec.Command("reaper", "sweep", "--quiet")
	sweep.Stdout, sweep.Stderr = os.Stderr, os.Stderr
	if err := sweep.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "reaper sweep: %v; the tests run all the same\n", err)
	}
}

// identity is PID@START where /proc tells, else the bare pid.
func identity(pid int) string {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if len(fields) < 20 {
		return fmt.Sprint(pid)
	}
	return fmt.Sprintf("%d@%s", pid, fields[19])
}
