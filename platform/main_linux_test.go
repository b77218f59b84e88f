package platform

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// roleName makes the test binary play a helper program instead of running tests.
const roleName = "PLATFORM_TEST_ROLE"

// nobody is a user without any right.
const nobody = 65534

func init() {
	if role := os.Getenv(roleName); role == "leaderless" || role == "parents" {
		runtime.LockOSThread() // init runs on the main thread: main stays there
	}
}

func TestMain(m *testing.M) {
	if PlayCanary() {
		os.Exit(0)
	}
	role, isRole := os.LookupEnv(roleName)
	if !isRole {
		os.Exit(m.Run())
	}
	play, ok := roles[role]
	if !ok {
		fmt.Fprintf(os.Stderr, "no role %q\n", role)
		os.Exit(2)
	}
	if err := play(bufio.NewReader(os.Stdin)); err != nil {
		fmt.Fprintf(os.Stderr, "role %s: %v\n", role, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// roles are the helper programs. All end with their standard input, so that none
// outlives a test that dies.
var roles = map[string]func(in *bufio.Reader) error{
	"idle":       idle,
	"leaderless": leaderless,
	"threaded":   threaded,
	"title":      title,
	"exec":       execOnDemand,
	"guarded":    guarded,
	"census":     censusOf,
	"reader":     readerError,
	"nested":     nested,
	"hidden":     hidden,
	"parents":    parents,
}

// idle says that it is there and waits for the end of its input.
func idle(in *bufio.Reader) error {
	fmt.Println("ready")
	io.Copy(io.Discard, in)
	return nil
}

// leaderless ends its main thread and goes on in another.
func leaderless(in *bufio.Reader) error {
	go func() {
		for s := ""; !strings.Contains(s, ") Z "); {
			b, _ := os.ReadFile("/proc/self/stat")
			s = string(b)
		}
		idle(in)
		os.Exit(0)
	}()
	syscall.Syscall(syscall.SYS_EXIT, 0, 0, 0) // the thread, not the group
	return nil
}

// threaded prints the id of a thread that is not the leader.
func threaded(in *bufio.Reader) error {
	tid := make(chan int)
	go holdThread(tid)
	fmt.Println(<-tid)
	return idle(in)
}

// holdThread keeps its thread, and another one if that is the leader.
func holdThread(tid chan int) {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		go holdThread(tid)
	} else {
		tid <- unix.Gettid()
	}
	select {}
}

// title writes a title, given as a line of JSON, over its arguments and on.
func title(in *bufio.Reader) error {
	fmt.Println("ready")
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var text string
	if err := json.Unmarshal(line, &text); err != nil {
		return err
	}
	// os.Args are not copies: they stand where the kernel put them (runtime.goargs).
	copy(unsafe.Slice(unsafe.StringData(os.Args[0]), len(text)), text)
	return idle(in)
}

// execOnDemand becomes the idle role on the first line, which is JSON: the
// variables. os/exec would leave out what stands twice.
func execOnDemand(in *bufio.Reader) error {
	fmt.Println("ready")
	line, err := in.ReadBytes('\n')
	if err != nil {
		return err
	}
	var env []string
	if err := json.Unmarshal(line, &env); err != nil {
		return err
	}
	return syscall.Exec("/proc/self/exe", []string{"became", "other"}, append(env, roleName+"=idle"))
}

// guarded keeps its environment to itself, as key agents do.
func guarded(in *bufio.Reader) error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	return idle(in)
}

// censusOf prints the row of the pid that it is given, after Scan.
func censusOf(in *bufio.Reader) error {
	var pid int
	fmt.Println("ready")
	if _, err := fmt.Fscan(in, &pid); err != nil {
		return err
	}
	r, err := NewReader()
	if err != nil {
		return err
	}
	c, err := r.Scan(context.Background(), Query{Names: []string{"MARK"}})
	if err != nil {
		return err
	}
	at, _ := c.find(pid)
	return json.NewEncoder(os.Stdout).Encode(c.Processes[at])
}

// readerError prints what NewReader says.
func readerError(*bufio.Reader) error {
	_, err := NewReader()
	fmt.Println(err)
	return nil
}

// mountProc mounts a procfs of its own over /proc; it takes a mount namespace.
func mountProc(options string) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return err
	}
	return unix.Mount("proc", "/proc", "proc", 0, options)
}

// nested prints what System says inside a pid namespace.
func nested(*bufio.Reader) error {
	if err := mountProc(""); err != nil {
		return err
	}
	r, err := NewReader()
	if err != nil {
		return err
	}
	s, err := r.System()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(s)
}

// hidden prints the liveness of its parent, which it may not see.
func hidden(*bufio.Reader) error {
	if err := mountProc("hidepid=2"); err != nil {
		return err
	}
	if err := syscall.Setgroups(nil); err != nil {
		return err
	}
	if err := syscall.Setresgid(nobody, nobody, nobody); err != nil {
		return err
	}
	if err := syscall.Setresuid(nobody, nobody, nobody); err != nil {
		return err
	}
	r, err := NewReader()
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r.Liveness(os.Getppid()))
}

// child is a process that a test started and ends.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
	pid int
}

// helper starts a role. env follows the variable that names the role, args are
// all the arguments, the first included.
func helper(t testing.TB, role string, env, args []string, change ...func(*exec.Cmd)) *child {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	if len(args) > 0 {
		cmd.Args = args
	}
	cmd.Env = append([]string{roleName + "=" + role}, env...)
	for _, c := range change {
		c(cmd)
	}
	return start(t, cmd)
}

// idler starts an idle helper and waits for it.
func idler(t testing.TB, env []string, args ...string) *child {
	t.Helper()
	c := helper(t, "idle", env, args)
	c.line(t)
	return c
}

// start starts the command, to be ended with the test.
func start(t testing.TB, cmd *exec.Cmd) *child {
	t.Helper()
	c := &child{cmd: cmd}
	t.Cleanup(func() { c.end() })
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	c.in, c.out = in, bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c.pid = cmd.Process.Pid
	return c
}

// end kills the process and waits for it; again it does nothing.
func (c *child) end() {
	if c.cmd.Process == nil || c.cmd.ProcessState != nil {
		return
	}
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

// line reads one line of the child's output, which is how it says it is ready.
func (c *child) line(t testing.TB) string {
	t.Helper()
	s, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%v said %q and ended: %v", c.cmd.Args, s, err)
	}
	return strings.TrimSuffix(s, "\n")
}

// tell writes one line to the child.
func (c *child) tell(t testing.TB, format string, a ...any) {
	t.Helper()
	if _, err := fmt.Fprintf(c.in, format+"\n", a...); err != nil {
		t.Fatal(err)
	}
}

// become gives a child of the exec role its new variables.
func (c *child) become(t testing.TB, env ...string) {
	t.Helper()
	line, err := json.Marshal(env)
	if err != nil {
		t.Fatal(err)
	}
	c.tell(t, "%s", line)
	c.line(t)
}

// exit lets the child end by itself and leaves it a zombie.
func (c *child) exit(t testing.TB) {
	t.Helper()
	h := handle(t, c.pid)
	c.in.Close()
	waitAll(t, h)
}

func reader(t testing.TB) *Reader {
	t.Helper()
	r, err := NewReader()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func handle(t testing.TB, pid int) *Handle {
	t.Helper()
	h, err := OpenHandle(pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// needRoot skips what takes rights to set up.
func needRoot(t testing.TB, what string) {
	if os.Geteuid() != 0 {
		t.Skipf("only root can %s", what)
	}
}

// namespaces puts the command into new ones.
func namespaces(flags uintptr) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: flags} }
}
