package platform

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
)

// argsState says what a kern.procargs2 record tells of the environment.
type argsState int8

const (
	argsUnknown  argsState = iota // the record is not what an exec leaves behind, or was cut
	argsPresent                   // the entries are there
	argsEmpty                     // exec was given none
	argsWithheld                  // the kernel left the environment out, see procargs
)

func (s argsState) String() string {
	return [...]string{"unknown", "present", "empty", "withheld"}[s]
}

// procargs is a parsed record of the sysctl kern.procargs2. Its slices are parts
// of the record.
//
// Since 11.0 (xnu-7195.50, sysctl_procargsx in bsd/kern/kern_sysctl.c) the record
// of a process with CS_RESTRICT, which all of Apple's own programs have under SIP,
// ends after the arguments, for root too. So "no marker" proves nothing there.
type procargs struct {
	path     string // as given to exec; for a script the interpreter
	argv     []string
	env      [][]byte
	state    argsState
	complete bool   // the whole environment was seen: what is not in env is not set
	titled   bool   // NULs lie between argv and env: the process wrote a title over its arguments
	why      string // of argsUnknown
}

// procargsAlign is the size of a pointer: exec_path, and the strings before and
// after apple[], are padded to it (exec_extract_strings and
// exec_add_apple_strings, bsd/kern/kern_exec.c). Processes of 32 bits ended with 10.15.
const procargsAlign = 8

// appleKeys are what the kernel passes to libSystem behind the environment
// (exec_add_apple_strings). In a running process the first of them are zeroed.
var appleKeys = []string{"pfz", "stack_guard", "malloc_entropy", "ptr_munge", "main_stack", "executable_file", "dyld_file",
	"executable_cdhash", "executable_boothash", "subsystem_root_path", "ptrauth_disabled", "arm64e_abi", "th_port",
	"vm_force_4k_pages", "security_config", "HardenedRuntime", "MallocNanoZone", "MallocExperiment"}

// userKeys of these are set by users as well, and are never the first.
var userKeys = []string{"MallocNanoZone", "MallocExperiment", "HardenedRuntime"}

// parseProcargs reads one record: argc, exec_path, argc strings, the environment's
// strings without count or end, apple[]. The strings are the process's own memory,
// argc and the length are not.
func parseProcargs(b []byte) procargs {
	var a procargs
	argc, at, why := a.head(b)
	if why == "" {
		at, why = a.arguments(b, argc, at)
	}
	if why == "" {
		why = a.environment(b, at)
	}
	if why != "" {
		return procargs{path: a.path, why: why}
	}
	return a
}

// head reads argc and exec_path. argv begins at an exact place: to skip all NULs
// instead loses an empty argv[0] and takes an entry of the environment for an
// argument. A gap that holds anything else is no gap: the kernel answers a buffer
// that is too small with the last bytes of the strings.
func (a *procargs) head(b []byte) (argc, at int, why string) {
	if len(b) < 4 {
		return 0, 0, "short"
	}
	argc = int(int32(binary.LittleEndian.Uint32(b)))
	end := bytes.IndexByte(b[4:], 0)
	if end <= 0 {
		return 0, 0, "path"
	}
	at = 4 + (end+procargsAlign)/procargsAlign*procargsAlign
	if argc < 0 || argc > len(b)-min(at, len(b)) {
		return 0, 0, "argc"
	}
	a.path = string(b[4 : 4+end])
	if at > len(b) || !zero(b[4+end:at]) {
		return 0, 0, "padding"
	}
	return argc, at, ""
}

func (a *procargs) arguments(b []byte, argc, at int) (next int, why string) {
	a.argv = make([]string, 0, argc)
	for range argc {
		s, next, ok := cString(b, at)
		if !ok {
			return 0, "argv truncated"
		}
		a.argv, at = append(a.argv, string(s)), next
	}
	return at, ""
}

// environment reads from behind the argc-th string. A NUL there is either the
// padding before apple[] or what is left of arguments that a title was written
// over (libuv fills the rest with NULs): the environment is intact behind it.
func (a *procargs) environment(b []byte, at int) (why string) {
	if at == len(b) {
		a.state = argsWithheld
		return ""
	}
	if b[at] == 0 {
		if at = skipZero(b, at); at == len(b) {
			return "no apple strings"
		}
		s, _, ok := cString(b, at)
		if !ok {
			return "env truncated"
		}
		if isApple(s, appleKeys) {
			a.state, a.complete = argsEmpty, true
			return ""
		}
		a.titled = true
	}
	return a.entries(b, at)
}

// entries reads up to an empty string, or to apple[] where nothing separates it:
// that begins aligned.
func (a *procargs) entries(b []byte, at int) (why string) {
	for at < len(b) {
		s, next, ok := cString(b, at)
		switch {
		case !ok:
			return "env truncated"
		case len(s) == 0:
			return a.end(b, at)
		case (at-4)%procargsAlign == 0 && isApple(s, appleKeys) && !isApple(s, userKeys):
			return a.end(b, at)
		}
		a.env, at = append(a.env, s), next
	}
	return "no apple strings" // a restricted process whose argv[0] is empty shows one entry and ends
}

// end is complete where apple[] follows; an empty entry hides what is behind it.
func (a *procargs) end(b []byte, at int) (why string) {
	at = skipZero(b, at)
	s, _, ok := cString(b, at)
	if !ok {
		return "no apple strings"
	}
	a.state, a.complete = argsPresent, isApple(s, appleKeys)
	if len(a.env) == 0 {
		a.state = argsEmpty
	}
	return ""
}

// cString is the NUL-terminated string at an offset.
func cString(b []byte, at int) (s []byte, next int, ok bool) {
	end := bytes.IndexByte(b[at:], 0)
	if end < 0 {
		return nil, at, false
	}
	return b[at : at+end], at + end + 1, true
}

func skipZero(b []byte, at int) int {
	for at < len(b) && b[at] == 0 {
		at++
	}
	return at
}

func zero(b []byte) bool { return skipZero(b, 0) == len(b) }

// isApple says whether the string is KEY=… with one of the keys.
func isApple(s []byte, keys []string) bool {
	key, _, found := bytes.Cut(s, []byte("="))
	return found && slices.Contains(keys, string(key))
}

// command is the argument list as a rule sees it, and whether it is a title.
func (a *procargs) command() (argv []string, titled bool) {
	if len(a.argv) == 0 {
		return nil, false
	}
	padded := len(a.argv) > 1 && strings.Join(a.argv[1:], "") == ""
	if a.titled || a.swallowed() || padded && strings.ContainsAny(a.argv[0], " \t") {
		return strings.Fields(a.argv[0]), true
	}
	return a.argv, false
}

// swallowed says whether entries of the environment stand among the arguments, where
// they must not be shown and are not found. A title that leaves fewer NULs behind it
// than there were arguments lets argc count them: the name is not the program's then,
// and behind the NULs there are assignments alone.
func (a *procargs) swallowed() bool {
	if len(a.argv) == 0 || lastPart(strings.TrimPrefix(a.argv[0], "-")) == lastPart(a.path) {
		return false
	}
	rest := a.argv[1:]
	for len(rest) > 0 && rest[0] == "" {
		rest = rest[1:]
	}
	return len(rest) > 0 && !slices.ContainsFunc(rest, func(s string) bool { return !isAssignment(s) })
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func isAssignment(s string) bool {
	name, _, found := strings.Cut(s, "=")
	return found && name != "" && !strings.ContainsAny(name, "/-. ")
}

// entries keeps the wanted variables of a list of entries, as scan does of a block.
func (w *wanted) entries(env [][]byte) []Var {
	var vars []Var
	for _, entry := range env {
		name, value, found := bytes.Cut(entry, []byte("="))
		if found && len(name) > 0 && w.first[name[0]] && slices.Contains(w.names, string(name)) {
			vars = append(vars, Var{string(name), string(value)})
		}
	}
	return vars
}
