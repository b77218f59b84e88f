//go:build linux

package test

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fifo carries lines between a test and a role, which may have another user, pid
// namespace or parent.
type fifo struct {
	path   string
	file   *os.File
	reader *bufio.Reader
}

func (l *Lab) fifo() *fifo {
	l.t.Helper()
	path := l.path("fifo")
	l.must(syscall.Mkfifo(path, 0o666))
	l.must(os.Chmod(path, 0o666))
	// Open for both, a read waits for the first writer instead of finding the end.
	file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	l.must(err)
	l.t.Cleanup(func() { file.Close() })
	return &fifo{path, file, bufio.NewReader(file)}
}

// line is what a role says next.
func (l *Lab) line(f *fifo, what string) string {
	l.t.Helper()
	l.must(f.file.SetReadDeadline(time.Now().Add(patience)))
	text, err := f.reader.ReadString('\n')
	if err != nil {
		l.t.Fatalf("never came: %s: %v", what, err)
	}
	text = strings.TrimSuffix(text, "\n")
	if problem, ok := strings.CutPrefix(text, "error: "); ok {
		l.t.Fatalf("%s: %s", what, problem)
	}
	return text
}

func (l *Lab) tell(f *fifo, text string) {
	l.t.Helper()
	_, err := f.file.WriteString(text + "\n")
	l.must(err)
}

func decodePIDs(t *testing.T, said string) []int {
	t.Helper()
	var pids []int
	if err := json.Unmarshal([]byte(said), &pids); err != nil {
		t.Fatalf("pids %q: %v", said, err)
	}
	return pids
}
