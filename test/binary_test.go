//go:build linux

package test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// binVar names a binary to test instead of building one.
const binVar = "REAPER_BIN"

// reaperBinary is the program under test.
func reaperBinary(t *testing.T) string {
	t.Helper()
	readSources(t)
	path, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var buildOnce = sync.OnceValues(func() (string, error) {
	if given := os.Getenv(binVar); given != "" {
		return filepath.Abs(given)
	}
	path := filepath.Join(os.Getenv(dirVar), "reaper")
	args := []string{"build", "-o", path}
	if raceEnabled {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, "reaper")...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// readSources looks at every file that the binary is built from. The go command
// notes what a test looks at, and so does not take an old result for one of a
// changed program.
func readSources(t *testing.T) {
	t.Helper()
	for _, pattern := range []string{"../*.go", "../*/*.go", "../go.mod", "../go.sum"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if f, err := os.Open(file); err == nil {
				f.Close()
			}
		}
	}
}
