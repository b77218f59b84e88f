package platform

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Link is one ancestor of a path and where it really is.
type Link struct {
	Prefix string // absolute and lexically clean
	Real   string // free of symbolic links; "" where that cannot be told
}

// Links resolves an absolute path part by part, from "/" down to the path
// itself. For a part that does not exist, Real is the real path of its deepest
// existing ancestor and the rest; from a part on that cannot be read, is a loop
// or does not answer in time (a dead network mount), it is "". A relative path
// has no links.
func (r *Reader) Links(path string) []Link {
	ctx, cancel := context.WithTimeout(context.Background(), r.stall)
	defer cancel()
	if answer := within(ctx, func() []Link { return links(path) }); answer != nil {
		return answer
	}
	return prefixes(path)
}

// prefixes lists the path's ancestors and itself, unresolved.
func prefixes(path string) []Link {
	if !filepath.IsAbs(path) {
		return nil
	}
	path = filepath.Clean(path)
	list := []Link{{Prefix: "/"}}
	for i := 1; i < len(path); i++ {
		if next := strings.IndexByte(path[i:], '/'); next >= 0 {
			i += next
			list = append(list, Link{Prefix: path[:i]})
			continue
		}
		return append(list, Link{Prefix: path})
	}
	return list
}

func links(path string) []Link {
	list := prefixes(path)
	real, missing := "/", false
	for i := range list {
		if i > 0 {
			real = filepath.Join(real, filepath.Base(list[i].Prefix))
		}
		if !missing {
			var err error
			if real, missing, err = resolve(real); err != nil {
				break
			}
		}
		list[i].Real = real
	}
	return list
}

// resolve follows the last part of a path whose parent is real. A link to
// nowhere counts as unreadable: what it will lead to cannot be told.
func resolve(path string) (real string, missing bool, err error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return path, true, nil
	case err != nil:
		return "", false, err
	case info.Mode()&fs.ModeSymlink == 0:
		return path, false, nil
	}
	real, err = filepath.EvalSymlinks(path)
	return real, false, err
}
