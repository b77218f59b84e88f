package platform

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinks(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(root, name) }
	for _, dir := range []string{"real/roost-a", "outside"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{
		"tmp2": "real", "real/roost-b": "../outside", "loop": "loop", "dangling": "nowhere", "chain": "tmp2",
	} {
		if err := os.Symlink(target, at(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(at("file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const unknown = ""
	for path, want := range map[string][]string{
		"real/roost-a":      {"real", "real/roost-a"},
		"tmp2/roost-a":      {"real", "real/roost-a"},
		"chain/roost-a":     {"real", "real/roost-a"},
		"tmp2/roost-b":      {"real", "outside"},
		"tmp2/roost-b/x":    {"real", "outside", "outside/x"},
		"tmp2/missing/x":    {"real", "real/missing", "real/missing/x"},
		"missing/x":         {"missing", "missing/x"},
		"loop/x":            {unknown, unknown},
		"dangling/x":        {unknown, unknown},
		"file/x":            {"file", unknown},
		"real/../tmp2":      {"real"},
		"real//./roost-a//": {"real", "real/roost-a"},
	} {
		got := links(root + "/" + path)
		depth := len(prefixes(root))
		if len(got) != depth+len(want) {
			t.Errorf("%s: %d parts, want %d", path, len(got), depth+len(want))
			continue
		}
		if last := got[len(got)-1].Prefix; last != filepath.Join(root, path) {
			t.Errorf("%s: the last part is %s", path, last)
		}
		for i, real := range want {
			if real != unknown {
				real = at(real)
			}
			if diff := cmp.Diff(real, got[depth+i].Real); diff != "" {
				t.Errorf("%s, %s: (-want +got)\n%s", path, got[depth+i].Prefix, diff)
			}
		}
	}
}

func TestLinksPrefixes(t *testing.T) {
	for path, want := range map[string][]Link{
		"":      nil,
		"a/b":   nil,
		"/":     {{Prefix: "/"}},
		"/a":    {{Prefix: "/"}, {Prefix: "/a"}},
		"/a/b/": {{Prefix: "/"}, {Prefix: "/a"}, {Prefix: "/a/b"}},
	} {
		if diff := cmp.Diff(want, prefixes(path)); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", path, diff)
		}
	}
}

// What may not be searched is not told apart from what is not there: unknown.
func TestLinksUnreadable(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may search every folder")
	}
	dir := filepath.Join(t.TempDir(), "closed")
	if err := os.Mkdir(dir, 0); err != nil {
		t.Fatal(err)
	}
	if got := links(dir + "/x"); got[len(got)-1].Real != "" {
		t.Errorf("%+v", got)
	}
}
