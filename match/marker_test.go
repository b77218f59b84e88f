package match

import (
	"path"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"reaper/platform"
)

// resolve gives the links of a path in a tree where the folders of links are
// symbolic links to absolute paths, as the platform would.
func resolve(value string, links map[string]string) []platform.Link {
	list := []platform.Link{{Prefix: "/", Real: "/"}}
	prefix, real := "", ""
	for part := range strings.SplitSeq(strings.TrimPrefix(value, "/"), "/") {
		prefix += "/" + part
		real = path.Join("/", real, part)
		for hops := 0; links[real] != "" && hops < 40; hops++ { // as many as the kernel follows
			real = links[real]
		}
		list = append(list, platform.Link{Prefix: prefix, Real: real})
	}
	return list
}

func TestMarkerBelowTmp(t *testing.T) {
	links := map[string]string{
		"/tmp":                 "/private/tmp", // as on macOS
		"/var":                 "/private/var",
		"/mnt/scratch":         "/private/tmp",
		"/private/tmp/roost-l": "/home/me",
		"/private/tmp/roost-n": "/private/tmp/inner",
		"/private/tmp/out":     "/home/me",
		"/home/me/back":        "/private/tmp",
		"/home/me/roost-in":    "/private/tmp/x",
	}
	roots := []TmpRoot{
		{Path: "/tmp", Real: "/private/tmp"},
		{Path: "/var/folders/zz/T", Real: "/private/var/folders/zz/T"},
		{Path: "/unknown", Real: ""},
		{Path: "/", Real: "/"}, // TMPDIR=/: would be everything
	}
	marker := Marker{Name: "HOME", Glob: "<tmp>/roost-*"}
	for value, want := range map[string]bool{
		"/tmp/roost-1":                      true,
		"/private/tmp/roost-1":              true, // the link resolved
		"/mnt/scratch/roost-1":              true, // another link to it
		"/var/folders/zz/T/roost-1":         true,
		"/private/var/folders/zz/T/roost-1": true,
		"/tmp//roost-1":                     true, // cleaned first
		"/tmp/./roost-1/":                   true,
		"//tmp/roost-1":                     true,
		"/tmp/roost-":                       true,
		"/tmp/roost-n":                      true,  // a link that stays inside
		"/home/me/back/roost-1":             true,  // a link to the root, wherever it is
		"/tmp/roost-l":                      false, // a link that leads outside
		"/tmp/out/roost-1":                  false,
		"/tmp/out/back/roost-1":             true, // out, and in again: it is where it is
		"/home/me/roost-in":                 false,
		"/tmp/roost-1/x":                    false, // * stops at a slash
		"/tmp/x/roost-1":                    false,
		"/tmp":                              false, // the root itself
		"/tmp/":                             false,
		"/tmp2/roost-1":                     false, // near-prefixes
		"/tmproost-1":                       false,
		"/private/tmp2/roost-1":             false,
		"/private/tmproost-1":               false,
		"/var/folders/zz/T2/roost-1":        false,
		"/tmp/xroost-1":                     false,
		"/unknown/roost-1":                  false,
		"/roost-1":                          false,
		"/tmp/a/../roost-1":                 false, // .. anywhere
		"/tmp/roost-1/..":                   false,
		"/tmp/roost-1/../../home":           false,
		"/../tmp/roost-1":                   false,
		"tmp/roost-1":                       false, // relative
		"./tmp/roost-1":                     false,
		"roost-1":                           false,
		"<tmp>/roost-1":                     false,
		"":                                  false,
		" /tmp/roost-1":                     false,
		"/tmp/roost-" + strings.Repeat("x", 4096): false, // longer than a path
	} {
		clean, _ := CleanPath(value)
		if got := marker.MatchValue(value, roots, resolve(clean, links)); got != want {
			t.Errorf("%q matches %s: %v", value, marker.Glob, got)
		}
		if want && !marker.NeedsLinks(value) {
			t.Errorf("%q needs no links, but they decide", value)
		}
	}
}

func TestMarkerBelowTmpAtAnyDepth(t *testing.T) {
	marker := Marker{Name: "HOME", Glob: "<tmp>/**/roost-*/{a,b}"}
	roots := []TmpRoot{{Path: "/tmp", Real: "/tmp"}}
	for value, want := range map[string]bool{
		"/tmp/roost-1/a":     true,
		"/tmp/x/y/roost-1/b": true,
		"/tmp/roost-1/c":     false,
		"/x/tmp/roost-1/a":   false,
	} {
		if got := marker.MatchValue(value, roots, resolve(value, nil)); got != want {
			t.Errorf("%q matches %s: %v", value, marker.Glob, got)
		}
	}
}

// Unknown is not yes: whatever cannot be told about the value's links, it does
// not match.
func TestMarkerWithUnknownLinksDoesNotMatch(t *testing.T) {
	const value = "/tmp/roost-1"
	marker := Marker{Name: "HOME", Glob: "<tmp>/roost-*"}
	roots := []TmpRoot{{Path: "/tmp", Real: "/tmp"}}
	known := resolve(value, nil)
	if !marker.MatchValue(value, roots, known) {
		t.Fatal("it does not match with everything known")
	}
	for name, links := range map[string][]platform.Link{
		"no links":              nil,
		"only the root":         known[:1],
		"not to the end":        known[:2],
		"of another path":       resolve("/tmp/roost-2", nil),
		"the folder is unknown": {known[0], {Prefix: "/tmp"}, known[2]},
		"the end is unknown":    {known[0], known[1], {Prefix: value}},
		"the end is the root":   {known[0], known[1], {Prefix: value, Real: "/tmp"}},
	} {
		if marker.MatchValue(value, roots, links) {
			t.Errorf("%s: it matches", name)
		}
	}
	if marker.MatchValue(value, nil, known) {
		t.Error("without a temporary directory it matches")
	}
}

func TestMarkerWithoutTmp(t *testing.T) {
	for _, test := range []struct {
		glob string
		yes  []string
		no   []string
	}{
		{"", []string{"", "x", "/a/../b"}, nil},
		{"test", []string{"test"}, []string{"", "tests", "a/test", "Test"}},
		{"test-*", []string{"test-", "test-1"}, []string{"test", "test-a/b", "xtest-1"}},
		{"**", []string{"", "a", "a/b", "/a/../b"}, nil},
		{"{yes,1}", []string{"yes", "1"}, []string{"no", "yes,1"}},
		{"a/../b", []string{"a/../b"}, []string{"b"}}, // no path: as it is
		{"/srv/*/run", []string{"/srv/a/run", "/srv//a/./run/"}, []string{"/srv/a/../run", "/srv/a/b/run", "srv/a/run", "/x/srv/a/run", "/srv/run"}},
		{"/srv/**", []string{"/srv/a/b", "/srv"}, []string{"/srv/../etc", "/srv2/a", "/srv/a/.."}},
	} {
		marker := Marker{Name: "M", Glob: test.glob}
		for _, value := range test.yes {
			if !marker.MatchValue(value, nil, nil) {
				t.Errorf("%q does not match %q", value, test.glob)
			}
		}
		for _, value := range test.no {
			if marker.MatchValue(value, nil, nil) {
				t.Errorf("%q matches %q", value, test.glob)
			}
		}
	}
}

func TestNeedsLinks(t *testing.T) {
	for _, test := range []struct {
		glob, value string
		want        bool
	}{
		{"<tmp>/roost-*", "/tmp/roost-1", true},
		{"<tmp>/roost-*", "/anywhere/at/all/roost-1", true},
		{"<tmp>/a/b", "/tmp//a/./b", true},
		{"<tmp>/roost-*", "/tmp/x", false},
		{"<tmp>/roost-*", "/tmp/roost-1/x", false},
		{"<tmp>/roost-*", "/tmp/../roost-1", false},
		{"<tmp>/roost-*", "roost-1", false},
		{"<tmp>/roost-*", "", false},
		{"", "/tmp/roost-1", false},
		{"/tmp/roost-*", "/tmp/roost-1", false},
		{"roost-*", "roost-1", false},
	} {
		if got := (Marker{Glob: test.glob}).NeedsLinks(test.value); got != test.want {
			t.Errorf("%q of %q needs links: %v", test.glob, test.value, got)
		}
	}
}

func TestCleanPath(t *testing.T) {
	for value, want := range map[string]string{
		"/": "/", "//": "/", "/a//b/./c/": "/a/b/c", "/a/...": "/a/...", "/a/..b": "/a/..b", "/" + strings.Repeat("x", 4095): "/" + strings.Repeat("x", 4095),
		"": "", "a": "", "./a": "", "/a/..": "", "/..": "", "/../a": "", "/a/../b": "", "/" + strings.Repeat("x", 4096): "",
	} {
		if got, ok := CleanPath(value); got != want || ok != (want != "") {
			t.Errorf("CleanPath(%.20q) = %.20q, %v", value, got, ok)
		}
	}
}

// Whatever matches is inside a root once its links are resolved, and the links
// were asked for.
func TestMarkerNeverMatchesOutside(t *testing.T) {
	part := rapid.SampledFrom([]string{"a", "b", "tmp", "roost-1", ".", "..", ""})
	folder := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "tmp", "roost-1"}), 1, 3), func(p []string) string { return "/" + strings.Join(p, "/") })
	rapid.Check(t, func(t *rapid.T) {
		value := "/" + strings.Join(rapid.SliceOfN(part, 1, 5).Draw(t, "parts"), "/")
		root := folder.Draw(t, "root")
		at, to := folder.Draw(t, "link"), folder.Draw(t, "target")
		if strings.HasPrefix(to, at) {
			to = "/elsewhere" // no loops
		}
		links := map[string]string{at: to}
		rootLinks := resolve(root, links)
		real := rootLinks[len(rootLinks)-1].Real
		clean, ok := CleanPath(value)
		marker := Marker{Name: "M", Glob: rapid.SampledFrom([]string{"<tmp>/roost-*", "<tmp>/**", "<tmp>/*/b", "<tmp>/a"}).Draw(t, "glob")}
		resolved := resolve(clean, links)
		if !marker.MatchValue(value, []TmpRoot{{Path: root, Real: real}}, resolved) {
			return
		}
		if !ok || !marker.NeedsLinks(value) || !strings.HasPrefix(resolved[len(resolved)-1].Real, real+"/") {
			t.Fatalf("%q (really %q) matches %s in %s (really %s)", value, resolved[len(resolved)-1].Real, marker.Glob, root, real)
		}
	})
}

func FuzzMatchValue(f *testing.F) {
	f.Add("<tmp>/roost-*", "/tmp/roost-1", "/private/tmp")
	f.Add("<tmp>/**/x", "/tmp/a/../x", "/tmp")
	f.Add("/srv/*", "/srv//x", "/")
	f.Add("a{b,c}[d]", "abd", "")
	f.Fuzz(func(t *testing.T, glob, value, real string) {
		if checkGlob(glob) != nil || len(glob) > maxText {
			return
		}
		marker := Marker{Name: "M", Glob: glob}
		clean, ok := CleanPath(value)
		var links []platform.Link
		if ok {
			links = resolve(clean, map[string]string{"/tmp": real})
		}
		began := time.Now()
		matched := marker.MatchValue(value, []TmpRoot{{Path: "/tmp", Real: real}}, links)
		if took := time.Since(began); took > 5*time.Second {
			t.Fatalf("took %v", took)
		}
		if matched && strings.HasPrefix(glob, tmpPrefix) && (!ok || !isBelow(links[len(links)-1].Real, real)) {
			t.Fatalf("%q matches %q outside %q", value, glob, real)
		}
	})
}
