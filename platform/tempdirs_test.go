//go:build unix

package platform

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestUserTempDirs(t *testing.T) {
	base := t.TempDir()
	mine := filepath.Join(base, "zz", "zyx_n0", "T")
	for _, dir := range []string{mine, filepath.Join(base, "zz", "zyx_n0", "C"), filepath.Join(base, "T")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(base, "zz", "linked"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mine, filepath.Join(base, "zz", "linked", "T")); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[int][]string{os.Geteuid(): {mine}, 0: {mine}, 12345: nil} {
		if got := userTempDirs(base, uid); !slices.Equal(got, want) {
			t.Errorf("user %d: %q, want %q", uid, got, want)
		}
	}
	if got := userTempDirs(filepath.Join(base, "none"), 0); got != nil {
		t.Errorf("no such folder: %q", got)
	}
}
