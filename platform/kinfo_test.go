package platform

import (
	"encoding/binary"
	"testing"
)

// record builds a kinfo_proc as the kernel fills one.
type record struct {
	sec             uint64
	usec, flags     uint32
	stat            byte
	pid, ppid, pgid int32
	uid, ruid       uint32
	tty, foreground int32
	comm            string
}

func (r record) bytes() []byte {
	b := make([]byte, 648)
	put := func(at int, v uint32) { binary.LittleEndian.PutUint32(b[at:], v) }
	binary.LittleEndian.PutUint64(b[0:], r.sec)
	put(8, r.usec)
	put(32, r.flags)
	b[36] = r.stat
	put(40, uint32(r.pid))
	copy(b[243:260], r.comm)
	put(392, r.ruid)
	put(420, r.uid)
	put(560, uint32(r.ppid))
	put(564, uint32(r.pgid))
	put(572, uint32(r.tty))
	put(576, uint32(r.foreground))
	return b
}

func live() record {
	return record{sec: 1764530855, usec: 123456, flags: 0x4004, stat: 3, pid: 812, ppid: 1, pgid: 812,
		uid: 501, ruid: 501, tty: -1, foreground: 0, comm: "node"}
}

func TestParseKinfo(t *testing.T) {
	const start = 1764530855123456
	plain := kinfo{pid: 812, ppid: 1, pgid: 812, uid: 501, ruid: 501, state: 3, flags: 0x4004, start: start, comm: "node"}
	for name, c := range map[string]struct {
		change func(*record)
		want   func(*kinfo)
		row    func(*Process) bool
	}{
		"live":    {func(*record) {}, func(*kinfo) {}, func(p *Process) bool { return !p.Exited() && !p.Ending && p.State == 'S' && p.TTY == 0 }},
		"zombie":  {func(r *record) { r.stat = 5 }, func(k *kinfo) { k.state = 5 }, func(p *Process) bool { return p.Exited() && !p.Ending }},
		"stopped": {func(r *record) { r.stat = 4 }, func(k *kinfo) { k.state = 4 }, (*Process).Stopped},
		"exiting": {func(r *record) { r.flags = 0x2000 }, func(k *kinfo) { k.flags = 0x2000 }, func(p *Process) bool { return p.Ending && !p.Exited() }},
		"exited and still flagged so": {func(r *record) { r.flags, r.stat = 0x2000, 5 }, func(k *kinfo) { k.flags, k.state = 0x2000, 5 },
			func(p *Process) bool { return !p.Ending && p.Exited() }},
		"its group is gone": {func(r *record) { r.pgid = 0 }, func(k *kinfo) { k.pgid = 0 }, func(p *Process) bool { return p.PGID == 0 }},
		"set-user-id":       {func(r *record) { r.uid = 0 }, func(k *kinfo) { k.uid = 0 }, func(p *Process) bool { return p.UID == 0 }},
		"nobody is -2":      {func(r *record) { r.uid = 0xfffffffe }, func(k *kinfo) { k.uid = 0xfffffffe }, func(p *Process) bool { return p.UID == 4294967294 }},
		"on a terminal": {func(r *record) { r.tty, r.foreground = 0x10000003, 812 }, func(k *kinfo) { k.tty, k.foreground = 0x10000003, 812 },
			func(p *Process) bool { return p.TTY != 0 && p.Foreground == 812 }},
		"a name of 16 bytes": {func(r *record) { r.comm = "0123456789abcdef" }, func(k *kinfo) { k.comm = "0123456789abcdef" },
			func(p *Process) bool { return p.Program() == "0123456789abcdef" }},
		"takes no signals": {func(r *record) { r.flags = 0x200 }, func(k *kinfo) { k.flags = 0x200 }, func(p *Process) bool { return p.Kernel }},
	} {
		t.Run(name, func(t *testing.T) {
			r, want := live(), plain
			c.change(&r)
			c.want(&want)
			got, err := parseKinfo(r.bytes())
			if err != nil || got != want {
				t.Fatalf("%+v, %v\nwant %+v", got, err, want)
			}
			if row := got.row(); !c.row(&row) || row.Start != start || row.Namespace != Yes || row.Threads != 1 {
				t.Errorf("row %+v", row)
			}
		})
	}
}

func TestParseKinfoRefuses(t *testing.T) {
	noStart, oddStart := live(), live()
	noStart.sec, noStart.usec = 0, 0
	oddStart.usec = 1_000_000
	for name, b := range map[string][]byte{
		"a byte less": live().bytes()[:647], "a byte more": append(live().bytes(), 0), "nothing": {},
		"no start": noStart.bytes(), "more than a second of µs": oddStart.bytes(),
	} {
		if k, err := parseKinfo(b); err == nil {
			t.Errorf("%s: %+v", name, k)
		}
	}
}

func TestParseKinfos(t *testing.T) {
	kernel, second, blank := live(), live(), live()
	kernel.pid, second.pid, blank.pid, blank.sec = 0, 90000, 7, 0
	blank.usec = 0
	var all []byte
	for _, r := range []record{live(), kernel, second, blank} {
		all = append(all, r.bytes()...)
	}
	got, err := parseKinfos(all)
	if err != nil || len(got) != 3 || got[0].pid != 812 || got[1].pid != 90000 {
		t.Fatalf("%+v, %v", got, err)
	}
	if row := got[2].row(); row.PID != 7 || row.Start != 0 || row.Env != EnvUnreadable || row.UID != -1 || row.Namespace == Yes {
		t.Errorf("without a start: %+v", row)
	}
	if _, err := parseKinfos(all[:len(all)-1]); err == nil {
		t.Error("a table cut short was read")
	}
}

func FuzzKinfo(f *testing.F) {
	f.Add(live().bytes())
	f.Add(append(live().bytes(), live().bytes()...))
	f.Fuzz(func(t *testing.T, b []byte) {
		one, err := parseKinfo(b)
		table, failed := parseKinfos(b)
		if err == nil && (failed != nil || one.pid > 0 && (len(table) != 1 || table[0] != one)) {
			t.Errorf("alone %+v, in a table %+v, %v", one, table, failed)
		}
		for i := range table {
			row := table[i].row()
			if row.PID <= 0 || row.Exited() && row.Ending || row.Start == 0 && row.Env != EnvUnreadable {
				t.Errorf("row %+v", row)
			}
		}
	})
}
