//go:build linux || darwin

package platform

import "golang.org/x/sys/unix"

// Folder is one folder, whatever becomes of its path. It is held open, so that no
// other one gets its inode number.
type Folder struct{ fd int }

// OpenFolder opens a folder without reading it; the error is ENOTDIR where it is none.
func OpenFolder(path string) (*Folder, error) {
	fd, err := unix.Open(path, pathOnly|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return &Folder{fd}, nil
}

// Is says whether the path leads to the folder; Unknown also where it leads nowhere.
func (f *Folder) Is(path string) Answer {
	var held, found unix.Stat_t
	if unix.Fstat(f.fd, &held) != nil || unix.Stat(path, &found) != nil {
		return Unknown
	}
	return AnswerOf(held.Dev == found.Dev && held.Ino == found.Ino)
}

// Close gives the descriptor back.
func (f *Folder) Close() error { return unix.Close(f.fd) }
