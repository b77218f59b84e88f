//go:build !linux && !darwin

package platform

import (
	"context"
	"syscall"
	"time"
)

// The signals that stopping takes.
const (
	Terminate = syscall.Signal(15)
	Kill      = syscall.Signal(9)
	Continue  = syscall.Signal(19)
)

// Reader reads the process table.
type Reader struct{ stall time.Duration }

// NewReader returns ErrUnsupported.
func NewReader() (*Reader, error) { return nil, ErrUnsupported }

func (r *Reader) Close() error                                   { return nil }
func (r *Reader) System() (System, error)                        { return System{}, ErrUnsupported }
func (r *Reader) Scan(context.Context, Query) (*Census, error)   { return nil, ErrUnsupported }
func (r *Reader) Survey(context.Context, *Census, Query) error   { return ErrUnsupported }
func (r *Reader) Inspect(context.Context, *Census, []int, Query) {}
func (r *Reader) Liveness(int) Liveness                          { return Liveness{} }
func (r *Reader) Ticks() uint64                                  { return 0 }
func (r *Reader) Trust(context.Context) error                    { return ErrUnsupported }
func (r *Reader) Usage(pids []int) []Usage                       { return make([]Usage, len(pids)) }

// Handle holds on to one process.
type Handle struct{ pid int }

// OpenHandle returns ErrUnsupported.
func OpenHandle(int) (*Handle, error) { return nil, ErrUnsupported }

func (h *Handle) PID() int                    { return h.pid }
func (h *Handle) Close() error                { return nil }
func (h *Handle) Exited() (bool, error)       { return false, ErrUnsupported }
func (h *Handle) Signal(syscall.Signal) error { return ErrUnsupported }

// SignalGroup returns ErrUnsupported.
func SignalGroup(int, *Handle, syscall.Signal) error { return ErrUnsupported }

// Wait returns ErrUnsupported.
func Wait(context.Context, []*Handle, time.Time, func(int, time.Time)) error { return ErrUnsupported }
