//go:build linux

package test

import (
	"os"
	"path/filepath"
	"testing"
)

// Guards the built-in list against the command line of a real one: git's
// credential cache, which wants a folder of its own for its socket.
func TestRealServersAreProtected(t *testing.T) {
	lab := newLab(t)
	git, dir := lab.needProgram("git"), lab.path("cache")
	lab.must(os.Mkdir(dir, 0o700))
	socket := filepath.Join(dir, "socket")
	cache := lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, git, "credential-cache--daemon", socket)
	lab.eventually("its socket", func() bool { _, err := os.Stat(socket); return err == nil })
	server := lab.Find("git", "credential-cache--daemon", socket) // git itself may have started it
	res := lab.DryRun()
	lab.Spared(res, server, "protected")
	if cache.PID != server.PID {
		t.Logf("%s started %s", cache, server)
	}
}
