//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// tools are the paths of the programs; "" is one that cannot be had here.
type tools struct {
	self, reaper, empty, gopsutil string
	floor, stop, idle             string // C
	python, psutil                string // an interpreter that has psutil, and the script
}

// build compiles reaper as it is released, and what it is measured against.
func build(ctx context.Context, dir, reaper string) (tools, error) {
	t := tools{reaper: reaper}
	root, err := moduleRoot(ctx)
	if err != nil {
		return t, err
	}
	if t.self, err = os.Executable(); err != nil {
		return t, err
	}
	peers := filepath.Join(root, "test", "bench", "peers")
	for _, p := range []struct {
		path *string
		name string
		in   string
	}{{&t.reaper, "reaper", root}, {&t.empty, "empty", filepath.Join(peers, "empty")}, {&t.gopsutil, "gopsutil", filepath.Join(peers, "gopsutil")}} {
		if *p.path != "" {
			continue
		}
		*p.path = filepath.Join(dir, p.name)
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", *p.path, ".")
		build.Dir, build.Env = p.in, append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			return t, fmt.Errorf("go build in %s: %w\n%s", p.in, err, out)
		}
	}
	if t.reaper, err = filepath.Abs(t.reaper); err != nil {
		return t, err
	}
	t.psutil = filepath.Join(peers, "psutil_loop.py")
	t.python = pythonWithPsutil(ctx)
	for path, name := range map[*string]string{&t.floor: "floor", &t.stop: "stop", &t.idle: "idle"} {
		if *path, err = compile(ctx, filepath.Join(peers, name+".c"), dir); err != nil {
			return t, err
		}
	}
	return t, nil
}

func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	file := strings.TrimSpace(string(out))
	if err != nil || filepath.Base(file) != "go.mod" {
		return "", errors.New("go env GOMOD names no go.mod: run it inside a clone")
	}
	return filepath.Dir(file), nil
}

// compile answers "" where there is no gcc. The programs are static where that
// can be, because they then start fastest, but idle is linked as most programs are.
func compile(ctx context.Context, source, dir string) (string, error) {
	if _, err := exec.LookPath("gcc"); err != nil {
		return "", nil
	}
	program := filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), ".c"))
	args := []string{"-O2", "-pthread", "-o", program, source}
	if filepath.Base(program) != "idle" && exec.CommandContext(ctx, "gcc", append(args, "-static")...).Run() == nil {
		return program, nil
	}
	if out, err := exec.CommandContext(ctx, "gcc", args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("gcc %s: %w\n%s", source, err, out)
	}
	return program, nil
}

// pythonWithPsutil is the interpreter itself, not a wrapper that chooses one.
func pythonWithPsutil(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "python3", "-c", "import psutil, sys; print(sys.executable)").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
