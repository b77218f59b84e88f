package platform

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// psColumns are asked of ps: words, but for the command, which is the last so that
// nothing cuts it. Apple's ps has no session column (sess prints 0).
const psColumns = "pid=,ppid=,pgid=,uid=,stat=,lstart=,command="

// maxPSLine bounds a line: 1 MiB of arguments and environment become up to 4 by
// the escapes of vis(3).
const maxPSLine = 5 << 20

// doubtText is why nothing that ps prints may be signalled.
const doubtText = "read from ps's text, which cannot be told apart beyond doubt"

// psRow is one line of ps.
type psRow struct {
	pid, ppid, pgid int
	uid             int // -1 where that column was not asked for
	stat            string
	start           uint64 // µs, in whole seconds: two processes may share it
	text            string // command, with the environment behind it if that was asked for
}

// parsePSLine reads one line of `ps -o psColumns` with LC_ALL=C and TZ=UTC. width is
// that of the lstart column, whose text has 24 characters: Apple's ps pads it to
// 28. The command is not trimmed: an empty argv[0] makes it begin with a blank.
func parsePSLine(line string, width int) (psRow, bool) {
	row := psRow{uid: -1}
	for _, field := range []*int{&row.pid, &row.ppid, &row.pgid, &row.uid} {
		word, rest := psWord(line)
		n, ok := psNumber(word)
		if !ok && field == &row.uid {
			break
		}
		if !ok {
			return row, false
		}
		*field, line = n, rest
	}
	if row.stat, line = psWord(line); row.stat == "" || row.pid <= 0 {
		return row, false
	}
	line = strings.TrimLeft(line, " ")
	const stamp = "Mon Jan _2 15:04:05 2006"
	if len(line) < len(stamp) {
		return row, false
	}
	at, err := time.Parse(stamp, line[:len(stamp)])
	if err != nil || at.Unix() <= 0 {
		return row, false
	}
	row.start = uint64(at.Unix()) * 1e6
	if line = line[len(stamp):]; len(line) > width-len(stamp)+1 {
		row.text = line[width-len(stamp)+1:]
	}
	return row, true
}

func psWord(line string) (word, rest string) {
	line = strings.TrimLeft(line, " ")
	if end := strings.IndexByte(line, ' '); end >= 0 {
		return line[:end], line[end:]
	}
	return line, ""
}

func psNumber(word string) (int, bool) {
	if word == "0" {
		return 0, true
	}
	return ParsePID(word)
}

// parsePS reads all lines; what is no row, or too long to be one, is left out.
func parsePS(out []byte, width int) []psRow {
	var rows []psRow
	for line := range bytes.Lines(out) {
		if len(line) > maxPSLine {
			continue
		}
		if row, ok := parsePSLine(string(bytes.TrimSuffix(line, []byte("\n"))), width); ok {
			rows = append(rows, row)
		}
	}
	return rows
}

// pairPS makes rows of two outputs, without and with the environment. They are two
// readings, and may show two processes, or one before and after an exec: the
// command of the one has to begin the other.
func pairPS(plain, full []psRow, want *wanted) []Process {
	with := make(map[Identity]psRow, len(full))
	for _, row := range full {
		with[Identity{row.pid, row.start}] = row
	}
	rows := make([]Process, 0, len(plain))
	for _, row := range plain {
		p := row.process()
		if other, ok := with[p.ID()]; ok && p.Env == EnvUnread {
			p.Vars, p.Env = psEnviron(row.text, other.text, want)
		} else if p.Env == EnvUnread {
			p.Env = EnvUnreadable
		}
		rows = append(rows, p)
	}
	slices.SortFunc(rows, func(a, b Process) int { return a.PID - b.PID })
	return rows
}

// process is what a line tells. A command in brackets, round ones with Apple's ps,
// is the name of a process whose arguments cannot be read.
func (r *psRow) process() Process {
	p := Process{PID: r.pid, PPID: r.ppid, PGID: r.pgid, UID: r.uid, Threads: 1, Start: r.start, State: r.letter(), Foreground: -1,
		Ending: strings.Contains(r.stat[1:], "E"), Namespace: Yes, Doubtful: doubtText}
	name, named := bracketed(r.text)
	switch {
	case p.Exited():
		p.Ending, p.Env = false, EnvOverwritten
	case named || r.text == "":
		p.Comm, p.Env = name, EnvUnreadable
	default:
		p.Argv, p.Titled = strings.Fields(r.text), true
		p.Comm = p.Program()
	}
	return p
}

// letter is the state in the letters of proc_pid_stat(5); U is Apple's for waiting
// without being interruptible, H for halted.
func (r *psRow) letter() byte {
	switch c := r.stat[0]; c {
	case 'U':
		return 'D'
	case 'H':
		return 'S'
	default:
		return c
	}
}

func bracketed(text string) (name string, ok bool) {
	if n := len(text); n > 2 && (text[0] == '(' && text[n-1] == ')' || text[0] == '[' && text[n-1] == ']') {
		return text[1 : n-1], true
	}
	return "", false
}

// psEnviron finds the wanted variables behind the command. A value may hold blanks
// and anything else, so that NOTE="see MARK=1" and a real MARK=1 print alike: what
// is found is a hint. Twice is none. Nothing behind the command is either an empty
// environment or one that was withheld.
func psEnviron(command, full string, want *wanted) ([]Var, EnvState) {
	rest, ok := strings.CutPrefix(full, command)
	if !ok || rest == "" || rest[0] != ' ' {
		return nil, EnvUnreadable
	}
	var vars []Var
	for word := range strings.SplitSeq(rest[1:], " ") {
		name, value, found := strings.Cut(word, "=")
		if !found || !slices.Contains(want.names, name) {
			continue
		}
		if slices.ContainsFunc(vars, func(v Var) bool { return v.Name == name }) {
			return nil, EnvUnreadable
		}
		vars = append(vars, Var{name, value})
	}
	return vars, EnvPresent
}
