package platform

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// parsed is what is expected of a record.
type parsed struct {
	path             string
	argv, env        []string
	state            string
	complete, titled bool
	why              string
}

func parsedOf(a procargs) parsed {
	p := parsed{a.path, a.argv, []string{}, a.state.String(), a.complete, a.titled, a.why}
	if p.argv == nil {
		p.argv = []string{}
	}
	for _, e := range a.env {
		p.env = append(p.env, string(e))
	}
	return p
}

// procargsRecords are built as the kernel lays them out; apple[] is shortened to three.
var procargsRecords = []struct {
	name string
	size int
	data string
	want parsed
}{
	{"normal, wiped apple, env end not aligned", 116,
		"\x03\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00node\x00srv.js\x00--p=1\x00HOME=/Users/d\x00REAPER_RUN=r-42\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ptr_munge=\x00\x00\x00\x00\x00\x00\x00th_port=\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		parsed{path: "/opt/n/node", argv: []string{"node", "srv.js", "--p=1"}, env: []string{"HOME=/Users/d", "REAPER_RUN=r-42"}, state: "present", complete: true, titled: false, why: ""}},
	{"one NUL before apple[], which is not yet wiped", 100,
		"\x01\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00node\x00A=1\x00REAPER_RUN=r-42\x00B=234\x00\x00pfz=0x7f0000\x00ptr_munge=0x5398\x00th_port=0x103\x00\x00\x00\x00\x00",
		parsed{path: "/opt/n/node", argv: []string{"node"}, env: []string{"A=1", "REAPER_RUN=r-42", "B=234"}, state: "present", complete: true, titled: false, why: ""}},
	{"the same, wiped", 100,
		"\x01\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00node\x00A=1\x00REAPER_RUN=r-42\x00B=234\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ptr_munge=\x00\x00\x00\x00\x00\x00\x00th_port=\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		parsed{path: "/opt/n/node", argv: []string{"node"}, env: []string{"A=1", "REAPER_RUN=r-42", "B=234"}, state: "present", complete: true, titled: false, why: ""}},
	{"env -i", 76,
		"\x02\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00node\x00x\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ptr_munge=\x00\x00\x00\x00\x00\x00\x00th_port=\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		parsed{path: "/opt/n/node", argv: []string{"node", "x"}, env: []string{}, state: "empty", complete: true, titled: false, why: ""}},
	{"withheld", 29,
		"\x02\x00\x00\x00/bin/sleep\x00\x00\x00\x00\x00\x00sleep\x0060\x00",
		parsed{path: "/bin/sleep", argv: []string{"sleep", "60"}, env: []string{}, state: "withheld", complete: false, titled: false, why: ""}},
	{"empty middle and last argv", 92,
		"\x04\x00\x00\x00/opt/x\x00\x00x\x00\x00REAPER_RUN=r-42\x00\x00HOME=/h\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ptr_munge=\x00\x00\x00\x00\x00\x00\x00th_port=\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		parsed{path: "/opt/x", argv: []string{"x", "", "REAPER_RUN=r-42", ""}, env: []string{"HOME=/h"}, state: "present", complete: true, titled: false, why: ""}},
	{"argv0 empty", 92,
		"\x02\x00\x00\x00/opt/tool\x00\x00\x00\x00\x00\x00\x00\x00run\x00REAPER_RUN=r-42\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ptr_munge=\x00\x00\x00\x00\x00\x00\x00th_port=\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		parsed{path: "/opt/tool", argv: []string{"", "run"}, env: []string{"REAPER_RUN=r-42"}, state: "present", complete: true, titled: false, why: ""}},
	{"title rewritten (npm)", 116,
		"\x04\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00npm run dev\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00HOME=/h\x00REAPER_RUN=r-42\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ptr_munge=\x00\x00\x00\x00\x00\x00\x00th_port=\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		parsed{path: "/opt/n/node", argv: []string{"npm run dev", "", "", ""}, env: []string{"HOME=/h", "REAPER_RUN=r-42"}, state: "present", complete: true, titled: true, why: ""}},
	{"title fills whole area (argc lies)", 116,
		"\x03\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00claude-x\x00HOME=/h\x00REAPER_RUN=r-42\x00Z=1\x00Y=2\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ptr_munge=\x00\x00\x00\x00\x00\x00\x00th_port=\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		parsed{path: "/opt/n/node", argv: []string{"claude-x", "HOME=/h", "REAPER_RUN=r-42"}, env: []string{"Z=1", "Y=2"}, state: "present", complete: true, titled: false, why: ""}},
	{"argc too big", 92,
		"c\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00node\x00REAPER_RUN=r-42\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ptr_munge=\x00\x00\x00\x00\x00\x00\x00th_port=\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		parsed{path: "", argv: []string{}, env: []string{}, state: "unknown", complete: false, titled: false, why: "argc"}},
	{"argc negative", 92,
		"\xff\xff\xff\xff/opt/n/node\x00\x00\x00\x00\x00node\x00REAPER_RUN=r-42\x00\x00\x00\x00pfz=0x7f0000\x00ptr_munge=0x5398\x00th_port=0x103\x00\x00\x00\x00\x00",
		parsed{path: "", argv: []string{}, env: []string{}, state: "unknown", complete: false, titled: false, why: "argc"}},
	{"empty env string in the middle", 100,
		"\x01\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00node\x00A=1\x00\x00REAPER_RUN=r-42\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ptr_munge=\x00\x00\x00\x00\x00\x00\x00th_port=\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		parsed{path: "/opt/n/node", argv: []string{"node"}, env: []string{"A=1"}, state: "present", complete: false, titled: false, why: ""}},
	{"env entry without =, and apple-looking key in env", 108,
		"\x01\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00node\x00NOVALUE\x00pfz=mine\x00REAPER_RUN=r-42\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ptr_munge=\x00\x00\x00\x00\x00\x00\x00th_port=\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		parsed{path: "/opt/n/node", argv: []string{"node"}, env: []string{"NOVALUE", "pfz=mine", "REAPER_RUN=r-42"}, state: "present", complete: true, titled: false, why: ""}},
	{"non-UTF8 and newline", 108,
		"\x02\x00\x00\x00/opt/n/n\xc3\xb8de\x00\x00\x00\x00n\xc3\xb8de\x00a\x0ab \xff\x00X=l1\x0al2\x00REAPER_RUN=r-42\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00ptr_munge=\x00\x00\x00\x00\x00\x00\x00th_port=\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		parsed{path: "/opt/n/nøde", argv: []string{"nøde", "a\nb \xff"}, env: []string{"X=l1\nl2", "REAPER_RUN=r-42"}, state: "present", complete: true, titled: false, why: ""}},
	{"truncated after argv", 64,
		"\x03\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00node\x00srv.js\x00--p=1\x00HOME=/Users/d\x00REAPER_RUN=r",
		parsed{path: "/opt/n/node", argv: []string{}, env: []string{}, state: "unknown", complete: false, titled: false, why: "env truncated"}},
	{"truncated inside argv", 26,
		"\x03\x00\x00\x00/opt/n/node\x00\x00\x00\x00\x00node\x00s",
		parsed{path: "/opt/n/node", argv: []string{}, env: []string{}, state: "unknown", complete: false, titled: false, why: "argv truncated"}},
	{"kernel small-buffer shape: tail of area then zeros", 50,
		"\x03\x00\x00\x00s\x00--p=1\x00HOME=/Users/d\x00REAPER_R\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		parsed{path: "s", argv: []string{}, env: []string{}, state: "unknown", complete: false, titled: false, why: "padding"}},
}

func TestParseProcargs(t *testing.T) {
	for _, c := range procargsRecords {
		t.Run(c.name, func(t *testing.T) {
			if len(c.data) != c.size {
				t.Fatalf("%d bytes, want %d", len(c.data), c.size)
			}
			if got := parsedOf(parseProcargs([]byte(c.data))); !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

// build lays a record out as exec does. The first wiped apple strings are zeroed.
func build(path string, argv, env []string, wiped bool) []byte {
	pad := func(b []byte) []byte {
		for len(b)%8 != 0 {
			b = append(b, 0)
		}
		return b
	}
	b := pad(append([]byte(path), 0))
	for _, s := range slices.Concat(argv, env) {
		b = append(append(b, s...), 0)
	}
	b = pad(b)
	apple := []string{"pfz=0x7f0000", "stack_guard=0x88", "ptr_munge=0x5398", "th_port=0x103"}
	for i, s := range apple {
		if wiped && i < 2 {
			s = strings.Repeat("\x00", len(s))
		}
		b = append(append(b, s...), 0)
	}
	return append(binary.LittleEndian.AppendUint32(nil, uint32(len(argv))), pad(b)...)
}

func TestParseProcargsOfAllLengths(t *testing.T) {
	records, unseparated := 0, 0
	for path := 1; path <= 9; path++ {
		for arg := 0; arg <= 9; arg++ {
			for entry := 3; entry <= 12; entry++ {
				for _, wiped := range []bool{false, true} {
					p, argv := strings.Repeat("p", path), []string{strings.Repeat("a", arg), "", "b"}
					env := []string{"M=1", "E=" + strings.Repeat("e", entry-2)}
					b := build(p, argv, env, wiped)
					want := parsed{p, argv, env, "present", true, false, ""}
					if got := parsedOf(parseProcargs(b)); !reflect.DeepEqual(got, want) {
						t.Fatalf("%q\n%+v\nwant %+v", b, got, want)
					}
					if records++; bytes.Contains(b, []byte("e\x00pfz=")) {
						unseparated++
					}
				}
			}
		}
	}
	if unseparated == 0 {
		t.Errorf("of %d records none lacks a separator before apple[]", records)
	}
}

func TestParseProcargsRefuses(t *testing.T) {
	whole := string(build("/opt/x", []string{"x"}, []string{"A=1", "MARK=2"}, true))
	end := strings.Index(whole, "MARK=2") + len("MARK=2") + 1
	for _, c := range []struct{ name, data, why string }{
		{"nothing", "", "short"},
		{"argc alone", whole[:4], "path"},
		{"an empty path", "\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00x\x00", "path"},
		{"a path without end", "\x01\x00\x00\x00/opt/x", "path"},
		{"cut in the gap", whole[:11], "argc"},
		{"cut between two entries", whole[:end], "no apple strings"},
		{"NULs behind the environment", whole[:end] + "\x00\x00\x00", "no apple strings"},
		{"NULs behind the arguments", whole[:14] + "\x00\x00\x00", "no apple strings"},
		{"a restricted process without argv[0]", "\x01\x00\x00\x00/bin/sl\x00\x00MARK=1\x00", "no apple strings"},
	} {
		if got := parseProcargs([]byte(c.data)); got.state != argsUnknown || got.why != c.why || len(got.env)+len(got.argv) > 0 || got.complete {
			t.Errorf("%s: %+v, want %q", c.name, got, c.why)
		}
	}
}

func TestProcargsCommand(t *testing.T) {
	for name, c := range map[string]struct {
		a      procargs
		want   []string
		titled bool
	}{
		"plain":                        {procargs{path: "/bin/x", argv: []string{"x", "a b", ""}}, []string{"x", "a b", ""}, false},
		"a title":                      {procargs{path: "/bin/node", argv: []string{"npm run dev", "", ""}, titled: true}, []string{"npm", "run", "dev"}, true},
		"a title, empty environment":   {procargs{path: "/bin/node", argv: []string{"npm run dev", "", ""}}, []string{"npm", "run", "dev"}, true},
		"a title of one word":          {procargs{path: "/bin/node", argv: []string{"pi", "", ""}, titled: true}, []string{"pi"}, true},
		"a title that swallowed env":   {procargs{path: "/bin/node", argv: []string{"claude-x", "HOME=/h", "TOKEN=secret"}}, []string{"claude-x"}, true},
		"a title that swallowed less":  {procargs{path: "/bin/node", argv: []string{"pi", "", "HOME=/h"}}, []string{"pi"}, true},
		"an empty argument before one": {procargs{path: "/usr/bin/make", argv: []string{"make", "", "V=1"}}, []string{"make", "", "V=1"}, false},
		"another name, and a script":   {procargs{path: "/x/Python", argv: []string{"python3", "run.py", "KEY=1"}}, []string{"python3", "run.py", "KEY=1"}, false},
		"assignments are arguments":    {procargs{path: "/usr/bin/make", argv: []string{"make", "CC=gcc", "V=1"}}, []string{"make", "CC=gcc", "V=1"}, false},
		"a login shell's":              {procargs{path: "/bin/zsh", argv: []string{"-zsh", "A=1"}}, []string{"-zsh", "A=1"}, false},
		"an option that looks like it": {procargs{path: "/bin/x", argv: []string{"y", "--a=1"}}, []string{"y", "--a=1"}, false},
		"no arguments":                 {procargs{path: "/bin/x"}, nil, false},
	} {
		if got, titled := c.a.command(); !slices.Equal(got, c.want) || titled != c.titled {
			t.Errorf("%s: %q, titled %v", name, got, titled)
		}
	}
}

func FuzzProcargs(f *testing.F) {
	for _, c := range procargsRecords {
		f.Add([]byte(c.data))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		a := parseProcargs(b)
		a.command()
		if !bytes.Equal(before, b) {
			t.Error("the record was changed")
		}
		held := 4
		for _, s := range a.argv {
			held += len(s) + 1
		}
		for _, e := range a.env {
			held += len(e) + 1
			if len(e) == 0 || bytes.IndexByte(e, 0) >= 0 {
				t.Errorf("entry %q", e)
			}
		}
		if len(a.argv)+len(a.env) > 0 && held > len(b) {
			t.Errorf("%d bytes found in %d", held, len(b))
		}
		if a.state == argsUnknown && (a.why == "" || len(a.argv)+len(a.env) > 0) || a.state != argsUnknown && a.why != "" {
			t.Errorf("%+v", a)
		}
		if a.complete && a.state != argsPresent && a.state != argsEmpty || len(a.env) > 0 != (a.state == argsPresent) {
			t.Errorf("%+v", a)
		}
	})
}
