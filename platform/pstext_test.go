package platform

import (
	"reflect"
	"strings"
	"testing"
)

// psLines are Apple's in the C locale, without the user column, and what they say.
var psLines = []struct {
	name, plain, full string // full: "" where the line does not differ
	want              Process
}{
	{"one marker word",
		"  812     1   812 Ss   Sun Nov 30 19:27:35 2025     /opt/n/node srv.js",
		"  812     1   812 Ss   Sun Nov 30 19:27:35 2025     /opt/n/node srv.js HOME=/Users/d REAPER_RUN=r-42 PATH=/usr/bin:/bin",
		Process{PID: 812, PPID: 1, PGID: 812, State: 'S', Start: 1764530855e6, Argv: []string{"/opt/n/node", "srv.js"}, Comm: "node",
			Env: EnvPresent, Vars: []Var{{"REAPER_RUN", "r-42"}}}},
	{"withheld or empty",
		"  813     1   812 S    Sun Nov 30 19:27:36 2025     /bin/sleep 60", "",
		Process{PID: 813, PPID: 1, PGID: 812, State: 'S', Start: 1764530856e6, Argv: []string{"/bin/sleep", "60"}, Comm: "sleep", Env: EnvUnreadable}},
	{"a zombie",
		"  814   812   812 Z    Sun Nov 30 19:27:36 2025     <defunct>", "",
		Process{PID: 814, PPID: 812, PGID: 812, State: 'Z', Start: 1764530856e6, Env: EnvOverwritten}},
	{"arguments refused",
		"  815     1   815 Ss   Sun Nov 30 19:27:36 2025     (top)", "",
		Process{PID: 815, PPID: 1, PGID: 815, State: 'S', Start: 1764530856e6, Comm: "top", Env: EnvUnreadable}},
	{"text in a value looks like a marker",
		"  816     1   816 S    Sun Nov 30 19:27:37 2025     node app.js",
		"  816     1   816 S    Sun Nov 30 19:27:37 2025     node app.js NOTE=see REAPER_RUN=r-42 in the docs HOME=/h",
		Process{PID: 816, PPID: 1, PGID: 816, State: 'S', Start: 1764530857e6, Argv: []string{"node", "app.js"}, Comm: "node",
			Env: EnvPresent, Vars: []Var{{"REAPER_RUN", "r-42"}}}},
	{"an argument is no marker",
		"  817     1   817 S    Sun Nov 30 19:27:37 2025     env REAPER_RUN=r-42 /opt/n/node x", "",
		Process{PID: 817, PPID: 1, PGID: 817, State: 'S', Start: 1764530857e6, Argv: []string{"env", "REAPER_RUN=r-42", "/opt/n/node", "x"},
			Comm: "env", Env: EnvUnreadable}},
	{"escapes stay as they are",
		`  818     1   818 S    Sun Nov 30 19:27:38 2025     tool a\012b\011c M-CM-)t ^A "q x"  z`, "",
		Process{PID: 818, PPID: 1, PGID: 818, State: 'S', Start: 1764530858e6, Argv: []string{"tool", `a\012b\011c`, "M-CM-)t", "^A", `"q`, `x"`, "z"},
			Comm: "tool", Env: EnvUnreadable}},
	{"a title and the blanks behind it",
		"  819     1   819 S    Sun Nov 30 19:27:39 2025     npm run dev   ", "",
		Process{PID: 819, PPID: 1, PGID: 819, State: 'S', Start: 1764530859e6, Argv: []string{"npm", "run", "dev"}, Comm: "npm", Env: EnvUnreadable}},
	{"strings of the system behind the environment",
		"  820     1   820 R    Sun Nov 30 19:27:39 2025     node",
		"  820     1   820 R    Sun Nov 30 19:27:39 2025     node A=1 REAPER_RUN=r-42 B=234 pfz=0x7f0000 stack_guard=0x88 malloc_entropy=0x1,0x2",
		Process{PID: 820, PPID: 1, PGID: 820, State: 'R', Start: 1764530859e6, Argv: []string{"node"}, Comm: "node",
			Env: EnvPresent, Vars: []Var{{"REAPER_RUN", "r-42"}}}},
	{"the marker twice",
		"  821     1   821 S    Sun Nov 30 19:27:39 2025     node",
		"  821     1   821 S    Sun Nov 30 19:27:39 2025     node REAPER_RUN=r-42 REAPER_RUN=r-43",
		Process{PID: 821, PPID: 1, PGID: 821, State: 'S', Start: 1764530859e6, Argv: []string{"node"}, Comm: "node", Env: EnvUnreadable}},
	{"an exec between the two readings",
		"  822     1   822 S    Sun Nov 30 19:27:39 2025     sh -c node",
		"  822     1   822 S    Sun Nov 30 19:27:39 2025     node REAPER_RUN=r-42",
		Process{PID: 822, PPID: 1, PGID: 822, State: 'S', Start: 1764530859e6, Argv: []string{"sh", "-c", "node"}, Comm: "sh", Env: EnvUnreadable}},
	{"the pid was used again between them",
		"  823     1   823 S    Sun Nov 30 19:27:39 2025     node",
		"  823     1   823 S    Sun Nov 30 19:27:40 2025     node REAPER_RUN=r-42",
		Process{PID: 823, PPID: 1, PGID: 823, State: 'S', Start: 1764530859e6, Argv: []string{"node"}, Comm: "node", Env: EnvUnreadable}},
	{"gone before the second",
		"  824     1   824 S    Sun Nov 30 19:27:39 2025     node", "\n",
		Process{PID: 824, PPID: 1, PGID: 824, State: 'S', Start: 1764530859e6, Argv: []string{"node"}, Comm: "node", Env: EnvUnreadable}},
	{"exiting, uninterruptible",
		"  825     1   825 UE+  Sun Nov  2 09:07:09 2025     node", "",
		Process{PID: 825, PPID: 1, PGID: 825, State: 'D', Ending: true, Start: 1762074429e6, Argv: []string{"node"}, Comm: "node", Env: EnvUnreadable}},
}

func TestPairPS(t *testing.T) {
	want := newWanted([]string{"REAPER_RUN"})
	for _, c := range psLines {
		t.Run(c.name, func(t *testing.T) {
			if c.full == "" {
				c.full = c.plain
			}
			c.want.UID, c.want.Threads, c.want.Foreground, c.want.Namespace, c.want.Doubtful = -1, 1, -1, Yes, doubtText
			c.want.Titled = c.want.Argv != nil
			got := pairPS(parsePS([]byte(c.plain+"\n"), 28), parsePS([]byte(c.full+"\n"), 28), want)
			if len(got) != 1 || !reflect.DeepEqual(got[0], c.want) {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestParsePSLine(t *testing.T) {
	for _, c := range []struct {
		name, line string
		width      int
		want       psRow
		ok         bool
	}{
		{"procps, with the user", "    812       1     812  1000 Ss   Sun Nov 30 19:27:35 2025 node x", 24, psRow{812, 1, 812, 1000, "Ss", 1764530855e6, "node x"}, true},
		{"Apple's, with the user", "  812     1   812   501 Ss   Sun Nov 30 19:27:35 2025     node x", 28, psRow{812, 1, 812, 501, "Ss", 1764530855e6, "node x"}, true},
		{"argv[0] is empty", "  812     1   812     0 S    Sun Nov 30 19:27:35 2025      x", 28, psRow{812, 1, 812, 0, "S", 1764530855e6, " x"}, true},
		{"no command", "  812     1   812     0 S    Sun Nov 30 19:27:35 2025", 28, psRow{812, 1, 812, 0, "S", 1764530855e6, ""}, true},
		{"local text", "  812     1   812     0 S    30 nov. 2025 19:27:35        x", 28, psRow{}, false},
		{"a header", "  PID  PPID  PGID   UID STAT STARTED                      COMMAND", 28, psRow{}, false},
		{"pid 0", "    0     0     0     0 Ss   Sun Nov 30 19:27:35 2025     x", 28, psRow{}, false},
		{"nothing", "", 28, psRow{}, false},
	} {
		got, ok := parsePSLine(c.line, c.width)
		if ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, ok, c.want)
		}
	}
}

func TestParsePSOverlongLine(t *testing.T) {
	line := "  812     1   812     0 S    Sun Nov 30 19:27:35 2025     "
	long := line + strings.Repeat("x", 4<<20) + "\n" + strings.Replace(line, "812", "813", 1) + strings.Repeat("x", maxPSLine) + "\n"
	if rows := parsePS([]byte(long), 28); len(rows) != 1 || len(rows[0].text) != 4<<20 {
		t.Errorf("%d rows", len(rows))
	}
}

func FuzzPSText(f *testing.F) {
	for _, c := range psLines {
		f.Add(c.plain, c.full, 28)
	}
	f.Add("    812       1     812  1000 Ss   Sun Nov 30 19:27:35 2025 node x", "", 24)
	want := newWanted([]string{"REAPER_RUN", "A"})
	f.Fuzz(func(t *testing.T, plain, full string, width int) {
		if width != 24 {
			width = 28
		}
		for _, p := range pairPS(parsePS([]byte(plain), width), parsePS([]byte(full), width), want) {
			if p.Doubtful == "" || p.PID <= 0 || p.Start == 0 {
				t.Errorf("row %+v", p)
			}
			if p.Env == EnvUnread || p.Env != EnvPresent && len(p.Vars) > 0 || len(p.Vars) > 2 {
				t.Errorf("environment of %+v", p)
			}
		}
	})
}
