//go:build unix

package platform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// TextReader reads the process table through ps, where the kernel refuses to be
// asked (a Seatbelt sandbox, say). Its rows are Doubtful: they are there to be
// reported, and nothing of them is ever signalled.
type TextReader struct {
	path  string // ps: Apple's own by its path, another on PATH shows less
	width int    // of the lstart column
}

// NewTextReader reads through /bin/ps.
func NewTextReader() *TextReader {
	t := &TextReader{path: "/bin/ps", width: 24} // procps
	if runtime.GOOS == "darwin" {
		t.width = 28
	}
	return t
}

// Scan takes a whole reading.
func (t *TextReader) Scan(ctx context.Context, q Query) (*Census, error) {
	c := &Census{Began: uint64(time.Now().UnixMicro())}
	if err := t.read(ctx, c, q); err != nil {
		return nil, err
	}
	return c, nil
}

// Survey takes another one.
func (t *TextReader) Survey(ctx context.Context, c *Census, q Query) error { return t.read(ctx, c, q) }

// Inspect has no more to read.
func (t *TextReader) Inspect(_ context.Context, c *Census, pids []int, _ Query) {
	for _, pid := range pids {
		if at, ok := c.find(pid); ok {
			c.Processes[at].Detailed = c.Processes[at].Env != EnvUnreadable
		}
	}
}

func (t *TextReader) read(ctx context.Context, c *Census, q Query) error {
	plain, err := t.run(ctx, "axww")
	if err != nil {
		return err
	}
	full, err := t.run(ctx, "axeww") // with a dash, e would select instead
	if err != nil {
		return err
	}
	c.Processes = pairPS(parsePS(plain, t.width), parsePS(full, t.width), newWanted(q.all()))
	for i := range c.Processes {
		p := &c.Processes[i]
		if sid, err := unix.Getsid(p.PID); err == nil {
			p.SID = sid
		}
	}
	if _, ok := c.find(os.Getpid()); !ok {
		return errNotListed
	}
	c.recount()
	return nil
}

// run takes ps's output. Times are in UTC: local ones are ambiguous in the hour
// that a clock change repeats.
func (t *TextReader) run(ctx context.Context, options string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, t.path, options, "-o", psColumns)
	cmd.Env = []string{"LC_ALL=C", "TZ=UTC"}
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("cannot read the process table: %s: %w", t.path, errors.Join(err, ctx.Err()))
	}
	return out.Bytes(), nil
}
