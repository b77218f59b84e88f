package match

import "reaper/platform"

// FactKind is a question that no census answers by itself.
type FactKind string

const (
	FactRunning FactKind = "running" // PID: does its holder run? Answered in Live
	FactLinks   FactKind = "links"   // Path: where its parts lead. Answered in Links
	FactGone    FactKind = "gone"    // Process, Path: is it missing as the process sees it? Answered in Is
	FactMemory  FactKind = "memory"  // Process: PSS and swapped PSS. Answered in Is (Yes: known) and Bytes
	FactMainPID FactKind = "mainpid" // Process: is it its service manager's own main process? Answered in Is
	FactProgram FactKind = "program" // Process, Path: does its executable file have that name? Answered in Is
	FactPipes   FactKind = "pipes"   // Process: of which pipes are its standard streams? Answered in Is (Yes: known) and Pipes
	FactClock   FactKind = "clock"   // Process: does it read start tokens by the sweep's own clock? Answered in Is
	FactOlder   FactKind = "older"   // Process, PID: was its environment given to it before the holder of PID was born? Answered in Is, Yes or Unknown
)

// Fact is one question, comparable, so that it can be a key.
type Fact struct {
	Kind    FactKind
	PID     int
	Process platform.Identity
	Path    string
}

// Known is the answer to a Fact; which fields count depends on its kind.
type Known struct {
	Is    platform.Answer
	Live  platform.Liveness
	Links []platform.Link
	Bytes uint64
	Pipes [3]uint64 // inodes by descriptor, 0 for what is no pipe
}

// Facts holds what has been answered so far in this reading.
type Facts map[Fact]Known

// Reason says why a matched process is spared, in the words of the JSON document.
type Reason string

const (
	ParentRunning    Reason = "parent-running"
	PossiblyRecycled Reason = "possibly-recycled"
	NotAdopted       Reason = "not-adopted"
	Owned            Reason = "owned"
	TooYoung         Reason = "too-young"
	HostsLiveWork    Reason = "hosts-live-work"
	Protected        Reason = "protected"
	Service          Reason = "service"
	OnTerminal       Reason = "on-terminal"
	Sweeper          Reason = "sweeper"
	OtherUser        Reason = "other-user"
	OtherNamespace   Reason = "other-namespace"
	EnvUnreadable    Reason = "environment-unreadable"
	UnknownReason    Reason = "unknown"
	Undecided        Reason = "undecided"
)
