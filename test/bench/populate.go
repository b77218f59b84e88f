//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Descriptors of a tree's top before it becomes an idle process.
const (
	treeRecord = 3 // to read the tree from
	treeReport = 4 // for the pids; closed by the last exec
)

// beCrowd starts a crowd and tells its pids once every process is what it is to
// be. Its end leaves the tops to pid 1.
func beCrowd(kind, size, idle string) error {
	n, err := strconv.Atoi(size)
	if err != nil {
		return err
	}
	trees, err := crowdOf(kind, n)
	if err != nil {
		return err
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	input, held, err := os.Pipe() // nobody writes to it, and whoever reads it holds it open
	if err != nil {
		return err
	}
	var report crowdReport
	for i := range trees {
		trees[i].Program = idle
		pids, err := trees[i].start(input, held, null)
		if err != nil {
			return fmt.Errorf("process %d: %w", len(report.PIDs), err)
		}
		report.add(&trees[i], pids)
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

func (c *crowdReport) add(t *tree, pids []int) {
	c.PIDs = append(c.PIDs, pids...)
	for _, at := range t.orphans {
		c.Orphans = append(c.Orphans, pids[at])
		if c.Members++; at == 0 {
			c.Members += len(t.Below)
		}
	}
	names := func(p idler) bool {
		return slices.ContainsFunc(p.Env, func(entry string) bool { return strings.HasPrefix(entry, loudNames+"_PARENT_PID=") })
	}
	for _, p := range append([]idler{t.Top}, t.Below...) {
		if names(p) {
			c.Following++
		}
	}
}

// start starts a tree and returns its pids, the top's first.
func (t *tree) start(input, held, null *os.File) ([]int, error) {
	record, tell, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer tell.Close()
	report, reporting, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer report.Close()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	_, err = syscall.ForkExec(self, []string{self, treeRole}, &syscall.ProcAttr{
		Files: []uintptr{input.Fd(), held.Fd(), null.Fd(), record.Fd(), reporting.Fd()},
		Sys:   &syscall.SysProcAttr{Setsid: t.Session, Setpgid: t.Group},
	})
	record.Close()
	reporting.Close()
	if err != nil {
		return nil, err
	}
	if err := json.NewEncoder(tell).Encode(t); err != nil {
		return nil, err
	}
	said, err := io.ReadAll(report)
	if err != nil {
		return nil, err
	}
	var pids []int
	if err := json.Unmarshal(said, &pids); err != nil || len(pids) != 1+len(t.Below) {
		return nil, fmt.Errorf("did not start: %s", said)
	}
	return pids, nil
}

// beTree starts the processes below this one, then becomes the top itself. It
// returns only where something failed.
func beTree() error {
	syscall.CloseOnExec(treeRecord)
	syscall.CloseOnExec(treeReport)
	report := os.NewFile(treeReport, "report")
	err := growTree(os.NewFile(treeRecord, "record"), report)
	fmt.Fprint(report, err)
	return err
}

func growTree(record, report *os.File) error {
	var t tree
	if err := json.NewDecoder(record).Decode(&t); err != nil {
		return err
	}
	path, prefix := t.Program, []string(nil)
	if path == "" {
		var err error
		if path, err = exec.LookPath("sh"); err != nil {
			path = "/bin/sh"
		}
		prefix = []string{"sh", "-c", "read _"}
	}
	if t.Deaf {
		signal.Ignore(syscall.SIGTERM) // inherited
	}
	pids := []int{os.Getpid()}
	for _, p := range t.Below {
		pid, err := syscall.ForkExec(path, append(prefix, p.Argv...), &syscall.ProcAttr{Env: p.Env, Files: []uintptr{0, 1, 2}})
		if err != nil {
			return err
		}
		pids = append(pids, pid)
	}
	if err := json.NewEncoder(report).Encode(pids); err != nil {
		return err
	}
	return syscall.Exec(path, append(prefix, t.Top.Argv...), t.Top.Env)
}
