package platform

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// A process that is not dumpable hides its environment from its own user; its
// directory still tells the owner, where its files say root.
func TestScanRefused(t *testing.T) {
	as := func(cmd *exec.Cmd) {
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		}
	}
	target := helper(t, "guarded", []string{"MARK=1"}, []string{"agent", "-s"}, as)
	target.line(t)
	looker := helper(t, "census", nil, nil, as)
	looker.line(t)
	looker.tell(t, "%d", target.pid)
	var got Process
	if err := json.Unmarshal([]byte(looker.line(t)), &got); err != nil {
		t.Fatal(err)
	}
	uid := os.Geteuid()
	if uid == 0 {
		uid = nobody
	}
	want := Process{PID: target.pid, UID: uid, Env: EnvUnreadable, Argv: []string{"agent", "-s"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestOtherNamespace(t *testing.T) {
	needRoot(t, "make a pid namespace")
	inside := helper(t, "idle", []string{mark + "=1"}, nil, namespaces(syscall.CLONE_NEWPID))
	inside.line(t)
	r := reader(t)
	c := scan(t, r, marked)
	survey(t, r, c, marked)
	r.Inspect(t.Context(), c, []int{inside.pid}, marked)
	if p := c.row(t, inside.pid); p.Namespace != No || c.Counts.OtherNamespace == 0 {
		t.Errorf("%+v, %+v", p, c.Counts)
	}
}

// A procfs of the outer namespace numbers everything differently.
func TestForeignProc(t *testing.T) {
	needRoot(t, "make a pid namespace")
	says := helper(t, "reader", nil, nil, namespaces(syscall.CLONE_NEWPID)).line(t)
	if want := "cannot read the process table: /proc belongs to another pid namespace; mount this one's with: mount -t proc proc /proc"; says != want {
		t.Errorf("said %q", says)
	}
}

func TestNested(t *testing.T) {
	needRoot(t, "make a pid namespace")
	var got System
	line := helper(t, "nested", nil, nil, namespaces(syscall.CLONE_NEWPID|syscall.CLONE_NEWNS)).line(t)
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	if !got.Nested || got.PID != 1 || got.PPID != 0 || got.BootID == "" {
		t.Errorf("%+v", got)
	}
}

func TestReaderElsewhere(t *testing.T) {
	for path, want := range map[string]string{
		t.TempDir():    "is not mounted; mount it with",
		"/nonexistent": "cannot be opened",
	} {
		if r, err := openReader(path); err == nil || !strings.Contains(err.Error(), want) || r != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestSystem(t *testing.T) {
	r := reader(t)
	s, err := r.System()
	if err != nil {
		t.Fatal(err)
	}
	want := System{
		PID: os.Getpid(), PPID: os.Getppid(), PGID: unix.Getpgrp(), SID: s.SID, UID: os.Geteuid(), BootID: s.BootID,
		Nested: s.Nested, MaxPID: 1 << 22, TicksPerSecond: 100,
	}
	if diff := cmp.Diff(want, s); diff != "" || len(s.BootID) != 36 {
		t.Errorf("boot id %q (-want +got)\n%s", s.BootID, diff)
	}
}

// The unit is that of the start token: a child starts between two looks.
func TestTicks(t *testing.T) {
	r := reader(t)
	before := r.Ticks()
	c := idler(t, nil)
	after := r.Ticks()
	s, err := r.stat(&scratch{}, c.pid)
	if err != nil || s.start < before || s.start > after {
		t.Errorf("start %d is not from %d to %d: %v", s.start, before, after, err)
	}
}

func TestUsage(t *testing.T) {
	r := reader(t)
	u := r.Usage([]int{os.Getpid()})[0]
	if u.RSS < 1<<20 || u.RSS > 1<<34 || u.User == "" {
		t.Errorf("%+v", u)
	}
	if u := r.Usage([]int{1 << 22})[0]; u != (Usage{}) {
		t.Errorf("of nobody: %+v", u)
	}
}
