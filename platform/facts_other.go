//go:build !linux && !darwin

package platform

import "context"

// Missing cannot be told here.
func (r *Reader) Missing(context.Context, Identity, string) Answer { return Unknown }

// Memory has no proportional figure here.
func (r *Reader) Memory(context.Context, Identity) (uint64, bool) { return 0, false }

// RunsProgram cannot be told here.
func (r *Reader) RunsProgram(Identity, string) Answer { return Unknown }

// Pipes cannot be told here.
func (r *Reader) Pipes(Identity) ([3]uint64, bool) { return [3]uint64{}, false }

// SameClock cannot be told here.
func (r *Reader) SameClock(Identity) Answer { return Unknown }

// Hides cannot be told here.
func (r *Reader) Hides() bool { return true }

// Older cannot be told here.
func (r *Reader) Older(Identity, int) Answer { return Unknown }

// MainPID cannot be told here.
func (r *Reader) MainPID(context.Context, Identity) Answer { return Unknown }
