package match

import (
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"reaper/platform"
)

// TmpRoot is a temporary directory as it is spelt and with its links resolved
// ("" where that cannot be told).
type TmpRoot struct {
	Path, Real string
}

// tmpPrefix begins a glob that holds in each temporary directory.
const tmpPrefix = "<tmp>/"

// MatchValue says whether a variable's value is one that the marker asks for.
//
// Without a glob any value is, the empty one too. A glob is doublestar's: `*`
// stops at a '/'. One that begins with '/' is compared with a path: the value has
// to be absolute and without `..`, and is cleaned of `//` and `/./` first.
//
// One that begins with `<tmp>/` holds below each root: some folder above the
// value is the root, once links are resolved on both sides, the rest matches, and
// the value, all links resolved, is still inside the root. That needs the links of CleanPath(value), from "/" down to the path itself; where
// it is unknown where they lead, nothing matches. Any other glob is compared with
// the value as it is.
func (m Marker) MatchValue(value string, roots []TmpRoot, links []platform.Link) bool {
	if m.Glob == "" {
		return true
	}
	if rest, ok := strings.CutPrefix(m.Glob, tmpPrefix); ok {
		clean, ok := CleanPath(value)
		return ok && matchTmp(rest, clean, roots, links)
	}
	if strings.HasPrefix(m.Glob, "/") {
		clean, ok := CleanPath(value)
		return ok && doublestar.MatchUnvalidated(m.Glob, clean)
	}
	return doublestar.MatchUnvalidated(m.Glob, value)
}

// NeedsLinks says whether MatchValue depends on where the value's links lead:
// the glob begins with `<tmp>/`, and its rest matches the end of the value.
func (m Marker) NeedsLinks(value string) bool {
	rest, ok := strings.CutPrefix(m.Glob, tmpPrefix)
	if !ok {
		return false
	}
	clean, ok := CleanPath(value)
	return ok && doublestar.MatchUnvalidated("/**/"+rest, clean)
}

// CleanPath is the value of a variable as an absolute path without `//`, `/./`
// and trailing '/'. It refuses what is no absolute path, is longer than a path
// can be, or holds a `..`, which leads elsewhere where a link stands before it.
func CleanPath(value string) (clean string, ok bool) {
	if !strings.HasPrefix(value, "/") || len(value) > maxText {
		return "", false
	}
	for part := range strings.SplitSeq(value, "/") {
		if part == ".." {
			return "", false
		}
	}
	return path.Clean(value), true
}

func matchTmp(rest, value string, roots []TmpRoot, links []platform.Link) bool {
	if len(links) == 0 || links[len(links)-1].Prefix != value {
		return false // not about this value
	}
	real := links[len(links)-1].Real
	for _, root := range roots {
		if isBelow(real, root.Real) && matchBelow(rest, value, root, links) {
			return true
		}
	}
	return false
}

// isBelow is false for the root itself, and for the roots "" (unknown) and "/",
// which would make every path a temporary one.
func isBelow(real, root string) bool {
	rest, ok := strings.CutPrefix(real, root)
	return ok && root != "" && len(rest) > 1 && rest[0] == '/'
}

// matchBelow looks for the folder above the value that is the root.
func matchBelow(rest, value string, root TmpRoot, links []platform.Link) bool {
	for _, link := range links[:len(links)-1] {
		if link.Real != root.Real {
			continue
		}
		below, ok := strings.CutPrefix(value, link.Prefix+"/")
		if ok && doublestar.MatchUnvalidated(rest, below) {
			return true
		}
	}
	return false
}
