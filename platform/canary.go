package platform

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// A canary is a copy of this program with a marker of its own: where that cannot be
// read back no environment can be believed. It has to be a child, since a process
// may always read itself.
const (
	canaryProgram = "reaper-canary" // argv[0]
	canaryMark    = "REAPER_CANARY"
	canaryLimit   = 5 * time.Second
)

// PlayCanary is the whole of such a copy: it waits for the end of its input, which
// also comes when who started it dies. False says that this process is none.
func PlayCanary() bool {
	if len(os.Args) == 0 || os.Args[0] != canaryProgram || os.Getenv(canaryMark) == "" {
		return false
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	return true
}

// trust starts a canary and reads it by the same way as every other process. The
// error says why it could not be read back, so that nothing is to be stopped.
func trust(ctx context.Context, read func(pid int, names []string) ([]Var, EnvState)) error {
	ctx, cancel := context.WithTimeout(ctx, canaryLimit)
	defer cancel()
	want := Var{canaryMark, rand.Text()}
	pid, end, err := startCanary(ctx, want)
	if err != nil {
		return fmt.Errorf("a copy of this program could not be started to test whether environments can be read: %w", err)
	}
	defer end()
	vars, state := read(pid, []string{canaryMark})
	switch {
	case state == EnvWithheld:
		return errors.New("this system keeps back the environment of a copy of this program, so no marker can be seen")
	case state != EnvPresent:
		return errors.New("the environment of a copy of this program cannot be read, so no marker can be seen")
	case !slices.Equal(vars, []Var{want}):
		return errors.New("the environment of a copy of this program does not show what it was given, so no marker can be believed")
	}
	return nil
}

// startCanary returns once the copy runs. end is to be called, and ends it.
func startCanary(ctx context.Context, mark Var) (pid int, end func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, nil, err
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args, cmd.Env, cmd.WaitDelay = []string{canaryProgram}, []string{mark.Name + "=" + mark.Value}, time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return 0, nil, err
	}
	end = func() {
		in.Close()
		cmd.Wait()
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		end()
		return 0, nil, errors.Join(fmt.Errorf("it said %q", line), err, ctx.Err())
	}
	return cmd.Process.Pid, end, nil
}
