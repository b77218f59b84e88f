//go:build !darwin

package platform

import "testing"

// TestOnAMac stands for the tests of mac_darwin_test.go, so that a run says what it
// could not ask.
func TestOnAMac(t *testing.T) {
	t.Skip("no Mac: whether its kernel answers as its source says (sysctl, getsid, unique ids, kqueue, groups of zombies, a canary); test/macos.sh asks one")
}
