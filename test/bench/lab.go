//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// run is one run of a whole program, from before its fork until it was waited for.
type run struct {
	Wall, CPU time.Duration // CPU of all its processes
	Peak      int64         // KiB of its largest process, ru_maxrss; no less than what pid 1 has
	Status    int           // exit status, or 128 and the number of the signal
}

// request asks pid 1 to run a program; its stdout goes to a file, stderr to
// another one, named .err.
type request struct {
	Argv   []string
	Output string
	Limit  time.Duration
}

// reply is the answer; the first one says that the namespace is set up.
type reply struct {
	Run   run
	Error string
}

// lab is a pid namespace. Nobody else's processes come and go in it, no sweep in
// it can reach anything outside, and the end of its pid 1 ends all in it.
type lab struct {
	init     *exec.Cmd
	requests io.WriteCloser
	say      *json.Encoder
	hear     *json.Decoder
	output   string
	idle     string // path of the program that idle processes run
	self     string
}

// newLab starts pid 1; the end of ctx, or of the thread that called, ends it.
func newLab(ctx context.Context, t tools, dir string) (*lab, error) {
	flags := uintptr(syscall.CLONE_NEWPID | syscall.CLONE_NEWNS)
	var first error
	if os.Geteuid() == 0 {
		l, err := openLab(ctx, t, dir, flags)
		if err == nil {
			return l, nil
		}
		first = err
	}
	l, err := openLab(ctx, t, dir, flags|syscall.CLONE_NEWUSER)
	if err != nil {
		return nil, fmt.Errorf("no pid namespace of its own can be had: %w", errors.Join(first, err))
	}
	return l, nil
}

func openLab(ctx context.Context, t tools, dir string, flags uintptr) (*lab, error) {
	home := filepath.Join(dir, "home")
	if err := os.MkdirAll(home, 0o755); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, t.self, initRole)
	cmd.Args[0] = initName
	cmd.Dir, cmd.Stderr = home, os.Stderr
	// Nothing of the caller's settings, and the locale that most people have.
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: syscall.SIGKILL, Setsid: true}
	if flags&syscall.CLONE_NEWUSER != 0 {
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getegid(), Size: 1}}
	}
	requests, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	replies, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	runtime.LockOSThread() // its end would be a parent's death
	l := &lab{init: cmd, requests: requests, say: json.NewEncoder(requests), hear: json.NewDecoder(replies),
		output: filepath.Join(dir, "output"), idle: t.idle, self: t.self}
	if err := cmd.Start(); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	if _, err := l.answer(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// close ends pid 1, and with it everything in the namespace.
func (l *lab) close() {
	l.requests.Close()
	l.init.Wait()
	runtime.UnlockOSThread()
}

func (l *lab) answer() (run, error) {
	var r reply
	if err := l.hear.Decode(&r); err != nil {
		return run{}, l.ended(err)
	}
	if r.Error != "" {
		return run{}, errors.New(r.Error)
	}
	return r.Run, nil
}

// ended says how pid 1 ended, which is why it could not be talked to.
func (l *lab) ended(err error) error {
	l.requests.Close()
	l.init.Wait()
	return fmt.Errorf("pid 1 of the namespace has ended (%v): %w", l.init.ProcessState, err)
}

// run runs a program to its end.
func (l *lab) run(argv ...string) (run, error) {
	if err := l.say.Encode(request{argv, l.output, 5 * time.Minute}); err != nil {
		return run{}, l.ended(err)
	}
	r, err := l.answer()
	if err != nil {
		return r, fmt.Errorf("run %s: %w", argv[0], err)
	}
	return r, nil
}

// said is what the last program wrote to stdout.
func (l *lab) said() []byte {
	text, _ := os.ReadFile(l.output)
	return text
}

// complained is the beginning of what the last program wrote to stderr.
func (l *lab) complained() string {
	text, _ := os.ReadFile(l.output + ".err")
	return string(text[:min(len(text), 300)])
}

// populate starts a crowd.
func (l *lab) populate(kind string, size int) (crowdReport, error) {
	var c crowdReport
	r, err := l.run(l.self, crowdRole, kind, strconv.Itoa(size), l.idle)
	if err != nil {
		return c, err
	}
	if r.Status != 0 {
		return c, fmt.Errorf("the population did not start: %s", l.complained())
	}
	return c, json.Unmarshal(l.said(), &c)
}

// running returns those of the pids that run. The namespace's own /proc is seen
// through its pid 1.
func (l *lab) running(pids []int) []int {
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/proc/%d/stat", l.init.Process.Pid, pid))
		return err != nil || isZombie(stat)
	})
}
