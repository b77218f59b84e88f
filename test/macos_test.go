//go:build linux

package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// macScript runs macos.sh under the names of what only a Mac has, with a go command
// that runs no tests and does the rest as the text says.
func (l *Lab) macScript(goes string) Result {
	l.t.Helper()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	l.must(err)
	dir := l.path("mac")
	l.must(os.Mkdir(dir, 0o755))
	programs := map[string]string{"uname": `case "$*" in "") echo Darwin;; *) echo arm64 24.6.0;; esac`,
		"sw_vers": "echo ProductVersion: 15.6", "csrutil": "echo enabled", "go": goes}
	for name, text := range programs {
		l.must(os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755))
	}
	root, err := filepath.Abs("..")
	l.must(err)
	this, _ := l.launch(Spec{Bare: true, Argv: []string{"sh", "test/macos.sh", "short"}, Dir: root, Leader: true, Env: append(l.withPath(),
		"PATH="+dir+":"+os.Getenv("PATH"), "TMPDIR="+dir, "REAPER_BIN="+reaperBinary(l.t), "GOCACHE="+strings.TrimSpace(string(cache)), "GOFLAGS=-buildvcs=false", "GOTOOLCHAIN=local")})
	this.Out, this.Err = l.path("stdout"), l.path("stderr")
	return l.Collect(this.Out, this.Err, l.finish(this), nil)
}

// Guards the script for whoever has a Mac: it finds its own orphan, sees it stopped,
// sees a run end with its parent, and prints one block.
func TestMacScript(t *testing.T) {
	lab := newLab(t)
	res := lab.macScript(`test "$1" = test && echo "$@" || exec ` + lab.needProgram("go") + ` "$@"`)
	for _, text := range []string{"ProductVersion: 15.6", "arm64 24.6.0", "-run OnAMac ./platform", "would be stopped", "stopped", "the orphan is gone", "has exited: stopped 1 process"} {
		if !strings.Contains(res.Stdout, text) {
			t.Errorf("does not say %q", text)
		}
	}
	if res.Exit != 0 || strings.Contains(res.Stdout, "FAIL") || strings.Count(res.Stdout, "```") != 2 || !strings.HasPrefix(res.Stderr, "Paste") || t.Failed() {
		t.Errorf("status %d:\n%s%s", res.Exit, res.Stdout, res.Stderr)
	}
}

// Guards its status, on which the workflow depends.
func TestMacScriptFails(t *testing.T) {
	lab := newLab(t)
	res := lab.macScript(`test "$1" = version`)
	for _, text := range []string{"FAIL: the kernel does not say", "FAIL: no program", "FAIL: the run did not end"} {
		if !strings.Contains(res.Stdout, text) {
			t.Errorf("does not say %q", text)
		}
	}
	if res.Exit != 1 || res.Stderr != "" || t.Failed() {
		t.Errorf("status %d:\n%s%s", res.Exit, res.Stdout, res.Stderr)
	}
}
