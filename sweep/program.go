package sweep

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const shell = "/bin/sh" // where execvp(3) has it

// findProgram looks a command up as a shell does and says with which status a
// shell would fail: 127 where there is none, 126 where it cannot be executed.
func findProgram(name string) (path string, status int, err error) {
	if strings.Contains(name, "/") {
		return name, 0, nil // what is wrong with it shows when it is started
	}
	notFound := fmt.Errorf("%s: command not found", printable(name))
	if name == "" {
		return "", ExitNotFound, errors.New("the command is empty")
	}
	status, err = ExitNotFound, notFound
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if dir == "" {
			dir = "."
		}
		at := dir + "/" + name
		_, found := exec.LookPath(at)
		switch {
		case found == nil:
			return at, 0, nil
		case errors.Is(found, fs.ErrPermission):
			status, err = ExitNotExecutable, fmt.Errorf("%s: %w", printable(at), fs.ErrPermission)
		}
	}
	return "", status, err
}

// startStatus is the status for a program that could not be started.
func startStatus(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ExitNotFound
	}
	return ExitNotExecutable
}
