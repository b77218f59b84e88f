//go:build !linux

package platform

import (
	"os"
	"syscall"
)

// MoreSignals are none here.
func MoreSignals() []os.Signal { return nil }

// Ignored cannot be told here.
func Ignored(syscall.Signal) bool { return false }

func raise(sig syscall.Signal) { syscall.Kill(os.Getpid(), sig) }

// pathOnly opens a file for its events alone (macOS: O_EVTONLY).
const pathOnly = 0x8000

// Session is not asked here.
func Session(int) int { return -1 }

// OldestChild is not asked here.
func OldestChild(int) int { return 0 }
