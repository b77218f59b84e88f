//go:build linux || darwin

package platform

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Guards which folder it is: the same whatever happens in it or to its mode, and
// by whatever path; another one where it was made anew.
func TestFolderIs(t *testing.T) {
	dir := t.TempDir()
	home, link := filepath.Join(dir, "home"), filepath.Join(dir, "link")
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	do(os.Mkdir(home, 0o755))
	do(os.Symlink("home", link))
	f, err := OpenFolder(link)
	do(err)
	defer f.Close()
	expect := func(path string, want Answer) {
		t.Helper()
		if got := f.Is(path); got != want {
			t.Errorf("%s: %v instead of %v", path, got, want)
		}
	}
	expect(home, Yes)
	do(os.WriteFile(filepath.Join(home, "file"), nil, 0o644))
	do(os.Chmod(home, 0o100))
	expect(link, Yes)
	expect(dir, No)
	do(os.RemoveAll(home))
	expect(home, Unknown)
	do(os.Mkdir(home, 0o755))
	expect(link, No)
	if _, err := OpenFolder(filepath.Join(dir, "link", "..", "home", "file")); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
	do(os.WriteFile(filepath.Join(home, "file"), nil, 0o644))
	if _, err := OpenFolder(filepath.Join(home, "file")); !errors.Is(err, syscall.ENOTDIR) {
		t.Error(err)
	}
}
