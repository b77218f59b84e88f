//go:build !linux

package platform

import (
	"os"
	"syscall"
)

// AdoptOrphans returns ErrUnsupported: there are no child subreapers here.
func AdoptOrphans() error { return ErrUnsupported }

func raise(sig syscall.Signal) { syscall.Kill(os.Getpid(), sig) }
