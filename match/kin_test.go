package match

import (
	"strings"
	"testing"

	"reaper/platform"
)

// Guards the part of each ancestor of process 50, by its name and with its facts.
func TestRoles(t *testing.T) {
	any := []string{"marker: [M], orphan: [follows: M, adopted]"}
	unowned := []string{"command: [job.js], marker: none, orphan: [unowned: owner]"}
	manager := proc(30, argv("/usr/lib/systemd/systemd", "--user"), comm("systemd"))
	for _, c := range []struct {
		name  string
		rules []string
		scene *scene
		want  string // of each ancestor its roles
	}{
		{"adopted by init", any, table(proc(50, mark("M=42"))), "adopter"},
		{"adopted by a user's manager", any, table(proc(50, parent(30), mark("M=42")), manager).but(program(30, platform.Yes)), "adopter; adopter"},
		{"below a live parent", any, table(proc(50, parent(40), mark("M=42")), proc(40)), "parent; adopter"},
		{"no known init", any, table(proc(50, mark("M=42")), proc(1, parent(0), argv("sh"), start(1))), "parent"},
		{"a terminal's shell", any, table(proc(50, parent(40), mark("M=42")), proc(40, argv("bash"), foreground)), "parent,on-terminal; adopter"},
		{"followed", any, table(proc(50, parent(42), mark("M=42")), proc(42)), "parent,followed; adopter"},
		{"a follower", any, table(proc(50, parent(40), mark("M=42")), proc(40, mark("M=43")), proc(43)), "parent,follower; adopter"},
		{"protected", any, table(proc(50, parent(40), mark("M=42")), proc(40, argv("tmux"))), "parent,protected; adopter"},
		{"a service", any, table(proc(50, parent(40), mark("M=42")), proc(40, mark(SystemdMark+"=40"))), "parent,service; adopter"},
		{"another user's", any, table(proc(50, parent(40), mark("M=42")), proc(40, user(7))), "parent,other-user; adopter"},
		{"unreadable", any, table(proc(50, parent(40), mark("M=42")), proc(40, noArgv, unreadable)), "unknown,environment-unreadable; adopter"},
		{"exited", any, table(proc(50, parent(40), mark("M=42")), proc(40, zombie)), "unknown,exited; adopter"},
		{"below the sweeper", any, table(proc(50, parent(sweeper), start(9500), mark("M=42"))), "parent,sweeper; parent,sweeper; adopter"},
		{"owned", unowned, table(proc(50, parent(45)), proc(45, parent(40)), proc(40, argv("owner"))), "parent,launcher; parent,owner; adopter"},
		{"entered from outside", any, table(proc(50, parent(0))), ""},
	} {
		j := c.scene.judge(t, rulesOf(t, c.rules...))
		p := j.judge.world.Table.Get(50)
		up, _ := j.judge.world.Table.Ancestors(50)
		var got []string
		for child := p; len(up) > 0; up = up[1:] {
			ancestor := j.judge.world.Table.Get(up[0])
			for range 4 {
				j.Roles(ancestor, child, p)
				for _, f := range j.Needs() {
					j.judge.facts[f] = c.scene.answer(f)
					delete(j.judge.needs, f)
				}
			}
			var roles []string
			for _, r := range j.Roles(ancestor, child, p) {
				roles = append(roles, string(r.Is))
			}
			got, child = append(got, strings.Join(roles, ",")), ancestor
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q instead of %q", c.name, strings.Join(got, "; "), c.want)
		}
	}
}
