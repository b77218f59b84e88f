package platform

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
)

// parents has a child of its main thread, and then, on the first line, one of another.
func parents(in *bufio.Reader) error {
	first, err := holdChild()
	if err != nil {
		return err
	}
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	ended := make(chan error)
	go func() {
		runtime.LockOSThread() // main keeps the main one
		second, err := holdChild()
		ended <- errors.Join(err, second.Wait(), first.Wait())
	}()
	return <-ended
}

// holdChild starts a child that ends with this process's standard input, and says its pid.
func holdChild() (*exec.Cmd, error) {
	cmd := exec.Command("/bin/cat")
	cmd.Stdin = os.Stdin
	err := cmd.Start()
	if err == nil {
		fmt.Println(cmd.Process.Pid)
	}
	return cmd, err
}

// Guards which child counts as the first one: the one that was started first, and
// none where several threads have some.
func TestOldestChild(t *testing.T) {
	shell := start(t, exec.Command("sh", "-c", "exec 3<&0; cat <&3 & echo $!; cat <&3 & echo $!; wait"))
	first, second := shell.line(t), shell.line(t)
	if got := OldestChild(shell.pid); fmt.Sprint(got) != first {
		t.Errorf("%d, not %s, which was started before %s", got, first, second)
	}
	shell.exit(t)
	threads := helper(t, "parents", nil, nil)
	first = threads.line(t)
	if got := OldestChild(threads.pid); fmt.Sprint(got) != first {
		t.Errorf("%d, not %s, the only one", got, first)
	}
	threads.tell(t, "another")
	second = threads.line(t)
	if got := OldestChild(threads.pid); got != 0 {
		t.Errorf("%d of %s and %s, children of two threads", got, first, second)
	}
	threads.exit(t)
	if got := OldestChild(os.Getppid() + 1<<22); got != 0 {
		t.Errorf("%d of a process that is not there", got)
	}
}
