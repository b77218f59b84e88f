//go:build linux

package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// snippet is a block of code in the README. The comment before it names the file
// that it is, or the tests that run it.
type snippet struct {
	file  string
	tests []string
	text  string
}

var snippetMark = regexp.MustCompile(`^<!-- (?:file: (\S+)|run by (\.ci/run|\w+(?:, \w+)*)) -->$`)

func snippets(t *testing.T) []snippet {
	t.Helper()
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var all []snippet
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(lines[i], "```") {
			continue
		}
		var s snippet
		if mark := snippetMark.FindStringSubmatch(lines[max(i-1, 0)]); mark != nil {
			s.file = mark[1]
			if mark[2] != "" {
				s.tests = strings.Split(mark[2], ", ")
			}
		} else {
			t.Errorf("README.md:%d: nothing before this code says what runs it", i+1)
		}
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			s.text += lines[i] + "\n"
		}
		all = append(all, s)
	}
	return all
}

// readme are the README's blocks that this test runs.
func readme(t *testing.T) []string {
	t.Helper()
	var mine []string
	for _, s := range snippets(t) {
		for _, name := range s.tests {
			if name == t.Name() {
				mine = append(mine, s.text)
			}
		}
	}
	if len(mine) == 0 {
		t.Fatalf("no code in the README is run by %s", t.Name())
	}
	return mine
}

// Guards every piece of code in the README: it is a file that a test runs, or
// taken from the README by a test that runs it.
func TestReadmeIsRun(t *testing.T) {
	tests, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var source strings.Builder
	for _, file := range tests {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source.Write(text)
	}
	for _, s := range snippets(t) {
		if s.file != "" {
			if text, err := os.ReadFile(filepath.Join("..", s.file)); err != nil || string(text) != s.text {
				t.Errorf("README.md: this is not %s (%v):\n%s", s.file, err, s.text)
			}
		}
		for _, name := range s.tests {
			if name == ".ci/run" {
				inScript(t, s)
				continue
			}
			_, body, found := strings.Cut(source.String(), "\nfunc "+name+"(")
			body, _, _ = strings.Cut(body, "\n}\n")
			if !found || !strings.Contains(body, "readme(") {
				t.Errorf("README.md: %s does not run it:\n%s", name, s.text)
			}
		}
	}
}

// inScript demands that .ci/run has each command of a block.
func inScript(t *testing.T, s snippet) {
	t.Helper()
	script, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(s.text) {
		command, _, _ := strings.Cut(line, "#")
		if command = strings.TrimSpace(command); !strings.Contains(string(script), "'"+command+"'") {
			t.Errorf("README.md: .ci/run does not run %s", command)
		}
	}
}

// Guards the README's rules: they are without mistakes, and what they are said
// to match they match.
func TestReadmeRules(t *testing.T) {
	lab := newSerialLab(t)
	file := lab.File("readme.yaml", strings.Join(readme(t), ""))
	lab.must(os.Chmod(file, 0o644))
	dead, live := itoa(lab.Dead()), itoa(lab.Live().PID)
	run := func(pid string) Proc {
		return lab.Start(Spec{Role: "idle", Argv: []string{"node", "--import", "tsx", "/x/daemon/main.ts"}, Env: []string{"PI_ROOST_PARENT_PID=" + pid}, Adopted: true, Leader: true})
	}
	left, kept := run(dead), run(live)
	marked := lab.OrphanLeader([]string{"REAPER_PARENT_PID=" + dead}, lab.Sleep(900)...)
	res := lab.Run(Run{Args: []string{"--rules", file}, Status: 0})
	lab.Stopped(res, left, Through("follows"))
	lab.Stopped(res, marked, Through("follows"))
	lab.Spared(res, kept, "parent-running")
}

func readAll(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
