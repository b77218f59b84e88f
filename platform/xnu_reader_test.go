package platform

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"
)

func (k *scripted) reader() *xnuReader {
	return &xnuReader{kernel: k, pid: 50, uid: 501, release: 24, stall: 50 * time.Millisecond}
}

var markOnly = Query{Names: []string{"MARK"}}

// inspected is the census after all three passes over every process.
func (k *scripted) inspected(t *testing.T) *Census {
	t.Helper()
	return k.inspectedBy(t, k.reader())
}

func (k *scripted) inspectedBy(t *testing.T, r *xnuReader) *Census {
	t.Helper()
	c, err := r.Scan(context.Background(), markOnly)
	if err == nil {
		err = r.Survey(context.Background(), c, markOnly)
	}
	if err != nil {
		t.Fatal(err)
	}
	r.Inspect(context.Background(), c, pidsOf(c), markOnly)
	return c
}

func pidsOf(c *Census) []int {
	var pids []int
	for i := range c.Processes {
		pids = append(pids, c.Processes[i].PID)
	}
	return pids
}

func (c *Census) get(pid int) Process {
	if at, ok := c.find(pid); ok {
		return c.Processes[at]
	}
	return Process{}
}

func TestXNUReader(t *testing.T) {
	mark := []string{"HOME=/h", "MARK=4242"}
	vars := []Var{{"MARK", "4242"}}
	restricted := []byte("\x02\x00\x00\x00/bin/sleep\x00\x00\x00\x00\x00\x00sleep\x0060\x00")
	for _, c := range []struct {
		name    string
		process func(p *scriptedProc)
		env     []string
		state   EnvState
		vars    []Var
		more    func(p *Process) bool
		counts  Counts // beside launchd's environment, which is another user's
	}{
		{"marked", nil, mark, EnvPresent, vars,
			func(p *Process) bool {
				return p.Detailed && p.SID == 60 && p.Comm == "node" && slices.Equal(p.Argv, []string{"node", "x.js"}) && p.Doubtful == ""
			}, Counts{}},
		{"unmarked", nil, []string{"HOME=/h"}, EnvPresent, nil, nil, Counts{}},
		{"empty", nil, nil, EnvOverwritten, nil, nil, Counts{Overwritten: 1}},
		{"withheld", func(p *scriptedProc) { p.args[0] = restricted }, mark, EnvWithheld, nil,
			func(p *Process) bool { return slices.Equal(p.Argv, []string{"sleep", "60"}) && p.Detailed }, Counts{Withheld: 1}},
		{"another user's", func(p *scriptedProc) { p.uid = 0 }, mark, EnvUnreadable, nil,
			func(p *Process) bool { return p.UID == 0 && p.Argv == nil && p.Detailed }, Counts{Unreadable: 1}},
		{"a zombie", func(p *scriptedProc) { p.stat = 5 }, mark, EnvOverwritten, nil, (*Process).Exited, Counts{}},
		{"exiting, its map cannot be copied", func(p *scriptedProc) { p.flags, p.argsErr = xnuExiting, syscall.EIO }, mark, EnvUnreadable, nil,
			func(p *Process) bool { return p.Ending }, Counts{Unreadable: 1}},
		{"a record of another layout", func(p *scriptedProc) { p.args[0] = []byte("\x01\x00\x00\x00s\x00--p=1\x00\x00") }, mark, EnvUnreadable, nil, nil, Counts{Unreadable: 1}},
		{"the record of an exec under way, whole the second time", func(p *scriptedProc) {
			p.args = [][]byte{[]byte("\x03\x00\x00\x00s\x00--p=1"), p.args[0], []byte("\x03\x00\x00\x00s\x00--p=1"), p.args[0]}
		}, mark, EnvPresent, vars, nil, Counts{}},
		{"an empty entry hides what stands behind it", func(p *scriptedProc) {
			p.args[0] = build("/opt/n/node", []string{"node"}, []string{"MARK=4242", "", "MARK=4243"}, true)
		},
			nil, EnvPresent, vars, func(p *Process) bool { return p.Doubtful == doubtHidden }, Counts{}},
		{"a title as long as the arguments swallows the first entry", func(p *scriptedProc) {
			p.args[0] = []byte("\x02\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00npm run\x00MARK=4243\x00MARK=4242\x00\x00\x00\x00\x00\x00ptr_munge=\x00th_port=\x00")
		}, nil, EnvPresent, vars, func(p *Process) bool {
			return p.Doubtful == doubtHidden && p.Titled && slices.Equal(p.Argv, []string{"npm", "run"})
		}, Counts{}},
		{"no start", func(p *scriptedProc) { p.sec, p.usec = 0, 0 }, mark, EnvUnreadable, nil,
			func(p *Process) bool { return p.Start == 0 && !p.Detailed }, Counts{Unreadable: 1}},
		{"a thing that takes no signals", func(p *scriptedProc) { p.flags = xnuSystem }, mark, EnvOverwritten, nil,
			func(p *Process) bool { return p.Kernel }, Counts{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newScripted()
			p := k.add(60, c.env)
			if c.process != nil {
				c.process(p)
			}
			census := k.inspected(t)
			got := census.get(60)
			if got.Env != c.state || !slices.Equal(got.Vars, c.vars) || c.more != nil && !c.more(&got) {
				t.Errorf("%+v", got)
			}
			c.counts.Processes, c.counts.Unreadable = 3, c.counts.Unreadable+1
			c.counts.Overwritten++ // the reader's own
			if census.Counts != c.counts || census.Cut {
				t.Errorf("counts %+v, want %+v", census.Counts, c.counts)
			}
		})
	}
}

func TestXNUReaderOfOneWhosePidIsUsedAgain(t *testing.T) {
	for asked := 1; asked <= 6; asked++ {
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			k := newScripted()
			k.add(60, []string{"MARK=4242"})
			k.onAsk = func(n int) {
				if n == asked {
					k.add(60, nil).sec = 5000
				}
			}
			if got := k.inspected(t).get(60); len(got.Vars) > 0 && got.Start != 1060123456 {
				t.Errorf("the variables of one process with the start of another: %+v", got)
			}
		})
	}
}

func TestXNUReaderOfOneThatVanishes(t *testing.T) {
	k := newScripted()
	k.add(60, []string{"MARK=4242"})
	k.onAsk = func(n int) { delete(k.procs, 60) }
	if c := k.inspected(t); c.get(60).PID != 0 || c.Counts.Vanished != 1 || c.Counts.Processes != 2 {
		t.Errorf("%+v", c)
	}
}

func TestXNUReaderFindsWhoStartedLaunchdsChildren(t *testing.T) {
	for _, c := range []struct {
		name    string
		process func(p *scriptedProc)
		want    Answer
	}{
		{"no unique ids", func(*scriptedProc) {}, Unknown},
		{"adopted", func(p *scriptedProc) { p.unique = uniqueBytes(unique{id: 9, parent: 5}) }, Yes},
		{"launchd's, or adopted and executed", func(p *scriptedProc) { p.unique = uniqueBytes(unique{id: 9, parent: 1}) }, Unknown},
		{"launchd's", func(p *scriptedProc) { p.unique = uniqueBytes(unique{id: 9, parent: 1, parentVersion: 2}) }, No},
		{"in a session that another leads", func(p *scriptedProc) { p.sid = 40 }, Yes},
		{"in launchd's session", func(p *scriptedProc) { p.sid = 1 }, Unknown},
		{"another's child, in a session that a third one leads", func(p *scriptedProc) { p.ppid, p.sid = 50, 40 }, Unknown},
		{"another's child", func(p *scriptedProc) { p.ppid, p.unique = 50, uniqueBytes(unique{id: 9, parent: 5}) }, Unknown},
		{"a reply of another size", func(p *scriptedProc) { p.unique = make([]byte, 40) }, Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newScripted()
			c.process(k.add(60, []string{"MARK=1"}))
			if got := k.inspected(t).get(60); got.Reparented != c.want {
				t.Errorf("%v, want %v", got.Reparented, c.want)
			}
		})
	}
	t.Run("it has another parent by then", func(t *testing.T) {
		k := newScripted()
		p := k.add(60, nil)
		p.unique = uniqueBytes(unique{id: 9, parent: 5})
		r := k.reader()
		c, err := r.Scan(context.Background(), markOnly)
		if err != nil {
			t.Fatal(err)
		}
		k.onAsk = func(int) { p.ppid = 50 }
		r.Inspect(context.Background(), c, []int{60}, markOnly)
		if got := c.get(60); got.PPID != 50 || got.Reparented != Unknown {
			t.Errorf("parent %d, %v", got.PPID, got.Reparented)
		}
	})
	t.Run("launchd's own is refused", func(t *testing.T) {
		k := newScripted()
		k.add(60, nil).unique = uniqueBytes(unique{id: 9, parent: 5})
		k.procs[1].unique = nil
		if got := k.inspected(t).get(60); got.Reparented != Unknown {
			t.Errorf("%v", got.Reparented)
		}
	})
}

// Guards how often a record in doubt is asked for.
func TestXNUReaderAsksTwice(t *testing.T) {
	whole, cut := build("/opt/n/node", []string{"node"}, []string{"MARK=1"}, true), []byte("\x03\x00\x00\x00s\x00--p=1")
	for _, c := range []struct {
		args [][]byte
		want argsState
	}{{[][]byte{whole, cut}, argsPresent}, {[][]byte{cut, whole}, argsPresent}, {[][]byte{cut, cut, whole}, argsUnknown}} {
		k := newScripted()
		p := k.add(60, nil)
		p.args = c.args
		row := p.kinfo(t).row()
		if got := k.reader().arguments(&row); got.state != c.want {
			t.Errorf("%d records: %s, want %s", len(c.args), got.state, c.want)
		}
	}
}

func (p *scriptedProc) kinfo(t *testing.T) *kinfo {
	k, err := parseKinfo(p.bytes())
	if err != nil {
		t.Fatal(err)
	}
	return &k
}

// Guards the proof that a pid is used again: 60 follows 70, and what has that pid now
// was forked after 60 executed its program, as 80 shows.
func TestXNUOlder(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(k *scripted)
		want   Answer
	}{
		{"a witness", func(*scripted) {}, Yes},
		{"another user's witness", func(k *scripted) { k.procs[80].uid = 0 }, Yes},
		{"no witness", func(k *scripted) { delete(k.procs, 80) }, Unknown},
		{"a witness that exited", func(k *scripted) { k.procs[80].stat = xnuZombie }, Unknown},
		{"the holder's unique id is refused", func(k *scripted) { k.procs[70].unique = nil }, Unknown},
		{"the follower's is", func(k *scripted) { k.procs[60].unique = nil }, Unknown},
		{"before 15.4", func(k *scripted) {
			for _, p := range k.procs {
				clear(p.unique[36:40])
			}
		}, Unknown},
		{"versions that are something else", func(k *scripted) { k.procs[50].unique = uniqueBytes(unique{id: 400, version: 700, parentVersion: 700}) }, Unknown},
		{"another has the follower's pid", func(k *scripted) { k.procs[60].sec++ }, Unknown},
		{"the follower has exited", func(k *scripted) { k.procs[60].stat = xnuZombie }, Unknown},
		{"the table is refused", func(k *scripted) { k.refused = syscall.EPERM }, Unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newScripted()
			id := Identity{60, 1060123456}
			k.procs[50].unique = uniqueBytes(unique{id: 400, parent: 1, version: 700, parentVersion: 650})
			k.add(60, []string{"MARK=70"}).unique = uniqueBytes(unique{id: 100, parent: 90, version: 500, parentVersion: 40})
			k.add(70, nil).unique = uniqueBytes(unique{id: 300, parent: 1, version: 900, parentVersion: 2})
			k.add(80, nil).unique = uniqueBytes(unique{id: 200, parent: 100, version: 510, parentVersion: 500})
			c.script(k)
			if got := k.reader().Older(id, 70); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

func TestXNUReaderDoubtsTitles(t *testing.T) {
	args := func(env string) []byte {
		return []byte("\x04\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00npm run dev\x00\x00\x00\x00\x00\x00\x00" + env + "\x00\x00\x00\x00ptr_munge=\x00th_port=\x00")
	}
	titled := func(k *scripted, pid int) *scriptedProc {
		p := k.add(pid, nil)
		p.args[0] = args("MARK=4242")
		return p
	}
	for _, c := range []struct {
		name   string
		script func(k *scripted, p *scriptedProc)
		doubt  bool
	}{
		{"alone", func(*scripted, *scriptedProc) {}, true},
		{"adopted", func(_ *scripted, p *scriptedProc) { p.unique = uniqueBytes(unique{id: 9, parent: 5}) }, false},
		{"its child carries the value", func(k *scripted, _ *scriptedProc) { k.add(61, []string{"MARK=4242"}).ppid = 60 }, false},
		{"its child carries another", func(k *scripted, _ *scriptedProc) { k.add(61, []string{"MARK=4243"}).ppid = 60 }, true},
		{"a member of its group does", func(k *scripted, _ *scriptedProc) { k.add(61, []string{"MARK=4242"}).pgid = 60 }, false},
		{"a stranger does", func(k *scripted, _ *scriptedProc) { k.add(61, []string{"MARK=4242"}) }, true},
		{"a member of its session does", func(k *scripted, _ *scriptedProc) { k.add(61, []string{"MARK=4242"}).sid = 60 }, false},
		{"its parent does", func(k *scripted, p *scriptedProc) { k.add(61, []string{"MARK=4242"}); p.ppid = 61 }, false},
		{"its child does, behind a title of its own", func(k *scripted, _ *scriptedProc) { titled(k, 61).ppid = 60 }, true},
		{"adopted, and an empty entry hides the rest", func(_ *scripted, p *scriptedProc) {
			p.unique, p.args[0] = uniqueBytes(unique{id: 9, parent: 5}), args("MARK=4242\x00\x00MARK=4243")
		}, true},
		{"its child carries one of two", func(k *scripted, p *scriptedProc) {
			k.add(61, []string{"MARK=4242"}).ppid = 60
			p.args[0] = args("MARK=4242\x00MARK=4243")
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newScripted()
			c.script(k, titled(k, 60))
			got := k.inspected(t).get(60)
			if (got.Doubtful != "") != c.doubt || !got.Titled || !slices.Contains(got.Vars, Var{"MARK", "4242"}) || !slices.Equal(got.Argv, []string{"npm", "run", "dev"}) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// spoken is a reading by other means.
type spoken struct{ passes []string }

func (s *spoken) Scan(context.Context, Query) (*Census, error) {
	s.passes = append(s.passes, "scan")
	return &Census{Processes: []Process{{PID: 50, Doubtful: "spoken"}}}, nil
}

func (s *spoken) Survey(context.Context, *Census, Query) error {
	s.passes = append(s.passes, "survey")
	return nil
}

func (s *spoken) Inspect(context.Context, *Census, []int, Query) {
	s.passes = append(s.passes, "inspect")
}

func TestXNUReaderFallsBack(t *testing.T) {
	k, s := newScripted(), &spoken{}
	k.refused = syscall.EPERM
	r := k.reader()
	r.text = s
	c := k.inspectedBy(t, r)
	if !slices.Equal(s.passes, []string{"scan", "survey", "inspect"}) || c.get(50).Doubtful == "" {
		t.Errorf("%q, %+v", s.passes, c)
	}
}

func TestXNUReaderWithoutATable(t *testing.T) {
	for name, script := range map[string]func(*scripted){
		"another error":      func(k *scripted) { k.refused = syscall.ENOMEM },
		"empty":              func(k *scripted) { k.procs = nil },
		"without the reader": func(k *scripted) { delete(k.procs, 50) },
	} {
		k := newScripted()
		script(k)
		if _, err := k.reader().Scan(context.Background(), markOnly); err == nil {
			t.Errorf("%s: a reading", name)
		}
	}
}

func TestXNULiveness(t *testing.T) {
	k := newScripted()
	k.add(60, nil)
	k.add(61, nil).stat = xnuZombie
	for pid, want := range map[int]Liveness{
		60: {Running: Yes, Start: 1060123456}, 61: {Running: No}, 62: {Running: No}, 100000: {Running: No}, 0: {}, -5: {},
	} {
		if got := k.reader().Liveness(pid); got != want {
			t.Errorf("%d: %+v, want %+v", pid, got, want)
		}
	}
	k.refused = syscall.EPERM
	for pid, want := range map[int]Liveness{60: {}, 61: {}, 62: {Running: No}} {
		if got := k.reader().Liveness(pid); got != want {
			t.Errorf("refused, %d: %+v, want %+v", pid, got, want)
		}
	}
}

func TestXNUReaderIsCutShort(t *testing.T) {
	k := newScripted()
	k.add(60, []string{"MARK=1"})
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	c, err := k.reader().Scan(ended, markOnly)
	if err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if row := c.get(60); c.Cut && row.Env == EnvPresent && row.Vars == nil || row.Start == 0 {
		t.Errorf("%+v", row)
	}
}
