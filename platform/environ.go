package platform

import (
	"bytes"
	"slices"
	"strings"
)

// wanted is a set of variable names, made for many blocks that hold none of them.
type wanted struct {
	names []string
	first [256]bool // the bytes that the names begin with: dismisses nearly every entry
}

func newWanted(names []string) *wanted {
	w := &wanted{}
	for _, name := range names {
		if name == "" || strings.ContainsAny(name, "=\x00") || slices.Contains(w.names, name) {
			continue
		}
		w.names = append(w.names, name)
		w.first[name[0]] = true
	}
	return w
}

// scan finds the wanted variables in an environment block, in its order,
// duplicates included. Only whole entries count: NUL-terminated, with the name
// before the first '='. Nothing is copied but the values found.
//
// overrun says that a title ran from the arguments into the block. Its front is
// then the rest of the title, and the piece behind that the tail of an entry cut
// anywhere: of "note=MARK=1" it may leave "MARK=1". What is behind both is found in
// a block that is EnvOverwritten.
func (w *wanted) scan(block []byte, overrun bool) ([]Var, EnvState) {
	if n := len(block); n == 0 || block[n-1] != 0 || !holdsEntry(block) {
		return nil, EnvOverwritten // exec ends a block with NUL, so text up to its very end is a title
	}
	var vars []Var
	state := EnvPresent
	rest := trusted(block, overrun)
	if len(rest) < len(block) {
		state = EnvOverwritten
	}
	for len(rest) > 0 {
		end := bytes.IndexByte(rest, 0)
		entry := rest[:end]
		rest = rest[end+1:]
		if end == 0 || !w.first[entry[0]] {
			continue
		}
		for _, name := range w.names {
			if len(entry) > len(name) && entry[len(name)] == '=' && string(entry[:len(name)]) == name {
				vars = append(vars, Var{name, string(entry[len(name)+1:])})
				break
			}
		}
	}
	return vars, state
}

// holdsEntry says whether any NAME= is in the block.
func holdsEntry(block []byte) bool {
	for at := 0; at < len(block); at++ {
		i := bytes.IndexByte(block[at:], '=')
		if i < 0 {
			return false
		}
		if at += i; at > 0 && block[at-1] != 0 && block[at-1] != '=' {
			return true
		}
	}
	return false
}

// trusted is the block without a front that was written over. A front without
// '=' gives itself away even where the command line shows no overrun any more,
// because a shorter title followed the long one.
func trusted(block []byte, overrun bool) []byte {
	end := bytes.IndexByte(block, 0)
	if !overrun && bytes.IndexByte(block[:end], '=') >= 0 {
		return block
	}
	rest := bytes.TrimLeft(block[end+1:], "\x00") // titles are padded with NULs
	return rest[bytes.IndexByte(rest, 0)+1:]
}
