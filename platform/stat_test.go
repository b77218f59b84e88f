package platform

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A line of Linux 6.18, between comm and end.
const statTail = " S 4101 481 480 34816 482 4194304 103 0 0 0 7 8 0 0 20 0 13 0 115493 3133440 384 18446744073709551615 " +
	"1000 2000 3000 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 4000 5000 6000 7000 7020 7020 8534 0\n"

func TestParseStat(t *testing.T) {
	for _, comm := range []string{
		"cat", "", " ", "a) R 1 1", "b) Z 0 (c", "()()()())))(((()))()()", ") Z ", "foo) Z 1 2 3 4 5 6 7 8 9 10",
		"new\nline", "\xff\xfe", "a b", "(sd-pam)", "kworker/u8:1+events",
	} {
		got, err := parseStat([]byte("482 (" + comm + ")" + statTail))
		if err != nil {
			t.Errorf("%q: %v", comm, err)
			continue
		}
		if string(got.comm) != comm || got.pid != 482 {
			t.Errorf("%q: read as %q of pid %d", comm, got.comm, got.pid)
		}
		var p Process
		got.fill(&p)
		want := Process{
			PPID: 4101, PGID: 481, SID: 480, State: 'S', Threads: 13, Start: 115493, TTY: 34816, Foreground: 482, Comm: comm,
		}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Errorf("%q: (-want +got)\n%s", comm, diff)
		}
		if a := got.argvArea(); a.size != 20 || got.envStart != 7020 || got.envEnd != 8534 || got.startCode != 1000 || got.startData != 4000 {
			t.Errorf("%q: addresses %+v %+v", comm, a, got)
		}
	}
}

func TestParseStatFlags(t *testing.T) {
	for _, row := range []struct {
		flags          string
		kernel, ending bool
	}{{"4194304", false, false}, {"2129984", true, false}, {"4194308", false, true}} {
		s, err := parseStat([]byte(strings.Replace("2 (k)"+statTail, "4194304", row.flags, 1)))
		if err != nil {
			t.Fatal(err)
		}
		var p Process
		if s.fill(&p); p.Kernel != row.kernel || p.Ending != row.ending {
			t.Errorf("flags %s: kernel %v, ending %v", row.flags, p.Kernel, p.Ending)
		}
	}
}

func TestParseStatNegative(t *testing.T) {
	s, err := parseStat([]byte("1 (a)" + strings.Replace(statTail, "34816 482", "-3 -1", 1)))
	if err != nil || s.tty != -3 || s.tpgid != -1 {
		t.Errorf("tty %d, foreground %d: %v", s.tty, s.tpgid, err)
	}
}

// Everything up to the start token is needed; all behind it may be missing.
func TestParseStatShort(t *testing.T) {
	line := "482 (cat)" + statTail
	ends := strings.Index(line, " 3133440")
	for n := range len(line) {
		s, err := parseStat([]byte(line[:n]))
		if n < ends-len("115493")+1 && err == nil {
			t.Errorf("%q was read", line[:n])
		}
		if n >= ends && (err != nil || s.start != 115493) {
			t.Errorf("%q: start %d: %v", line[:n], s.start, err)
		}
	}
	for _, bad := range []string{
		"", ")", "(", ")(", "482 cat" + statTail, "x (cat)" + statTail, "482(cat)" + statTail, "0 (a)" + statTail, "-1 (a)" + statTail,
		"482 (cat)S 1 2", "482 (cat) SS 1 2", "482 (cat)" + strings.Replace(statTail, "4101", "41x1", 1),
		"482 (cat)" + strings.Replace(statTail, "4101", "", 1), "482 (cat)" + strings.Replace(statTail, "115493", strings.Repeat("9", 30), 1),
	} {
		if s, err := parseStat([]byte(bad)); err == nil {
			t.Errorf("%q was read as %+v", bad, s)
		}
	}
}

// Guards that an exec between two readings shows: it keeps pid and start.
func TestSameImage(t *testing.T) {
	line := "482 (cat)" + statTail
	first, err := parseStat([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string][2]string{
		"nothing": {" S ", " R "}, "start": {" 115493 ", " 115494 "}, "code": {" 1000 ", " 1008 "}, "data": {" 4000 ", " 4008 "},
		"arguments": {" 7000 7020 ", " 7001 7020 "}, "environment": {" 7020 8534 ", " 7020 8535 "}, "both": {" 7000 7020 7020 ", " 7000 7024 7024 "},
	} {
		changed := strings.Replace(line, change[0], change[1], 1)
		second, err := parseStat([]byte(changed))
		if err != nil || changed == line || second.sameImage(&first) != (what == "nothing") {
			t.Errorf("%s changed: the same image %v, %v", what, second.sameImage(&first), err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("482 (cat)" + statTail))
	f.Add([]byte("1 (a) R 1 1)" + statTail))
	f.Add([]byte("1 ()"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseStat(b)
		if err != nil {
			return
		}
		head := fmt.Appendf(nil, "%d (%s) ", s.pid, s.comm)
		head = append(head, s.state, ' ')
		if !bytes.HasPrefix(b, head) || bytes.IndexByte(b[len(head):], ')') >= 0 {
			t.Errorf("%q: pid %d, comm %q, state %q", b, s.pid, s.comm, s.state)
		}
	})
}

func BenchmarkParseStat(b *testing.B) {
	line := []byte("482 (cat)" + statTail)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseStat(line); err != nil {
			b.Fatal(err)
		}
	}
}
