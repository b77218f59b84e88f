package platform

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// overrunTitle is a title that covers the arguments and cuts the first variable
// after its front, to be ended by a NUL.
func overrunTitle(args []string, front, text string) string {
	n := len(block(args...)) + len(front) - 1
	return (text + strings.Repeat("x", n))[:n] + "\x00"
}

func TestTitles(t *testing.T) {
	args := []string{"program", "argument", "and another argument that gives room"}
	cut := "note=" + mark + "=1" // its tail is a marker once a title cut it
	for _, row := range []struct {
		name, title string
		env         []string
		scanned     []Var // before the command line is read
		vars        []Var
		argv        []string
	}{
		{
			name: "within", title: "my title" + strings.Repeat("\x00", len(block(args...))-8), env: []string{mark + "=1", "A=b"},
			scanned: []Var{{mark, "1"}}, vars: []Var{{mark, "1"}}, argv: []string{"my", "title"},
		},
		{
			name: "over", title: overrunTitle(args, "note=", "my title "), env: []string{cut, "A=b", mark + "_TWO=2"},
			vars: []Var{{mark + "_TWO", "2"}}, scanned: []Var{{mark + "_TWO", "2"}},
		},
		{
			name: "over, with =", title: overrunTitle(args, "note=", "k="+strings.Repeat("=", 200)), env: []string{cut, "A=b", mark + "_TWO=2"},
			scanned: []Var{{mark, "1"}, {mark + "_TWO", "2"}}, vars: []Var{{mark + "_TWO", "2"}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			// The helper's own role stands last, so that the title cuts a variable of the test.
			c := helper(t, "title", nil, args, func(cmd *exec.Cmd) { cmd.Env = append(slices.Clone(row.env), cmd.Env...) })
			c.line(t)
			line, _ := json.Marshal(row.title)
			c.tell(t, "%s", line)
			c.line(t)
			r := reader(t)
			census := scan(t, r, marked)
			if p := census.row(t, c.pid); !slices.Equal(p.Vars, row.scanned) {
				t.Errorf("scanned %v", p.Vars)
			}
			survey(t, r, census, marked)
			r.Inspect(t.Context(), census, []int{c.pid}, marked)
			p := census.row(t, c.pid)
			if !slices.Equal(p.Vars, row.vars) || !p.Titled || row.argv != nil && !slices.Equal(p.Argv, row.argv) {
				t.Errorf("titled %v %q, %v", p.Titled, p.Argv, p.Vars)
			}
			if q := scan(t, r, Query{Argv: true}).row(t, c.pid); !slices.Equal(q.Argv, p.Argv) {
				t.Errorf("scanned: %q", q.Argv)
			}
		})
	}
}

func TestTitlesOfOthers(t *testing.T) {
	for _, row := range []struct {
		tool, script string
		args         []string
		argv         []string
		env          EnvState
	}{
		{"node", `process.title="node (vitest 2)"; console.log("up"); process.stdin.resume(); process.stdin.on("end", () => process.exit())`, []string{"-e"}, []string{"node", "(vitest", "2)"}, EnvPresent},
		// perl blanks all it can have, the environment too, whatever the title's length.
		{"perl", `$| = 1; $0 = "my title"; print "up\n"; <STDIN>`, []string{"-e"}, []string{"my", "title"}, EnvOverwritten},
		{"perl", `$| = 1; $0 = "title"x900; print "up\n"; <STDIN>`, []string{"-e"}, nil, EnvOverwritten},
	} {
		t.Run(row.tool, func(t *testing.T) {
			c := start(t, &exec.Cmd{
				Path: tool(t, row.tool), Args: append(append([]string{row.tool}, row.args...), row.script, "/x/daemon/main.ts"),
				Env: []string{"A=b", "C=d", mark + "=1"},
			})
			c.line(t)
			r := reader(t)
			census := scan(t, r, marked)
			survey(t, r, census, marked)
			r.Inspect(t.Context(), census, []int{c.pid}, marked)
			p := census.row(t, c.pid)
			if !p.Titled || p.Env != row.env || row.argv != nil && !slices.Equal(p.Argv, row.argv) || (len(p.Vars) == 1) != (row.env == EnvPresent) {
				t.Errorf("titled %v %q, environment %d %v", p.Titled, p.Argv, p.Env, p.Vars)
			}
		})
	}
}

// tool finds a program of the machine.
func tool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("needs %s: %v", name, err)
	}
	return path
}
