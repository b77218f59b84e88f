//go:build !linux && !darwin

package platform

import "syscall"

// Start returns ErrUnsupported.
func Start(string, []string, []string, bool) (int, error) { return 0, ErrUnsupported }

// Change is what became of a child.
type Change struct {
	PID     int
	Stopped syscall.Signal
	Status  int
	EndedBy syscall.Signal
}

// Collect knows of no child.
func Collect() (Change, bool) { return Change{}, false }

// RaiseSelf does nothing.
func RaiseSelf(syscall.Signal) {}

// IsPipe cannot be told here.
func IsPipe(int) bool { return false }

// IsControlling cannot be told here.
func IsControlling(int) bool { return false }

// Terminal is this process's controlling terminal.
type Terminal struct{}

// OpenTerminal returns ErrUnsupported.
func OpenTerminal() (*Terminal, error) { return nil, ErrUnsupported }

func (t *Terminal) Foreground() (int, error) { return 0, ErrUnsupported }
func (t *Terminal) Give(int) error           { return ErrUnsupported }
func (t *Terminal) Close() error             { return nil }

// Folder is one folder.
type Folder struct{}

// OpenFolder returns ErrUnsupported.
func OpenFolder(string) (*Folder, error) { return nil, ErrUnsupported }

func (f *Folder) Is(string) Answer { return Unknown }
func (f *Folder) Close() error     { return nil }

// FewDescriptors cannot be told here.
func FewDescriptors() error { return nil }
