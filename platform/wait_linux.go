package platform

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Wait reports each handle whose process has exited, once, as it is observed,
// until all have, `until` has passed or the context ends. It returns nil in the
// first two cases, the context's error in the third; a poll that fails is an
// error and says nothing of any process. exited is called by this goroutine,
// with the index of the handle.
func Wait(ctx context.Context, handles []*Handle, until time.Time, exited func(i int, at time.Time)) error {
	wake, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return fmt.Errorf("wait for %d processes: eventfd: %w", len(handles), err)
	}
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(woken)
		unix.Write(wake, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	})
	defer func() {
		if !stop() {
			<-woken // the descriptor may be another's once it is closed
		}
		unix.Close(wake)
	}()
	w := newWaiter(wake, handles)
	for len(w.fds) > 1 {
		left := max(0, time.Until(until))
		err := w.poll(left, exited)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case left == 0:
			return nil
		}
	}
	return nil
}

// waiter polls all handles that have not exited, the waking descriptor first.
type waiter struct {
	handles []*Handle
	fds     []unix.PollFd
	index   []int // of fds in handles
}

func newWaiter(wake int, handles []*Handle) *waiter {
	w := &waiter{handles, make([]unix.PollFd, 1, len(handles)+1), make([]int, 1, len(handles)+1)}
	w.fds[0] = unix.PollFd{Fd: int32(wake), Events: unix.POLLIN}
	for i, h := range handles {
		w.fds = append(w.fds, unix.PollFd{Fd: int32(h.fd), Events: unix.POLLIN})
		w.index = append(w.index, i)
	}
	return w
}

// poll waits once, for no longer than left, and leaves those out that exited. The
// Go runtime's own signals interrupt it often (EINTR).
func (w *waiter) poll(left time.Duration, exited func(int, time.Time)) error {
	timeout := unix.NsecToTimespec(int64(left))
	n, err := unix.Ppoll(w.fds, &timeout, nil)
	if err != nil {
		return fmt.Errorf("poll %d processes: %w", len(w.fds)-1, err)
	}
	if n == 0 {
		return nil
	}
	at, keep := time.Now(), 1
	for i := 1; i < len(w.fds); i++ {
		gone, err := w.handles[w.index[i]].polled(w.fds[i].Revents)
		if err != nil {
			return err
		}
		if gone {
			exited(w.index[i], at)
			continue
		}
		w.fds[keep], w.index[keep] = w.fds[i], w.index[i]
		keep++
	}
	w.fds, w.index = w.fds[:keep], w.index[:keep]
	return nil
}
