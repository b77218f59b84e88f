//go:build linux

package test

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// Requests of linux/fuse.h.
const (
	fuseLookup      = 1
	fuseForget      = 2
	fuseGetattr     = 3
	fuseOpen        = 14
	fuseRead        = 15
	fuseInit        = 26
	fuseInterrupt   = 36
	fuseBatchForget = 42
)

// playFUSE mounts a file system on a folder, or says why it cannot: every name in
// it is a file of one page, whose contents it never answers for. It says each time
// that it was asked.
func playFUSE(args []string) {
	said, err := os.OpenFile(args[1], os.O_RDWR, 0)
	check(err)
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err == nil {
		err = unix.Mount("lab", args[0], "fuse.lab", 0, fmt.Sprintf("fd=%d,rootmode=40755,user_id=0,group_id=0", fd))
	}
	if err != nil {
		say(err.Error())
		return
	}
	say("")
	for request := make([]byte, 1<<17); ; {
		n, err := unix.Read(fd, request)
		if err == unix.EINTR || err == unix.ENOENT {
			continue
		}
		check(err)
		if answer := answerFUSE(request[:n], said); answer != nil {
			unix.Write(fd, answer)
		}
	}
}

// answerFUSE is the reply to a request, nil for none.
func answerFUSE(request []byte, said *os.File) []byte {
	order := binary.NativeEndian
	opcode, unique, node := order.Uint32(request[4:]), order.Uint64(request[8:]), order.Uint64(request[16:])
	var body []byte
	failed := int32(0)
	switch opcode {
	case fuseForget, fuseInterrupt, fuseBatchForget:
		return nil
	case fuseInit:
		body = make([]byte, 64)
		order.PutUint32(body, 7)
		order.PutUint32(body[4:], 31)
		order.PutUint32(body[20:], 4096) // max_write
	case fuseGetattr:
		body = append(make([]byte, 16), attributes(node)...)
	case fuseLookup:
		body = append(make([]byte, 40), attributes(2)...)
		order.PutUint64(body, 2)
	case fuseOpen:
		body = make([]byte, 16)
	case fuseRead:
		fmt.Fprintln(said, "read")
		return nil
	default:
		failed = -int32(syscall.ENOSYS)
	}
	answer := make([]byte, 16, 16+len(body))
	order.PutUint32(answer, uint32(16+len(body)))
	order.PutUint32(answer[4:], uint32(failed))
	order.PutUint64(answer[8:], unique)
	return append(answer, body...)
}

// attributes is the fuse_attr of the root, which is node 1, or of a file.
func attributes(node uint64) []byte {
	order := binary.NativeEndian
	attr, mode := make([]byte, 88), uint32(syscall.S_IFREG|0o644)
	if node == 1 {
		mode = syscall.S_IFDIR | 0o755
	}
	order.PutUint64(attr, node)
	order.PutUint64(attr[8:], 4096)
	order.PutUint32(attr[60:], mode)
	order.PutUint32(attr[64:], 1)
	return attr
}

// playLocked maps a file, says where, and at a line on the FIFO asks for more
// memory.
func playLocked(args []string) {
	order, err := os.OpenFile(args[1], os.O_RDWR, 0)
	check(err)
	fd, err := unix.Open(args[0], unix.O_RDONLY, 0)
	check(err)
	page, _, errno := unix.Syscall6(unix.SYS_MMAP, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE, uintptr(fd), 0)
	if errno != 0 {
		check(errno)
	}
	say(strconv.FormatUint(uint64(page), 10))
	order.Read(make([]byte, 1))
	unix.RawSyscall6(unix.SYS_MMAP, 0, 4096, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANON, ^uintptr(0), 0)
}

// playPeeker reads a page of a process's memory.
func playPeeker(args []string) {
	fd, err := unix.Open("/proc/"+args[0]+"/mem", unix.O_RDONLY, 0)
	check(err)
	at, err := strconv.ParseInt(args[1], 10, 64)
	check(err)
	say("")
	unix.Pread(fd, make([]byte, 8), at)
}
