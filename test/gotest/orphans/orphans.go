// Package orphans sweeps what killed test runs left behind, and marks all that
// this one starts.
package orphans

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

const marker = "REAPER_PARENT_PID"

// Sweep is the first thing that TestMain calls.
func Sweep() {
	self, marked := look(os.Getpid()), os.Getenv(marker)
	ofRun := func(p process) bool { return p.name == "go" || p.name == self.name }
	pid, _, _ := strings.Cut(marked, "@")
	n, _ := strconv.Atoi(pid)
	switch parent := look(self.parent); {
	case parent.name == "go" && parent.id == marked: // begun again
	case ofRun(look(n)) && look(n).id == marked:
		return // a part of a run that lives: the test binary ran itself, or go test
	case parent.name == "go":
		// All test binaries follow the go command, so that what it runs in parallel
		// is one live run. This process begins again with the marker in its own
		// environment, for it may outlive go test itself.
		os.Setenv(marker, parent.id)
		exe, _ := os.Executable()
		fmt.Fprintln(os.Stderr, "begin again:", syscall.Exec(exe, os.Args, os.Environ()))
	default:
		for p := parent; p.name != ""; p = look(p.parent) {
			if ofRun(p) { // the same, with an environment of its own
				os.Setenv(marker, p.id)
				return
			}
		}
		os.Setenv(marker, self.id)
	}
	sweep := exec.Command("reaper", "sweep", "--quiet")
	sweep.Stdout, sweep.Stderr = os.Stderr, os.Stderr
	if err := sweep.Run(); err != nil {
		fmt.Fprintf(os.Stderr, "reaper sweep: %v; the tests run all the same\n", err)
	}
}

type process struct {
	name   string // "" of one that does not run
	id     string // PID@START, or the bare pid
	parent int
}

func look(pid int) process {
	p := process{id: strconv.Itoa(pid)}
	stat, err := os.ReadFile("/proc/" + p.id + "/stat")
	if err != nil && pid > 0 { // macOS
		out, _ := exec.Command("ps", "-o", "ppid=,comm=", "-p", p.id).Output()
		parent, name, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
		p.parent, _ = strconv.Atoi(parent)
		if name != "" {
			p.name = filepath.Base(name)
		}
		if id, err := exec.Command("reaper", "id", p.id).Output(); err == nil {
			p.id = strings.TrimSpace(string(id))
		}
		return p
	}
	end := bytes.LastIndexByte(stat, ')')
	if fields := strings.Fields(string(stat[end+1:])); len(fields) > 19 && fields[0] != "Z" {
		p.name = string(stat[bytes.IndexByte(stat, '(')+1 : end])
		p.id += "@" + fields[19]
		p.parent, _ = strconv.Atoi(fields[1])
	}
	return p
}
