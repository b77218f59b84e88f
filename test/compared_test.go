//go:build linux

package test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// compared is what a killed run left, and what is beside it.
type compared struct {
	*Lab
	value string // of the marker
	file  string // the script that all of them run
	all   []Proc // in the order of the table's columns
}

func (l *Lab) compared() compared {
	l.t.Helper()
	c := compared{Lab: l, value: itoa(l.Dead()), file: filepath.Join(l.folder("src"), "main.ts")}
	left := []string{l.Parent + "=" + c.value}
	node := Spec{Role: "idle", Argv: []string{"node", c.file}, Env: left, Leader: true}
	orphan, deaf, own, live := node, node, node, node
	orphan.Role, orphan.Adopted, deaf.Adopted, own.Adopted = "", true, true, true
	deaf.Role, own.Env, live.Env = "deaf", nil, []string{l.Mark(l.Live())}
	head, child := l.Forker(orphan, "once", Spec{Role: "idle", Argv: []string{"esbuild", "--service"}, Env: left})
	_, below := l.adopter(Spec{Exe: l.program("systemd"), Argv: []string{"/usr/lib/systemd/systemd", "--user"}}, node)
	c.all = []Proc{head, below[0], child[0], l.Start(deaf), l.Start(live), l.Start(own),
		l.Start(Spec{Role: "idle", Argv: []string{"tail", "-f", c.file}})}
	return c
}

// fates is a table's row of what became of all.
func (c compared) fates() string {
	var row []string
	for _, p := range c.all {
		if p.Running() {
			row = append(row, "runs")
		} else {
			row = append(row, "ended")
		}
	}
	return strings.Join(row, " | ")
}

var comparedRow = regexp.MustCompile("(?m)^\\| `(.+)` \\| ((?:runs|ended)(?: \\| (?:runs|ended)){6}) \\|$")

// Guards the README's comparison: each of its commands does to seven processes
// what its row says.
func TestCompared(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := comparedRow.FindAllStringSubmatch(string(text), -1)
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		t.Run(strings.Fields(row[1])[0], func(t *testing.T) {
			lab := newLab(t)
			for _, program := range []string{"pkill", "ps", "awk", "grep"} {
				lab.needProgram(program)
			}
			c := lab.compared()
			lab.Rules("rules: [{name: left, command: [main.ts], marker: [" + lab.Parent + "], orphan: [follows: " + lab.Parent + "]}]\n")
			command := strings.NewReplacer(`\|`, "|", "main.ts", c.file, "RUN=7", lab.Parent+"="+c.value).Replace(row[1])
			if strings.HasPrefix(command, "reaper ") {
				lab.Sweep("--grace", "300ms")
			} else {
				lab.finishes(Spec{Argv: []string{"sh", lab.File("script", command+"\n")}})
			}
			if !poll(patience, func() bool { return c.fates() == row[2] }) {
				t.Errorf("%s\nin the table: %s\nit is:        %s", command, row[2], c.fates())
			}
		})
	}
}
