package platform

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseCmdline(t *testing.T) {
	const whole = -1 // the area is as long as the block
	nuls := func(n int) string { return strings.Repeat("\x00", n) }
	for _, row := range []struct {
		name, block string
		size        int
		comm        string
		argv        []string
		titled      bool
		overrun     bool
	}{
		{name: "none", block: "", size: 0, comm: "kthreadd"},
		{name: "one", block: "prog\x00", size: whole, comm: "prog", argv: []string{"prog"}},
		{name: "empty only", block: "\x00", size: whole, comm: "prog", argv: []string{""}},
		{name: "trailing empty ones", block: "a\x00b\x00\x00", size: whole, comm: "a", argv: []string{"a", "b", ""}},
		{name: "empty argument", block: "prog\x00\x00", size: whole, comm: "prog", argv: []string{"prog", ""}},
		{name: "blank in an argument", block: "sh\x00-c\x00a b\x00", size: whole, comm: "sh", argv: []string{"sh", "-c", "a b"}},
		{name: "exec -a", block: "a b\x00", size: whole, comm: "prog", argv: []string{"a b"}},
		{name: "exec -a, area unknown", block: "a b\x00", argv: []string{"a b"}},
		{name: "exec -a with an empty one before another", block: "a b\x00\x00c\x00", size: whole, comm: "prog", argv: []string{"a b", "", "c"}},
		{name: "no UTF-8", block: "\xff\x00\xfe\x00", size: whole, comm: "x", argv: []string{"\xff", "\xfe"}},
		{name: "libuv", block: "node (vitest 2)" + nuls(30), size: whole, comm: "node (vitest 2)", argv: []string{"node", "(vitest", "2)"}, titled: true},
		{name: "libuv, area unknown", block: "node (vitest 2)" + nuls(30), argv: []string{"node", "(vitest", "2)"}, titled: true},
		{name: "libuv, cut", block: "node (vitest worker 2\x00", size: whole, comm: "node (vitest wo", argv: []string{"node", "(vitest", "worker", "2"}, titled: true},
		{name: "postgres", block: "postgres: wal  writer " + nuls(5), size: whole, comm: "postgres", argv: []string{"postgres:", "wal", "writer"}, titled: true},
		{name: "libbsd, short", block: "sshd: root@pts/0\x00", size: 64, comm: "sshd", argv: []string{"sshd:", "root@pts/0"}, titled: true},
		{name: "runs over, NUL", block: "a long title\x00", size: 5, comm: "perl", argv: []string{"a", "long", "title"}, titled: true, overrun: true},
		{name: "shows the first variable", block: "./prog x SECRET=1\x00", size: 9, comm: "prog", argv: []string{"./prog", "x"}, titled: true, overrun: true},
		{name: "runs over by its NUL", block: "title\x00", size: 5, comm: "perl", argv: []string{"title"}, titled: true, overrun: true},
		{name: "runs over, a page", block: strings.Repeat("title", 820)[:4096], size: 20, comm: "perl", argv: []string{strings.Repeat("title", 820)[:4096]}, titled: true, overrun: true},
		{name: "no NUL, area unknown", block: "title", argv: []string{"title"}, titled: true, overrun: true},
		{name: "blanks only", block: "  " + nuls(4), size: whole, comm: "x", argv: []string{}, titled: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			size := row.size
			if size == whole {
				size = len(row.block)
			}
			got := parseCmdline([]byte(row.block), area{uint64(size), []byte(row.comm)})
			if diff := cmp.Diff(row.argv, got.argv); diff != "" || got.titled != row.titled || got.overrun != row.overrun {
				t.Errorf("titled %v, overrun %v (-want +got)\n%s", got.titled, got.overrun, diff)
			}
		})
	}
}

// Guards that stat is read wherever it may decide: what needs none is parsed alike
// with and without it.
func TestNeedsArea(t *testing.T) {
	for block, want := range map[string]bool{
		"a title\x00": true, "sh\x00-c\x00a b\x00": false, "prog\x00": false, "\x00": false, "a b\x00\x00": false, "a b": false,
	} {
		if got := needsArea([]byte(block)); got != want {
			t.Errorf("%q: %v, want %v", block, got, want)
		}
		with := parseCmdline([]byte(block), area{uint64(len(block)), []byte(block[:min(len(block)-1, commBytes)])})
		if without := parseCmdline([]byte(block), area{}); with.titled != without.titled && !want {
			t.Errorf("%q: a title %v with stat, %v without", block, with.titled, without.titled)
		}
	}
}

func TestArgvArea(t *testing.T) {
	s := stat{argStart: 9, argEnd: 5}
	if a := s.argvArea(); a.size != 0 {
		t.Errorf("an area that ends before it begins has %d bytes", a.size)
	}
}

func FuzzParseCmdline(f *testing.F) {
	f.Add([]byte("a\x00b\x00\x00"), uint64(5), "a")
	f.Add([]byte("node (vitest 2)\x00\x00\x00"), uint64(18), "node (vitest 2)")
	f.Add([]byte("title"), uint64(2), "")
	f.Fuzz(func(t *testing.T, b []byte, size uint64, comm string) {
		got := parseCmdline(b, area{size, []byte(comm)})
		if !got.titled && len(b) > 0 && strings.Join(got.argv, "\x00")+"\x00" != string(b) {
			t.Errorf("%q: %q is not the same", b, got.argv)
		}
		if got.overrun && !got.titled {
			t.Errorf("%q: only a title overruns", b)
		}
		for _, a := range got.argv {
			if got.titled && (a == "" || strings.ContainsAny(a, " \t\x00")) {
				t.Errorf("%q: word %q", b, a)
			}
		}
	})
}

func BenchmarkParseCmdline(b *testing.B) {
	line := []byte("/usr/local/bin/node\x00--import\x00tsx\x00/home/dev/projects/roost/daemon/main.ts\x00--port\x000\x00")
	b.ReportAllocs()
	for b.Loop() {
		parseCmdline(line, area{uint64(len(line)), []byte("node")})
	}
}
