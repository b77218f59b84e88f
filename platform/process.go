// Package platform says what the operating system says: the process table,
// each process's command line and environment, whether a process runs, and
// handles to signal one and wait for it. It judges nothing.
package platform

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Answer is a reply that may be missing. Unknown is neither yes nor no and never
// a reason to signal anything.
type Answer int8

const (
	Unknown Answer = iota
	No
	Yes
)

func (a Answer) String() string {
	switch a {
	case No:
		return "no"
	case Yes:
		return "yes"
	}
	return "unknown"
}

// AnswerOf turns a known truth into an Answer.
func AnswerOf(yes bool) Answer {
	if yes {
		return Yes
	}
	return No
}

// Identity names one process for as long as the machine runs: a pid alone is
// used again. Start is the raw start token, on Linux field 22 of
// /proc/PID/stat in clock ticks since boot (proc_pid_stat(5)), on macOS
// p_starttime in µs. It is never derived from the wall clock, which moves.
type Identity struct {
	PID   int
	Start uint64
}

func (id Identity) String() string {
	return fmt.Sprintf("%d@%d", id.PID, id.Start)
}

// EnvState says what is known of a process's environment block.
type EnvState int8

const (
	EnvUnread      EnvState = iota // nobody asked
	EnvPresent                     // read to its end; Vars holds what was asked for
	EnvOverwritten                 // empty, or written over: no NAME=value list any more, or its front is none, and Vars what is left; also kernel threads and zombies
	EnvUnreadable                  // refused, or the read did not come back in time
	EnvWithheld                    // macOS shows the process's arguments and keeps its environment back
)

// Var is one whole NAME=value entry of an environment block.
type Var struct {
	Name, Value string
}

// Process is one row of a Census. Fields that were not read hold their zero
// value, UID -1.
type Process struct {
	PID, PPID, PGID, SID int

	UID        int    // effective user id
	State      byte   // R S D T t Z X I … of proc_pid_stat(5)
	Threads    int    // number of threads
	Start      uint64 // start token, see Identity
	TTY        int    // device number of the controlling terminal, 0 for none
	Foreground int    // process group in the foreground of that terminal, -1 for none
	Kernel     bool   // kernel thread
	Ending     bool   // exit has begun (PF_EXITING): environment and arguments are gone already
	Comm       string // at most 15 bytes on Linux, may hold anything

	Argv      []string // nil: not read, or the process has no command line
	Titled    bool     // the process overwrote its arguments by one title; Argv is that title, split at blanks
	Env       EnvState
	Vars      []Var  // the variables of Query.Names that the block holds, in its order, duplicates included
	Detailed  bool   // Inspect has read it in full; of any other row Argv and the environment say little
	Namespace Answer // whether it lives in the reader's own pid namespace; Unknown before Inspect or where it cannot be told

	Reparented Answer // macOS: whether another process than its present parent, launchd, started it; No: launchd did
	Doubtful   string // why what was read is no proof, so that it may only be reported; "" where it is
}

// ID is the process's identity.
func (p *Process) ID() Identity { return Identity{p.PID, p.Start} }

// Exited says whether the whole thread group has exited. A zombie leader with
// live threads has not: its state is Z while num_threads is above 1.
func (p *Process) Exited() bool {
	return (p.State == 'Z' || p.State == 'X' || p.State == 'x') && p.Threads <= 1
}

// Exiting says whether the leader is a zombie, other threads or not.
func (p *Process) Exiting() bool {
	return p.State == 'Z' || p.State == 'X' || p.State == 'x'
}

// Stopped says whether the process is stopped by a signal or a tracer, so that
// it acts on SIGTERM only once continued.
func (p *Process) Stopped() bool { return p.State == 'T' || p.State == 't' }

// Program is the last part of argv[0], or the comm where there is no command line.
func (p *Process) Program() string {
	if len(p.Argv) == 0 {
		return p.Comm
	}
	name := p.Argv[0]
	return name[strings.LastIndexByte(name, '/')+1:]
}

// Values returns the values of the variable in the order of the block.
func (p *Process) Values(name string) []string {
	var values []string
	for _, v := range p.Vars {
		if v.Name == name {
			values = append(values, v.Value)
		}
	}
	return values
}

// Liveness answers whether the process that holds a pid runs.
type Liveness struct {
	Running Answer
	Start   uint64 // of the holder; 0 where it cannot be read (hidepid)
	Kernel  bool   // the holder is a kernel thread
}

// Of says whether the process with this start token runs, or whether any does
// where that is 0: a pid whose holder has another start has exited.
func (l Liveness) Of(start uint64) Answer {
	switch {
	case l.Running != Yes || start == 0:
		return l.Running
	case l.Start == 0:
		return Unknown
	}
	return AnswerOf(l.Start == start)
}

// Counts says how complete a census is.
type Counts struct {
	Processes      int `json:"processes"`          // in the table
	Unreadable     int `json:"unreadable"`         // environment refused or not read in time
	OtherNamespace int `json:"other_namespace"`    // of another pid namespace, among those that Inspect read
	Overwritten    int `json:"overwritten"`        // environment empty, or written over, if only at its front
	Vanished       int `json:"vanished"`           // gone while they were read
	Withheld       int `json:"withheld,omitempty"` // environment kept back by the kernel, on macOS alone
}

// Census is one reading of the whole process table.
type Census struct {
	Processes []Process // by ascending pid
	Counts    Counts
	Cut       bool   // the deadline, or a want of descriptors or memory, kept it from reading everything
	Began     uint64 // ticks since boot when it began, the unit of Process.Start

	read  []int    // the pids that Scan read, ascending, where it kept rows of a few
	plain int      // how many of these have no row
	env   EnvState // of those
}

// Query says what a census reads beyond the table itself.
type Query struct {
	Names  []string // environment variables whose values are kept
	Detail []string // more of them, that only Inspect needs to look for
	Argv   bool     // the command line of every process, for rules without a marker
	Texts  []string // a first pass keeps command lines that hold one of these; nil: all
}

// all are the names of both kinds.
func (q *Query) all() []string { return slices.Concat(q.Names, q.Detail) }

// System is what stays the same for the whole run.
type System struct {
	PID, PPID, PGID, SID int
	UID                  int
	BootID               string
	Nested               bool // this process lives in a pid namespace below the initial one
	MaxPID               int  // no larger number can be a pid: 1<<22 on Linux, 99999 on macOS
	TicksPerSecond       uint64
}

// ParsePID reads a decimal pid as the kernel prints one: ASCII digits without
// sign, blank or leading zero.
func ParsePID(s string) (int, bool) {
	if s == "" || s[0] == '0' || len(s) > 10 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}
