//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"syscall"
	"time"
)

// The program runs itself in these roles.
const (
	initRole  = "role:init"
	crowdRole = "role:crowd"
	treeRole  = "role:tree"
)

// initName is what pid 1 calls itself, and the rules name as an adopter.
const initName = "bench-init"

func isRole(word string) bool {
	return word == initRole || word == crowdRole || word == treeRole
}

func playRole(role string, args []string) error {
	switch {
	case role == treeRole:
		return beTree()
	case os.Getpid() == 1 && role == initRole:
		return beInit()
	case role == crowdRole && len(args) == 3:
		return beCrowd(args[0], args[1], args[2])
	}
	return fmt.Errorf("%s is for the benchmark's own namespace", role)
}

// beInit is pid 1: it runs what it is asked to and waits for all that it adopts.
// It stays small, because a program's peak memory starts at that of its starter.
func beInit() error {
	debug.SetGCPercent(10)
	requests, replies := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	if err := ownProc(); err != nil {
		return replies.Encode(reply{Error: err.Error()})
	}
	if err := replies.Encode(reply{}); err != nil {
		return err
	}
	for {
		var q request
		if err := requests.Decode(&q); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		r, err := q.run()
		answer := reply{Run: r}
		if err != nil {
			answer.Error = err.Error()
		}
		if err := replies.Encode(answer); err != nil {
			return err
		}
	}
}

// ownProc mounts the namespace's own /proc where only this namespace sees it.
func ownProc() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return nil
}

func (q request) run() (run, error) {
	path, err := exec.LookPath(q.Argv[0])
	if err != nil {
		return run{}, err
	}
	var files []uintptr
	for _, name := range []string{os.DevNull, q.Output, q.Output + ".err"} {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND, 0o600)
		if err != nil {
			return run{}, err
		}
		defer f.Close()
		files = append(files, f.Fd())
	}
	attr := &syscall.ProcAttr{Env: os.Environ(), Files: files, Sys: &syscall.SysProcAttr{Setpgid: true}}
	began := time.Now()
	pid, err := syscall.ForkExec(path, q.Argv, attr)
	if err != nil {
		return run{}, err
	}
	limit := time.AfterFunc(q.Limit, func() { syscall.Kill(pid, syscall.SIGKILL) })
	defer limit.Stop()
	var status syscall.WaitStatus
	var use syscall.Rusage
	for got := 0; got != pid; {
		if got, err = syscall.Wait4(-1, &status, 0, &use); err != nil && err != syscall.EINTR {
			return run{}, err
		}
	}
	r := run{Wall: time.Since(began), Peak: use.Maxrss, Status: status.ExitStatus()}
	r.CPU = time.Duration(use.Utime.Nano() + use.Stime.Nano())
	if status.Signaled() {
		r.Status = 128 + int(status.Signal())
	}
	return r, nil
}

// isZombie reads the state in a /proc/PID/stat.
func isZombie(stat []byte) bool {
	state := bytes.LastIndexByte(stat, ')') + 2
	return state >= len(stat) || stat[state] == 'Z' || stat[state] == 'X'
}
