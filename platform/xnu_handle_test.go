package platform

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"
)

func (k *scripted) handles() *xnuHandles {
	return &xnuHandles{kernel: k, notes: k, group: 50, held: map[int][]*xnuHandle{}}
}

func (k *scripted) hold(t *testing.T, hs *xnuHandles, pid int) *xnuHandle {
	t.Helper()
	h, err := hs.open(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// change lets a script change the table.
func (k *scripted) change(do func()) {
	k.mu.Lock()
	defer k.mu.Unlock()
	do()
}

func TestXNUHandleOpens(t *testing.T) {
	k := newScripted()
	k.add(60, nil)
	k.add(61, nil).stat = xnuZombie
	hs := k.handles()
	for pid, want := range map[int]bool{60: false, 61: true} {
		if exited, err := k.hold(t, hs, pid).Exited(); err != nil || exited != want {
			t.Errorf("%d: exited %v, %v", pid, exited, err)
		}
	}
	for _, pid := range []int{62, 100000, 1 << 40} {
		if _, err := hs.open(pid); !errors.Is(err, ErrGone) {
			t.Errorf("%d: %v", pid, err)
		}
	}
	for _, pid := range []int{0, -1} {
		if _, err := hs.open(pid); err == nil || errors.Is(err, ErrGone) {
			t.Errorf("%d: %v", pid, err)
		}
	}
	if len(hs.held) != 2 || !k.watched[60] {
		t.Errorf("%d held, watched %v", len(hs.held), k.watched)
	}
}

func TestXNUHandleSignals(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(k *scripted, p *scriptedProc)
		want   error
		sent   int
	}{
		{"runs", func(*scripted, *scriptedProc) {}, nil, 1},
		{"a zombie, on which kill(2) would succeed", func(_ *scripted, p *scriptedProc) { p.stat = xnuZombie }, ErrGone, 0},
		{"gone", func(k *scripted, _ *scriptedProc) { delete(k.procs, 60) }, ErrGone, 0},
		{"another has the pid", func(k *scripted, _ *scriptedProc) { k.add(60, nil).sec = 5000 }, ErrGone, 0},
		{"another of the same second", func(_ *scripted, p *scriptedProc) { p.usec++ }, ErrGone, 0},
		{"denied", func(_ *scripted, p *scriptedProc) { p.deny = true }, ErrDenied, 1},
		{"the table is refused", func(k *scripted, _ *scriptedProc) { k.refused = syscall.EPERM }, syscall.EPERM, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newScripted()
			p := k.add(60, nil)
			h := k.hold(t, k.handles(), 60)
			k.change(func() { c.script(k, p) })
			if err := h.Signal(syscall.SIGTERM); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) || len(k.sent) != c.sent {
				t.Errorf("%v, sent %v", err, k.sent)
			}
		})
	}
	k := newScripted()
	if err := k.hold(t, k.handles(), 1).Signal(syscall.SIGKILL); err == nil || len(k.sent) > 0 {
		t.Errorf("pid 1: %v, sent %v", err, k.sent)
	}
}

func TestXNUSignalGroup(t *testing.T) {
	member := func(k *scripted, pid int) *scriptedProc {
		p := k.add(pid, nil)
		p.pgid = 60
		return p
	}
	for _, c := range []struct {
		name   string
		pgid   int
		script func(k *scripted)
		want   error
	}{
		{"all live", 60, func(k *scripted) { member(k, 60); member(k, 61) }, nil},
		{"one live", 60, func(k *scripted) { member(k, 60).stat = xnuZombie; member(k, 61) }, nil},
		{"zombies alone", 60, func(k *scripted) { member(k, 60).stat = xnuZombie; member(k, 61).stat = xnuZombie }, ErrGone},
		{"no right on any", 60, func(k *scripted) { member(k, 60).deny = true }, ErrDenied},
		{"no right on the one that lives", 60, func(k *scripted) { member(k, 60).stat = xnuZombie; member(k, 61).deny = true }, ErrDenied},
		{"zombies, and one of which nothing can be read", 60, func(k *scripted) {
			member(k, 60).stat = xnuZombie
			p := k.add(70, nil)
			p.sec, p.usec = 0, 0
		}, ErrDenied},
		{"no group", 60, func(*scripted) {}, ErrGone},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newScripted()
			c.script(k)
			if err := k.handles().signalGroup(c.pgid, syscall.SIGTERM); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
	for _, pgid := range []int{0, 1, -1, 50, 100000} {
		k := newScripted()
		if err := k.handles().signalGroup(pgid, syscall.SIGTERM); err == nil || len(k.sent) > 0 {
			t.Errorf("group %d: %v, sent %v", pgid, err, k.sent)
		}
	}
}

func TestXNUWait(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(k *scripted, p *scriptedProc) // in the middle of the wait
		exits  bool
	}{
		{"exits", func(k *scripted, p *scriptedProc) { p.stat = xnuZombie; k.note(p) }, true},
		{"the table is behind the note", func(k *scripted, p *scriptedProc) { p.late = true; k.end(p, syscall.SIGTERM) }, true},
		{"is waited for at once", func(k *scripted, p *scriptedProc) { k.note(p); delete(k.procs, 60) }, true},
		{"another takes the pid at once", func(k *scripted, p *scriptedProc) { k.note(p); k.add(60, nil).sec = 5000 }, true},
		{"is traced, no note comes", func(_ *scripted, p *scriptedProc) { p.stat = xnuZombie }, true},
		{"lives", func(*scripted, *scriptedProc) {}, false},
		{"a note that is not true", func(k *scripted, p *scriptedProc) { k.note(p) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			k := newScripted()
			p := k.add(60, nil)
			k.add(61, nil).stat = xnuZombie
			hs := k.handles()
			list := []*xnuHandle{k.hold(t, hs, 60), k.hold(t, hs, 61)}
			time.AfterFunc(20*time.Millisecond, func() { k.change(func() { c.script(k, p) }) })
			var seen []int
			until, want := time.Now().Add(600*time.Millisecond), []int{1}
			if c.exits {
				until, want = time.Now().Add(time.Minute), []int{1, 0}
			}
			err := hs.wait(context.Background(), list, until, func(i int, _ time.Time) { seen = append(seen, i) })
			if early := time.Now().Before(until); err != nil || !slices.Equal(seen, want) || early != c.exits {
				t.Errorf("%v, saw %v, before the time is over: %v", err, seen, early)
			}
		})
	}
}

// Guards that a note leads to a look at once, and that between two looks at all
// nothing else is asked.
func TestXNUNotes(t *testing.T) {
	k := newScripted()
	hs := k.handles()
	var list []*xnuHandle
	for pid := 60; pid < 63; pid++ {
		k.add(pid, nil)
		list = append(list, k.hold(t, hs, pid))
	}
	k.change(func() { k.procs[61].stat = xnuZombie; k.note(k.procs[62]); delete(k.procs, 62); k.asked = 0 })
	if err := hs.listen(time.Minute); err != nil {
		t.Fatal(err)
	}
	var seen []int
	exited := func(i int, _ time.Time) { seen = append(seen, i) }
	left, err := confirm(list, []int{0, 1, 2}, false, exited)
	if err != nil || !slices.Equal(left, []int{0, 1}) || !slices.Equal(seen, []int{2}) || k.asked != 1 {
		t.Errorf("%v, left %v, saw %v, asked %d times", err, left, seen, k.asked)
	}
	left, err = confirm(list, left, true, exited)
	if err != nil || !slices.Equal(left, []int{0}) || !slices.Equal(seen, []int{2, 1}) || k.asked != 3 {
		t.Errorf("a look at all: %v, left %v, saw %v, asked %d times", err, left, seen, k.asked)
	}
}

func TestXNUWaitEndsEarly(t *testing.T) {
	k := newScripted()
	k.add(60, nil)
	hs := k.handles()
	list := []*xnuHandle{k.hold(t, hs, 60)}
	none := func(i int, _ time.Time) { t.Errorf("%d exited", i) }
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if err := hs.wait(ctx, list, time.Now().Add(time.Hour), none); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := hs.wait(context.Background(), list, time.Now().Add(-time.Second), none); err != nil {
		t.Errorf("a time that has passed: %v", err)
	}
	k.change(func() { k.refused = syscall.EPERM })
	if err := hs.wait(context.Background(), list, time.Now().Add(time.Hour), none); !errors.Is(err, syscall.EPERM) {
		t.Errorf("refused: %v", err)
	}
}

func TestXNUHandlesOnOnePid(t *testing.T) {
	k := newScripted()
	k.add(60, nil)
	hs := k.handles()
	old := k.hold(t, hs, 60)
	k.change(func() { k.note(k.procs[60]); k.add(60, nil).sec = 5000 })
	fresh := k.hold(t, hs, 60)
	if gone, _ := old.Exited(); !gone {
		t.Error("the old one runs")
	}
	old.Close()
	if !k.watched[60] || len(hs.held[60]) != 1 {
		t.Errorf("watched %v, held %d", k.watched, len(hs.held[60]))
	}
	if gone, _ := fresh.Exited(); gone {
		t.Error("the new one does not")
	}
	fresh.Close()
	if k.watched[60] || len(hs.held) != 0 {
		t.Errorf("watched %v, held %v", k.watched, hs.held)
	}
}
