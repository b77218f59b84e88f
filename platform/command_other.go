//go:build !linux && !darwin

package platform

import "syscall"

// StartGroup returns ErrUnsupported.
func StartGroup(string, []string, []string) (int, error) { return 0, ErrUnsupported }

// Change is what became of a child.
type Change struct {
	PID     int
	Stopped syscall.Signal
	Status  int
}

// Collect knows of no child.
func Collect() (Change, bool) { return Change{}, false }

// StopSelf does nothing.
func StopSelf() {}

// Terminal is this process's controlling terminal.
type Terminal struct{}

// OpenTerminal returns ErrUnsupported.
func OpenTerminal() (*Terminal, error) { return nil, ErrUnsupported }

func (t *Terminal) Foreground() (int, error) { return 0, ErrUnsupported }
func (t *Terminal) Give(int) error           { return ErrUnsupported }
func (t *Terminal) Close() error             { return nil }
