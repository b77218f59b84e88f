package platform

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func block(entries ...string) string { return strings.Join(entries, "\x00") + "\x00" }

func TestScanEnviron(t *testing.T) {
	const mark = "PI_ROOST_PARENT_PID"
	found := func(values ...string) []Var {
		var vars []Var
		for _, v := range values {
			vars = append(vars, Var{mark, v})
		}
		return vars
	}
	for _, row := range []struct {
		name, block string
		overrun     bool
		want        []Var
		state       EnvState
	}{
		{name: "alone", block: block(mark + "=1"), want: found("1")},
		{name: "first", block: block(mark+"=1", "A=b"), want: found("1")},
		{name: "last", block: block("A=b", mark+"=1"), want: found("1")},
		{name: "empty value", block: block("A=b", mark+"="), want: found("")},
		{name: "second =", block: block("A=b", mark+"=a=b=c"), want: found("a=b=c")},
		{name: "twice", block: block(mark+"=1", "A=b", mark+"=2"), want: found("1", "2")},
		{name: "longer names", block: block("A=b", "X"+mark+"=1", mark+"_OLD=2", mark+" =3", " "+mark+"=4")},
		{name: "no value", block: block("A=b", mark)},
		{name: "other case", block: block("A=b", "pi_roost_parent_pid=1")},
		{name: "line break in a value", block: block("A=b\n" + mark + "=1")},
		{name: "blank in a value", block: block("A=b " + mark + "=1")},
		{name: "value of another", block: block("A=" + mark + "=1")},
		{name: "= only", block: block("=", "==", "="+mark+"=1", mark+"=2"), want: found("2")},
		{name: "empty strings", block: block("A=b", "", "", mark+"=1"), want: found("1")},
		{name: "no UTF-8", block: block("BAD\xff=\xfe", mark+"=\xff\xfe"), want: found("\xff\xfe")},
		{name: "empty", block: "", state: EnvOverwritten},
		{name: "NULs", block: "\x00\x00\x00", state: EnvOverwritten},
		{name: "title", block: strings.Repeat("title", 99) + "\x00", state: EnvOverwritten},
		{name: "nameless", block: block("=x", "=="), state: EnvOverwritten},
		{name: "title up to the end", block: "A=b\x00" + mark + "=1", state: EnvOverwritten},
		{name: "front gives itself away", block: block("le rest", mark+"=1", mark+"=2"), want: found("2"), state: EnvOverwritten},
		{name: "padded front", block: "title\x00\x00\x00" + block("E="+mark, mark+"=2"), want: found("2"), state: EnvOverwritten},
		{name: "blanked front", block: "\x00\x00\x00" + block(mark+"=1", mark+"=2"), want: found("2"), state: EnvOverwritten},
		{name: "front with =", block: block("k=title", mark+"=1", mark+"=2"), overrun: true, want: found("2"), state: EnvOverwritten},
		{name: "front with nothing wanted behind", block: block("\x00ME=/root", "A=b"), state: EnvOverwritten},
		{name: "overrun, nothing behind", block: block("k=title"), overrun: true, state: EnvOverwritten},
		{name: "overrun, cut entry only", block: block("k=title", mark+"=1"), overrun: true, state: EnvOverwritten},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, state := newWanted([]string{"HOME", mark}).scan([]byte(row.block), row.overrun)
			if row.state == EnvUnread {
				row.state = EnvPresent
			}
			if diff := cmp.Diff(row.want, got); diff != "" || state != row.state {
				t.Errorf("state %d, want %d (-want +got)\n%s", state, row.state, diff)
			}
		})
	}
}

// Names that no entry can have are no names, and one asked for twice is one.
func TestWantedNames(t *testing.T) {
	w := newWanted([]string{"A", "", "B=", "A=b", "C\x00", "A"})
	if diff := cmp.Diff([]string{"A"}, w.names); diff != "" {
		t.Error(diff)
	}
	if vars, _ := w.scan([]byte(block("A=b=c", "B==")), false); !slices.Equal(vars, []Var{{"A", "b=c"}}) {
		t.Error(vars)
	}
}

// slowScan says the same by splitting.
func slowScan(names []string, b string) []Var {
	var vars []Var
	entries := strings.Split(strings.TrimSuffix(b, "\x00"), "\x00")
	for i, e := range entries {
		name, value, ok := strings.Cut(e, "=")
		if i == 0 && !ok {
			return slowScan(names, afterFront(entries))
		}
		if ok && slices.Contains(names, name) {
			vars = append(vars, Var{name, value})
		}
	}
	return vars
}

// afterFront leaves out the first string, empty ones, and one more.
func afterFront(entries []string) string {
	entries = entries[1:]
	for len(entries) > 0 && entries[0] == "" {
		entries = entries[1:]
	}
	if len(entries) < 2 {
		return "="
	}
	return "=\x00" + block(entries[1:]...) // a first string that is trusted and holds nothing
}

func FuzzScanEnviron(f *testing.F) {
	f.Add([]byte(block("A=b", "BC=d", "ABC=1")), false)
	f.Add([]byte(block("title", "A=1", "A=2")), false)
	f.Add([]byte("\x00\x00A=1\x00A=2\x00"), false)
	f.Add([]byte(block("k=title", "A=1", "A=2")), true)
	f.Add([]byte("A=b"), false)
	names := []string{"A", "BC"}
	f.Fuzz(func(t *testing.T, b []byte, overrun bool) {
		before := string(b)
		vars, state := newWanted(names).scan(b, overrun)
		if string(b) != before {
			t.Fatal("the block was changed")
		}
		want := slowScan(names, before)
		switch {
		case len(b) == 0 || b[len(b)-1] != 0 || !holdsEntry(b):
			want = nil
		case !overrun && (state == EnvPresent) != strings.Contains(strings.SplitN(before, "\x00", 2)[0], "="), overrun && state == EnvPresent:
			t.Errorf("%q: state %d", b, state)
		}
		if overrun { // never more than without
			if len(vars) > len(want) || !slices.Equal(want[len(want)-len(vars):], vars) {
				t.Errorf("%q: %v, at most %v", b, vars, want)
			}
		} else if !slices.Equal(want, vars) {
			t.Errorf("%q: %v, want %v", b, vars, want)
		}
	})
}

// benchmarkBlock is 3.5 KiB in 60 entries, as development machines have them.
func benchmarkBlock() []byte {
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "VARIABLE_%d=/home/dev/projects/alpha/node_modules/.bin:%d\x00", i, i)
	}
	return []byte(b.String())
}

func BenchmarkScanEnviron(b *testing.B) {
	data := benchmarkBlock()
	w := newWanted([]string{"PI_ROOST_PARENT_PID", "PI_ROOST_HOME", "VITEST_POOL_ID", "JOB_PID"})
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if vars, _ := w.scan(data, false); vars != nil {
			b.Fatal(vars)
		}
	}
}
