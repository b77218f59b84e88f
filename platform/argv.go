package platform

import (
	"bytes"
	"strings"
)

// commBytes is TASK_COMM_LEN less its NUL.
const commBytes = 15

// area is what /proc/PID/stat says about a command line; both are zero where it
// may not be read.
type area struct {
	size uint64 // bytes between arg_start and arg_end
	comm []byte
}

// argvArea is the stat's view of the command line.
func (s *stat) argvArea() area {
	if s.argEnd < s.argStart {
		return area{comm: s.comm}
	}
	return area{s.argEnd - s.argStart, s.comm}
}

// cmdline is a parsed /proc/PID/cmdline.
type cmdline struct {
	argv    []string
	titled  bool // argv is a title, split at blanks
	overrun bool // the title reached into the environment block
}

// parseCmdline splits the kernel's NUL-terminated strings, trailing empty ones
// kept, unless the process wrote a title over them.
func parseCmdline(block []byte, a area) cmdline {
	if len(block) == 0 {
		return cmdline{}
	}
	if !titled(block, a) {
		text := string(block[:len(block)-1])
		return cmdline{argv: strings.Split(text, "\x00")}
	}
	text := string(block)
	if end := strings.IndexByte(text, 0); end >= 0 {
		text = text[:end]
	}
	if n := int(min(a.size, uint64(len(text)))); n > 0 && isEntry(text[n:]) {
		text = text[:n] // only the last NUL was written over: what follows is the first variable
	}
	blank := func(c rune) bool { return c == ' ' || c == '\t' }
	return cmdline{
		argv:    strings.FieldsFunc(text, blank),
		titled:  true,
		overrun: a.size > 0 && uint64(len(block)) > a.size || block[len(block)-1] != 0,
	}
}

// isEntry says whether the text is a NAME=value as an environment has it.
func isEntry(text string) bool {
	name, _, found := strings.Cut(text, "=")
	return found && name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	})
}

// titled says whether the arguments are one title.
//
// Where the last byte of the area is no longer NUL, the kernel (5.3,
// get_mm_proctitle in fs/proc/base.c) shows one string instead of the area, at
// most a page, from arg_start up to and with the first NUL, be that short of
// arg_end (libbsd's setproctitle) or beyond it, in the environment (perl's $0).
// So a length other than the area's is a title. Titles that end within the area
// (libuv, nginx, postgres) are padded with NULs: one string with a blank and
// more than one NUL. The same bytes come of `exec -a "a b" prog ""`, which
// nobody runs. A title cut to fill the area exactly has one NUL; it shows by the
// comm, which libuv sets along with it and which exec takes from the file instead.
func titled(block []byte, a area) bool {
	if block[len(block)-1] != 0 {
		return true
	}
	if a.size > 0 && uint64(len(block)) != a.size {
		return true
	}
	text := bytes.TrimRight(block, "\x00")
	if bytes.IndexByte(text, 0) >= 0 || bytes.IndexByte(text, ' ') < 0 {
		return false
	}
	return len(block)-len(text) > 1 || len(a.comm) > 0 && bytes.Equal(a.comm, text[:min(len(text), commBytes)])
}

// needsArea says whether only stat can tell if the block is a title: one string
// with a blank and its NUL.
func needsArea(block []byte) bool {
	return bytes.IndexByte(block, 0) == len(block)-1 && bytes.IndexByte(block, ' ') >= 0
}
