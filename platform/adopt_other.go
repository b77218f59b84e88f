//go:build !linux

package platform

// AdoptOrphans returns ErrUnsupported: there are no child subreapers here.
func AdoptOrphans() error { return ErrUnsupported }
