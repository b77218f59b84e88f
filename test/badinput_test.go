//go:build linux

package test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// noGood is a rules file that cannot be used, and what the error says of it.
type noGood struct {
	name string
	path string
	uid  int
	says []string // what is wrong, and what to do
}

// badFiles makes one of each kind.
func (l *Lab) badFiles() []noGood {
	l.t.Helper()
	write := func(name string, data []byte, mode os.FileMode) string {
		l.t.Helper()
		path := l.path(name)
		l.must(os.WriteFile(path, data, 0o600))
		l.must(os.Chmod(path, mode))
		return path
	}
	link := func(name, to string) string {
		l.t.Helper()
		path := l.path(name)
		l.must(os.Symlink(to, path))
		return path
	}
	fifo := l.path("fifo")
	l.must(syscall.Mkfifo(fifo, 0o600))
	good := []byte("version: 1\n" + l.DefaultRule())
	loop := l.path("loop")
	l.must(os.Symlink(loop, loop))
	nested := func(open string) []byte {
		return []byte("version: 1\nrules:\n  - name: x\n    marker: " + strings.Repeat(open, 100_000) + "\n")
	}
	aliases := "version: 1\na: &a [x, x, x, x, x, x, x, x, x]\n"
	for i := range 12 {
		from, to := string(rune('a'+i)), string(rune('b'+i))
		aliases += to + ": &" + to + " [" + strings.Repeat("*"+from+", ", 8) + "*" + from + "]\n"
	}
	return []noGood{
		{name: "missing", path: l.path("missing"), says: []string{"no such file"}},
		{name: "empty name", path: "", says: []string{"the name of the file is empty: give a file"}},
		{name: "unreadable", path: write("unreadable", good, 0o600), uid: nobody, says: []string{"permission denied"}},
		{name: "empty", path: write("empty", nil, 0o644), says: []string{"empty", "hint: "}},
		{name: "comments only", path: write("comments", []byte("# nothing\n"), 0o644), says: []string{"hint: "}},
		{name: "broken", path: write("broken", []byte("version: 1\nrules: [\n"), 0o644), says: []string{":2:"}},
		{name: "cut short", path: write("cut", good[:len(good)-4], 0o644), says: []string{":5:"}},
		{name: "not rules", path: write("list", []byte("- a\n- b\n"), 0o644), says: []string{":1:1: ", "hint: "}},
		{name: "no rules", path: write("norules", []byte("version: 1\nrules: []\n"), 0o644), says: []string{":2:"}},
		{name: "5 MiB", path: write("huge", append(good, bytes.Repeat([]byte("# more\n"), 5<<20/7)...), 0o644), says: []string{"the limit is 1048576"}},
		{name: "/dev/zero", path: "/dev/zero", says: []string{"no regular file"}},
		{name: "/dev/zero of a user", path: "/dev/zero", uid: nobody, says: []string{"no regular file"}},
		{name: "/dev/null", path: "/dev/null", says: []string{"no regular file"}},
		{name: "/dev/null of a user", path: "/dev/null", uid: nobody, says: []string{"no regular file"}},
		{name: "nested lists", path: write("lists", nested("["), 0o644), says: []string{":"}},
		{name: "nested maps", path: write("maps", nested("{a: "), 0o644), says: []string{":"}},
		{name: "nested blocks", path: write("blocks", nested("- "), 0o644), says: []string{":"}},
		{name: "a billion laughs", path: write("laughs", []byte(aliases), 0o644), says: []string{":"}},
		{name: "binary", path: write("binary", []byte("\x7fELF\x02\x01\x01\x00\xff\xfe\x00rules:"), 0o644), says: []string{":1:"}},
		{name: "a folder", path: l.Dir, says: []string{"is a folder: give a file"}},
		{name: "a fifo without a writer", path: fifo, says: []string{"empty"}},
		{name: "a link to nothing", path: link("dangling", l.path("nowhere")), says: []string{"no such file"}},
		{name: "a link to itself", path: loop, says: []string{"too many levels of symbolic links"}},
		{name: "below a file", path: l.File("file", "") + "/rules.yaml", says: []string{"not a directory"}},
		{name: "others may write", path: write("others", good, 0o646), says: []string{"can be written by others (mode 0646)", "chmod go-w "}},
		{name: "the group may write", path: write("group", good, 0o664), says: []string{"can be written by others (mode 0664)", "chmod go-w "}},
	}
}

// A rules file that cannot be used is an error that says what is wrong and what
// to do, however the file was named; nothing is signalled by any other rules
// instead.
func TestUnusableRulesFiles(t *testing.T) {
	lab := newLab(t)
	victim, notes := lab.Canary(Spec{Env: []string{lab.Mark(lab.Dead())}, Leader: true})
	lab.WouldStop(lab.DryRun(), victim)
	for _, bad := range lab.badFiles() {
		if bad.uid != 0 {
			lab.needUser(bad.uid)
		}
		res := lab.Run(Run{Args: []string{"--rules", lab.rules, "--rules", bad.path}, UID: bad.uid, Text: true})
		if res.Exit != 2 || res.Stdout != "" || !victim.Running() {
			t.Errorf("%s: status %d, %s, %q", bad.name, res.Exit, victim.State(), res.Stdout)
		}
		lab.saysErrors(res, bad.says...)
		if len(res.Stderr) > 32<<10 {
			t.Errorf("%s: %d bytes of error", bad.name, len(res.Stderr))
		}
		if bad.path != "" && bad.uid == 0 {
			res = lab.through([]string{"env", "REAPER_RULES=" + bad.path}, Run{Command: "explain", Args: []string{itoa(victim.PID)}})
			if res.Exit != 2 || res.Stdout != "" {
				t.Errorf("%s in REAPER_RULES: status %d, %q", bad.name, res.Exit, res.Stdout)
			}
		}
	}
	if got := notes(); len(got) > 0 {
		t.Errorf("signalled: %v", got)
	}
}

// Whoever can write a rules file decides what is stopped: root, and a sweep of
// all users' processes, take none that others own or can write. Who judges only
// his own processes may share a file.
func TestRulesFilesOfOthers(t *testing.T) {
	lab := newLab(t)
	lab.needUser(nobody)
	const third = 12345
	file := func(owner int, mode os.FileMode) string {
		t.Helper()
		path := lab.File("rules.yaml", "version: 1\n"+lab.DefaultRule())
		lab.must(os.Chown(path, owner, owner))
		lab.must(os.Chmod(path, mode))
		return path
	}
	linked := lab.path("link")
	lab.must(os.Symlink(file(0, 0o644), linked))
	lab.must(os.Lchown(linked, nobody, nobody))
	victim, notes := lab.Canary(Spec{Env: []string{lab.Mark(lab.Dead())}, Leader: true})
	for _, test := range []struct {
		name     string
		path     string
		uid      int
		allUsers bool
		refused  string // empty: accepted
	}{
		{"root's own", file(0, 0o644), 0, false, ""},
		{"root's own, private", file(0, 0o600), 0, true, ""},
		{"another's, for root", file(nobody, 0o644), 0, false, "belongs to user 65534"},
		{"another's, for root and all users", file(nobody, 0o600), 0, true, "belongs to user 65534"},
		{"all may write, for root", file(0, 0o666), 0, false, "can be written by others (mode 0666)"},
		{"another's link to root's", linked, 0, false, ""},
		{"root's, for a user", file(0, 0o644), nobody, false, ""},
		{"root's, for a user and all users", file(0, 0o644), nobody, true, ""},
		{"a third one's, for a user", file(third, 0o644), nobody, false, ""},
		{"a third one's, for a user and all users", file(third, 0o644), nobody, true, "belongs to user 12345"},
		{"all may write, for a user", file(nobody, 0o666), nobody, false, ""},
		{"all may write, for a user and all users", file(nobody, 0o666), nobody, true, "can be written by others (mode 0666)"},
	} {
		args := []string{"--rules", test.path, "--dry-run"}
		if test.allUsers {
			args = append(args, "--all-users")
		}
		if test.refused == "" {
			lab.Run(Run{Args: args, UID: test.uid, Status: 0})
			continue
		}
		res := lab.Run(Run{Args: args[:len(args):len(args)], UID: test.uid, Text: true})
		if res.Exit != 2 || res.Stdout != "" {
			t.Errorf("%s: status %d, %q", test.name, res.Exit, res.Stdout)
		}
		lab.saysErrors(res, test.refused, "who could change what is stopped: ch", test.path)
		show := []string{"show", "--rules", test.path}
		if test.allUsers {
			show = append(show, "--all-users")
		}
		lab.Run(Run{Command: "rules", Args: show, UID: test.uid, Status: 2, Text: true})
	}
	if got := notes(); len(got) > 0 || !victim.Running() {
		t.Errorf("signalled: %v", got)
	}
}

// Rules may come from another command, by process substitution.
func TestRulesFromACommand(t *testing.T) {
	lab := newLab(t)
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	rules := lab.File("part.yaml", "version: 1\nadopters: ["+initName+"]\n"+lab.DefaultRule())
	orphan := lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(900)...)
	argv := strings.Join(lab.Argv(Run{Args: []string{"--rules", "@"}}), " ")
	script := strings.Replace(argv, "--rules @", "--rules <(cat "+rules+")", 1)
	res := lab.through([]string{bash, "-c", script, "bash"}, Run{Args: []string{"--rules", rules}, Text: true, Status: 0})
	lab.decode(&res)
	lab.Stopped(res, orphan)
	if !strings.HasPrefix(res.Doc.Rules, "/dev/fd/") {
		t.Errorf("rules of %s", res.Doc.Rules)
	}
}

// What /proc is not its own process table is no table at all: status 4, with
// the command that mends it. An empty one never counts as "nothing found".
func TestNoProcessTable(t *testing.T) {
	lab := newLab(t)
	if _, err := exec.LookPath("unshare"); err != nil {
		t.Skip("no unshare(1)")
	}
	victim, notes := lab.Canary(Spec{Env: []string{lab.Mark(lab.Dead())}, Leader: true})
	lab.WouldStop(lab.DryRun(), victim)
	private := func(script string) []string {
		return []string{"unshare", "--mount", "--propagation", "private", "sh", "-c", "set -e\n" + script + "\nexec \"$@\"", "sh"}
	}
	const advice = "mount -t proc proc /proc"
	for _, test := range []struct {
		name    string
		wrapper []string
		says    string
	}{
		{"an empty tmpfs", private("mount -t tmpfs none /proc"), "/proc is not mounted"},
		{"a tmpfs with a process in it", private("mount -t tmpfs none /proc; mkdir /proc/1; echo '1 (init) S 0 1 1 0 -1' >/proc/1/stat; ln -s 1 /proc/self"), "/proc is not mounted"},
		{"a plain folder", private("mount --bind " + lab.Dir + " /proc"), "/proc is not mounted"},
		{"an unreadable folder", private("mount -t tmpfs -o mode=0 none /proc"), "/proc is not mounted"},
		{"of the namespace outside", []string{"unshare", "--pid", "--fork"}, "/proc belongs to another pid namespace"},
		{"of the namespace inside", []string{"sh", "-c", `exec unshare --mount --propagation private sh -c 'unshare --pid --fork mount -t proc proc /proc; exec "$@"' sh "$@"`, "sh"}, "/proc belongs to another pid namespace"},
	} {
		for _, r := range []Run{{}, {Args: []string{"--dry-run", "--quiet"}}, {Command: "explain", Args: []string{itoa(victim.PID)}}} {
			r.Text = true
			res := lab.through(test.wrapper, r)
			if res.Exit != 4 || res.Stdout != "" {
				t.Errorf("%s %v: status %d, %q", test.name, r.Args, res.Exit, res.Stdout)
			}
			lab.saysErrors(res, "cannot read the process table: "+test.says, advice)
		}
	}
	if got := notes(); len(got) > 0 || !victim.Running() {
		t.Errorf("signalled: %v", got)
	}
}

// A name that would move the cursor is shown as text.
func TestHostileRulesFileName(t *testing.T) {
	lab := newLab(t)
	hostile := lab.Dir + "/\x1b[2Jx\nreaper: all is well\u202e"
	for _, r := range []Run{{Args: []string{"--rules", hostile}}, {Command: "rules", Args: []string{"check", hostile}}} {
		r.Text, r.Status = true, 2
		res := lab.Run(r)
		lab.saysErrors(res, `\x1b[2Jx\nreaper: all is well\u202e`)
		if strings.ContainsAny(res.Stderr, "\x1b\u202e") || strings.Count(res.Stderr, "\n") != 1 {
			t.Errorf("%q", res.Stderr)
		}
	}
}
