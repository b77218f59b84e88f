//go:build linux

package test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The calls that a stepped program waits in, seccomp_unotify(2).
var steps = []struct {
	name   string
	number uint32
}{
	{"pidfd_open", unix.SYS_PIDFD_OPEN}, {"pidfd_send_signal", unix.SYS_PIDFD_SEND_SIGNAL}, {"kill", unix.SYS_KILL},
	{"ppoll", unix.SYS_PPOLL}, {"getdents64", unix.SYS_GETDENTS64},
}

// notice and reply are seccomp_notif and seccomp_notif_resp.
type notice struct {
	id         uint64
	pid, flags uint32
	call       int32
	arch       uint32
	address    uint64
	args       [6]uint64
}

type reply struct {
	id           uint64
	value        int64
	error, flags int32
}

// playStep runs a launch and says each of its calls before it is made, with the
// arguments; the call is made once a line comes back, and after "on" so is every
// further one.
func playStep(args []string) {
	said, err := os.OpenFile(args[0], os.O_RDWR, 0)
	check(err)
	cues, err := os.OpenFile(args[1], os.O_RDWR, 0)
	check(err)
	var l launch
	check(json.Unmarshal([]byte(args[2]), &l))
	listener, err := filterSteps()
	check(err)
	go serveSteps(listener, said, cues)
	child, err := l.start()
	check(err)
	say(strconv.Itoa(child.Pid))
	state, err := child.Wait()
	check(err)
	fmt.Fprintln(said, "exit", state.ExitCode())
}

// filterSteps makes this thread, and what it starts, wait in those calls for the
// holder of the descriptor.
func filterSteps() (listener int, err error) {
	runtime.LockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, err
	}
	code := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	for i, s := range steps {
		code = append(code, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(steps) - i), K: s.number})
	}
	code = append(code, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	program := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER,
		unix.SECCOMP_FILTER_FLAG_NEW_LISTENER|unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(code)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func serveSteps(listener int, said, cues *os.File) {
	free := false
	cue := make([]byte, 16)
	for {
		n := notice{}
		err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&n))
		if errors.Is(err, unix.EINTR) || errors.Is(err, unix.ENOENT) {
			continue
		}
		check(err)
		if !free && int(n.pid) != os.Getpid() {
			fmt.Fprintln(said, stepName(n.call), n.args[0], n.args[1], n.args[2], n.args[3])
			got, err := cues.Read(cue)
			check(err)
			free = strings.HasPrefix(string(cue[:got]), "on")
		}
		// The call is made as it is; one that was given up meanwhile is ENOENT.
		r := reply{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if err := ioctl(listener, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)); !errors.Is(err, unix.ENOENT) {
			check(err)
		}
	}
}

func stepName(number int32) string {
	for _, s := range steps {
		if int32(s.number) == number {
			return s.name
		}
	}
	return strconv.Itoa(int(number))
}

func ioctl(fd int, request uintptr, argument unsafe.Pointer) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(argument)); errno != 0 {
		return errno
	}
	return nil
}

// playJoiner is a process that changes its group: "in N" joins that group and
// says so, "flip N" joins and leaves it every millisecond until the next order.
func playJoiner(args []string) {
	orders, err := os.Open(args[0])
	check(err)
	said, err := os.OpenFile(args[1], os.O_RDWR, 0)
	check(err)
	var flips atomic.Int64
	go func() {
		for range time.Tick(time.Millisecond) {
			if group := int(flips.Load()); group != 0 && unix.Setpgid(0, group) == nil {
				time.Sleep(500 * time.Microsecond)
				unix.Setpgid(0, 0)
			}
		}
	}()
	say("")
	for lines := bufio.NewReader(orders); ; {
		word, group := "", 0
		_, err := fmt.Fscanln(lines, &word, &group)
		check(err)
		flips.Store(0)
		if word == "flip" {
			flips.Store(int64(group))
		} else {
			check(unix.Setpgid(0, group))
		}
		fmt.Fprintln(said, word)
	}
}
