//go:build linux

package test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// playNamespaceInit is pid 1 of a namespace inside the tests' own: it starts
// what it is asked to and waits for all that is left to it.
func playNamespaceInit(args []string) {
	check(becomeInit(filepath.Base(os.Args[0])))
	requests, err := os.OpenFile(args[0], os.O_RDWR, 0)
	check(err)
	replies, err := os.OpenFile(args[1], os.O_RDWR, 0)
	check(err)
	kept := keepStatuses()
	say("")
	for lines := bufio.NewReader(requests); ; {
		line, err := lines.ReadBytes('\n')
		check(err)
		fmt.Fprintln(replies, serve(line, kept))
	}
}

func serve(line []byte, kept *statuses) string {
	var r request
	if err := json.Unmarshal(line, &r); err != nil {
		return "error: " + err.Error()
	}
	child, err := r.Launch.start()
	if err != nil {
		return "error: " + err.Error()
	}
	if !r.Wait {
		return strconv.Itoa(child.Pid)
	}
	return strconv.Itoa(kept.await(child.Pid))
}

// statuses of the children that have been waited for.
type statuses struct {
	sync.Mutex
	more sync.Cond
	of   map[int]int
}

func keepStatuses() *statuses {
	kept := &statuses{of: map[int]int{}}
	kept.more.L = kept
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	go func() {
		for range ended {
			kept.collect()
		}
	}()
	return kept
}

func (s *statuses) collect() {
	for {
		var w syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &w, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		s.Lock()
		s.of[pid] = exitStatus(w)
		s.more.Broadcast()
		s.Unlock()
	}
}

func (s *statuses) await(pid int) int {
	s.Lock()
	defer s.Unlock()
	for {
		if status, ok := s.of[pid]; ok {
			delete(s.of, pid)
			return status
		}
		s.more.Wait()
	}
}

// playManager is a service manager that nobody gets an answer from: what it starts
// is in the cgroup of a service, itself in the one above.
func playManager(args []string) {
	enter := func(group string) {
		check(os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte(strconv.Itoa(os.Getpid())), 0))
	}
	service := filepath.Join(args[0], "lab.service")
	check(os.Mkdir(service, 0o755))
	enter(service)
	pids := startAll(decodeLaunches(args[2]))
	enter(args[0])
	socket, err := net.Listen("unix", filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "systemd/private"))
	check(err)
	notes, err := os.OpenFile(args[1], os.O_WRONLY|os.O_APPEND, 0)
	check(err)
	say(encode(pids)[0])
	for held := []net.Conn{}; ; {
		conn, err := socket.Accept()
		check(err)
		held = append(held, conn)
		fmt.Fprintln(notes, "asked")
	}
}
