package platform

import (
	"encoding/binary"
	"sync"
	"syscall"
	"testing"
	"time"
)

// scripted is a process table that answers as XNU does.
type scripted struct {
	mu      sync.Mutex
	procs   map[int]*scriptedProc
	refused error // of the table and the records
	asked   int   // records so far
	onAsk   func(asked int)
	sent    []sentSignal
	noted   chan int
	watched map[int]bool
}

type scriptedProc struct {
	record
	sid      int
	args     [][]byte // of one call after another, the last for ever
	argsErr  error
	unique   []byte
	deny     bool // kill(2) answers EPERM
	survives bool // no signal ends it
	late     bool // the note comes before the table shows the exit
}

type sentSignal struct {
	pid int
	sig syscall.Signal
}

// newScripted has a launchd and the reader, pid 50 of user 501.
func newScripted() *scripted {
	k := &scripted{procs: map[int]*scriptedProc{}, noted: make(chan int, 16), watched: map[int]bool{}}
	first := k.add(1, nil)
	first.uid, first.ruid, first.ppid, first.comm, first.sec, first.sid = 0, 0, 0, "launchd", 1, 1
	first.unique = uniqueBytes(unique{id: 1, parent: 0, version: 2})
	k.add(50, nil)
	return k
}

// add puts a child of launchd into the table that carries the entries.
func (k *scripted) add(pid int, env []string, argv ...string) *scriptedProc {
	if len(argv) == 0 {
		argv = []string{"node", "x.js"}
	}
	p := &scriptedProc{record: live(), sid: pid, args: [][]byte{build("/opt/n/node", argv, env, true)}}
	p.pid, p.pgid, p.sec = int32(pid), int32(pid), 1000+uint64(pid)
	k.procs[pid] = p
	return p
}

func (k *scripted) table() ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var b []byte
	for _, p := range k.procs {
		b = append(b, p.bytes()...)
	}
	return b, k.refused
}

func (k *scripted) record(pid int) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.asked++; k.onAsk != nil {
		k.onAsk(k.asked)
	}
	if k.refused != nil {
		return nil, k.refused
	}
	p := k.procs[pid]
	if p == nil {
		return nil, syscall.EIO
	}
	return p.bytes(), nil
}

func (k *scripted) procargs(pid int) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.procs[pid]
	if p == nil || p.stat == xnuZombie || p.argsErr != nil || p.uid != 501 {
		if p != nil && p.argsErr != nil {
			return nil, p.argsErr
		}
		return nil, syscall.EINVAL
	}
	b := p.args[0]
	if len(p.args) > 1 {
		p.args = p.args[1:]
	}
	return b, nil
}

func (k *scripted) session(pid int) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.procs[pid]; p != nil && p.stat != xnuZombie {
		return p.sid, nil
	}
	return 0, syscall.ESRCH
}

func (k *scripted) unique(pid int) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.procs[pid]
	switch {
	case p == nil || p.stat == xnuZombie:
		return nil, syscall.ESRCH
	case p.unique == nil:
		return nil, syscall.EPERM
	}
	return p.unique, nil
}

// kill succeeds on a zombie, and answers EPERM for a group of zombies alone.
func (k *scripted) kill(pid int, sig syscall.Signal) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sent = append(k.sent, sentSignal{pid, sig})
	if pid < 0 {
		return k.killGroup(-pid, sig)
	}
	p := k.procs[pid]
	switch {
	case p == nil:
		return syscall.ESRCH
	case p.deny:
		return syscall.EPERM
	}
	k.end(p, sig)
	return nil
}

func (k *scripted) killGroup(pgid int, sig syscall.Signal) error {
	found, reached := false, false
	for _, p := range k.procs {
		if int(p.pgid) == pgid {
			found = true
			if p.stat != xnuZombie && !p.deny {
				reached = true
				k.end(p, sig)
			}
		}
	}
	switch {
	case reached:
		return nil
	case found:
		return syscall.EPERM
	}
	return syscall.ESRCH
}

func (k *scripted) end(p *scriptedProc, sig syscall.Signal) {
	if sig == 0 || p.stat == xnuZombie || p.survives {
		return
	}
	k.note(p)
	if p.late {
		time.AfterFunc(5*time.Millisecond, func() {
			k.mu.Lock()
			defer k.mu.Unlock()
			p.stat = xnuZombie
		})
		return
	}
	p.stat = xnuZombie
}

func (k *scripted) note(p *scriptedProc) {
	if pid := int(p.pid); k.watched[pid] {
		delete(k.watched, pid)
		k.noted <- pid
	}
}

func (k *scripted) attach(pid int) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.procs[pid]; p == nil || p.stat == xnuZombie {
		return syscall.ESRCH
	}
	k.watched[pid] = true
	return nil
}

func (k *scripted) detach(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.watched, pid)
}

func (k *scripted) next(timeout time.Duration) ([]int, error) {
	select {
	case pid := <-k.noted:
		return []int{pid}, nil
	case <-time.After(timeout):
		return nil, nil
	}
}

func uniqueBytes(u unique) []byte {
	b := make([]byte, uniqueSize)
	binary.LittleEndian.PutUint64(b[16:], u.id)
	binary.LittleEndian.PutUint64(b[24:], u.parent)
	binary.LittleEndian.PutUint32(b[32:], u.version)
	binary.LittleEndian.PutUint32(b[36:], u.parentVersion)
	return b
}

func TestBorn(t *testing.T) {
	launchd := unique{id: 1, version: 2}
	for _, c := range []struct {
		name    string
		u       unique
		release int
		want    Answer
	}{
		{"another process's child, adopted", unique{id: 6000, parent: 5123}, 24, Yes},
		{"launchd's id, which an exec after the adoption shows as well", unique{id: 6000, parent: 1}, 24, Unknown},
		{"launchd's id, where exec leaves that alone", unique{id: 6000, parent: 1}, 21, No},
		{"launchd's id, and the release is not known", unique{id: 6000, parent: 1}, 0, Unknown},
		{"launchd's id after an exec, the first parent another", unique{id: 6000, parent: 1, parentVersion: 812}, 24, Yes},
		{"launchd's id, and a first parent from before launchd executed itself", unique{id: 6000, parent: 1, parentVersion: 1}, 24, Unknown},
		{"another's id, and launchd's version as first parent", unique{id: 6000, parent: 5123, parentVersion: 2}, 24, No},
		{"launchd's id, and it was the first parent", unique{id: 6000, parent: 1, parentVersion: 2}, 24, No},
	} {
		if got := born(c.u, launchd, c.release); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// Guards that a holder is taken for a later process than the one that a value meant
// only where a witness was forked between the exec that gave the value and it.
func TestShows(t *testing.T) {
	follower, holder := unique{id: 100, version: 500, parentVersion: 40}, unique{id: 300, version: 900, parentVersion: 20}
	for _, c := range []struct {
		name    string
		witness unique
		change  func(u, h *unique)
		want    bool
	}{
		{"a child of the follower's program, older than the holder", unique{id: 200, parentVersion: 500}, nil, true},
		{"a child of a program that was executed after the follower's", unique{id: 200, parentVersion: 600}, nil, true},
		{"the holder itself, child of such a program", unique{id: 300, parentVersion: 600}, nil, true},
		{"a child of a program that was executed before", unique{id: 200, parentVersion: 499}, nil, false},
		{"younger than the holder", unique{id: 301, parentVersion: 600}, nil, false},
		{"the follower has executed another program since", unique{id: 200, parentVersion: 600}, func(u, _ *unique) { u.version = 950 }, false},
		{"the kernel does not tell the first parent's version", unique{id: 200}, nil, false},
		{"nor the follower's", unique{id: 200, parentVersion: 600}, func(u, _ *unique) { u.version = 0 }, false},
		{"a follower younger than the holder, as versions deny", unique{id: 200, parentVersion: 600}, func(u, _ *unique) { u.id = 400 }, false},
		{"a version that has passed zero", unique{id: 200, parentVersion: 1 << 31}, nil, false},
		{"so many forks that versions may come again", unique{id: 200, parentVersion: 600}, func(_, h *unique) { h.id = 1 << 30 }, false},
	} {
		u, h := follower, holder
		if c.change != nil {
			c.change(&u, &h)
		}
		if got := c.witness.shows(u, h); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestParseUnique(t *testing.T) {
	whole := unique{id: 6000, parent: 5123, version: 77, parentVersion: 12}
	if got, err := parseUnique(uniqueBytes(whole)); err != nil || got != whole {
		t.Errorf("%+v, %v", got, err)
	}
	for name, b := range map[string][]byte{"short": uniqueBytes(whole)[:40], "long": append(uniqueBytes(whole), 0), "nothing": nil, "no id": make([]byte, 56)} {
		if got, err := parseUnique(b); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
