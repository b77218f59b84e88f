package platform

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/shirou/gopsutil/v4/process"
)

// Another reader of the same kernel must see the same process: parent, name,
// arguments, environment, user and resident memory.
func TestAgreesWithGopsutil(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "900")
	cmd.Env = []string{"ORACLE_MARK=42", "OTHER=x"}
	t.Cleanup(func() {
		if cmd.Process != nil {
			cmd.Process.Kill()
			cmd.Wait()
		}
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	r, err := NewReader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	q := Query{Names: []string{"ORACLE_MARK"}}
	c, err := r.Scan(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Survey(context.Background(), c, q); err != nil {
		t.Fatal(err)
	}
	r.Inspect(context.Background(), c, []int{pid}, q)
	at, ok := c.find(pid)
	if !ok {
		t.Fatalf("process %d is not in the census", pid)
	}
	row := c.Processes[at]
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		t.Fatal(err)
	}
	ppid, _ := p.Ppid()
	name, _ := p.Name()
	argv, _ := p.CmdlineSlice()
	environ, _ := p.Environ()
	uids, _ := p.Uids()
	user, _ := p.Username()
	memory, err := p.MemoryInfo()
	if err != nil {
		t.Fatal(err)
	}
	usage := r.Usage([]int{pid})[0]
	for _, check := range []struct {
		what string
		same bool
	}{
		{"parent", row.PPID == int(ppid)},
		{"name", row.Comm == name},
		{"arguments", slices.Equal(row.Argv, argv)},
		{"marker", slices.Contains(environ, "ORACLE_MARK="+strings.Join(row.Values("ORACLE_MARK"), "|"))},
		{"user", len(uids) > 1 && row.UID == int(uids[1]) && usage.User == user},
		{"resident memory", usage.RSS == memory.RSS},
	} {
		if !check.same {
			t.Errorf("%s differs: %+v, %+v", check.what, row, usage)
		}
	}
}
