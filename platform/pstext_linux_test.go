package platform

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// textCensus reads through the real ps.
func textCensus(t *testing.T, names ...string) *Census {
	t.Helper()
	if _, err := exec.LookPath("/bin/ps"); err != nil {
		t.Skip("no /bin/ps")
	}
	r, q := NewTextReader(), Query{Names: names}
	c, err := r.Scan(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Survey(context.Background(), c, q); err != nil {
		t.Fatal(err)
	}
	var pids []int
	for i := range c.Processes {
		pids = append(pids, c.Processes[i].PID)
	}
	r.Inspect(context.Background(), c, pids, q)
	return c
}

func TestTextReaderOnRealProcesses(t *testing.T) {
	long := strings.Repeat("x", 90<<10)
	for _, c := range []struct {
		name      string
		env, args []string
		want      []Var
		state     EnvState
		says      func(p *Process) bool
	}{
		{"marked", []string{"MARK=4242", "OTHER=1"}, []string{"worker", "a"}, []Var{{"MARK", "4242"}}, EnvPresent,
			func(p *Process) bool { return slices.Equal(p.Argv, []string{"worker", "a"}) }},
		{"unmarked", []string{"OTHER=1"}, nil, nil, EnvPresent, nil},
		{"a value with blanks and a newline", []string{"NOTE=see\nhere MARK=7 there"}, nil, []Var{{"MARK", "7"}}, EnvPresent, nil},
		{"an argument is no marker", nil, []string{"worker", "MARK=1"}, nil, EnvPresent, nil},
		{"twice", []string{"MARK=1", "NOTE=see MARK=2 there"}, nil, nil, EnvUnreadable, nil},
		{"arguments of 90 KiB", []string{"MARK=1"}, []string{"worker", long}, []Var{{"MARK", "1"}}, EnvPresent,
			func(p *Process) bool { return len(p.Argv) == 2 && p.Argv[1] == long }},
		// procps ends a line at 128 KiB (OUTBUF_SIZE of its src/ps/output.c).
		{"arguments of 180 KiB", []string{"MARK=1"}, []string{"worker", long, long}, nil, EnvUnreadable, nil},
		{"no argv[0]", []string{"MARK=1"}, []string{"", "x"}, []Var{{"MARK", "1"}}, EnvPresent,
			func(p *Process) bool { return slices.Equal(p.Argv, []string{"x"}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			child := idler(t, c.env, c.args...)
			census := textCensus(t, "MARK")
			at, ok := census.find(child.pid)
			if !ok {
				t.Fatal("not listed")
			}
			p := census.Processes[at]
			if p.Env != c.state || !slices.Equal(p.Vars, c.want) || p.Doubtful == "" || c.says != nil && !c.says(&p) {
				t.Errorf("%.900s", fmt.Sprintf("%+v", p))
			}
			age := uint64(time.Now().UnixMicro()) - p.Start
			if real := rowOf(t, child.pid); p.PPID != real.PPID || p.PGID != real.PGID || p.SID != real.SID || p.UID != real.UID || age > 60e6 {
				t.Errorf("%.900s\nthe kernel says %+v", fmt.Sprintf("%+v", p), real)
			}
		})
	}
}

func rowOf(t *testing.T, pid int) Process {
	t.Helper()
	s := &scratch{}
	got := reading{row: Process{PID: pid}}
	if _, ok := reader(t).fill(s, &got); !ok {
		t.Fatalf("no stat of %d", pid)
	}
	return got.row
}

func TestTextReaderSeesZombiesAndItself(t *testing.T) {
	child := idler(t, []string{"MARK=1"})
	child.exit(t)
	c := textCensus(t, "MARK")
	at, ok := c.find(child.pid)
	if !ok || !c.Processes[at].Exited() || len(c.Processes[at].Vars) > 0 {
		t.Errorf("the zombie: %v, %+v", ok, c.Processes[at])
	}
	if c.Counts.Processes != len(c.Processes) || c.Counts.Processes < 2 {
		t.Errorf("counts %+v of %d", c.Counts, len(c.Processes))
	}
}

func TestTextReaderWithoutAnswer(t *testing.T) {
	for name, path := range map[string]string{"no such program": "/nonexistent/ps", "prints nothing": "/bin/true", "fails": "/bin/false"} {
		r := &TextReader{path: path, width: 24}
		if _, err := r.Scan(context.Background(), Query{}); err == nil {
			t.Errorf("%s: a reading", name)
		}
	}
	hangs, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := NewTextReader().Scan(hangs, Query{}); hangs.Err() != nil && err == nil {
		t.Error("a reading after the deadline")
	}
}
