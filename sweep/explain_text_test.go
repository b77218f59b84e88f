package sweep

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"reaper/match"
	"reaper/platform"
)

func (m *tableMachine) Now() time.Time { return time.Unix(0, 0) }
func (m *tableMachine) Ticks() uint64  { return 100_000 }
func (m *tableMachine) Usage(pids []int) []platform.Usage {
	return slices.Repeat([]platform.Usage{{RSS: 48 << 20, User: "ann"}}, len(pids))
}

const explainRules = `
version: 1
protect: ["re:^node /home/ann/my-own.*"]
rules:
  - name: roost-tests
    command: [host/main.ts, agent/main.ts, my-own-server.ts, tmux, sh]
    marker: [PI_ROOST_PARENT_PID, PI_ROOST_HOME=<tmp>/roost-*]
    orphan: [follows: PI_ROOST_PARENT_PID, gone: PI_ROOST_HOME, adopted]
  - name: workers
    command: [worker]
    marker: none
    orphan: [{unowned: "vitest --run --a-flag-that-makes-this-one-long"}]
    older_than: 10m
    action: report
`

// explainPicture is a machine with one process of each kind that explain tells apart.
const explainPicture = `
	203 systemd
	  410 host PI_ROOST_PARENT_PID=407
	    411 agent PI_ROOST_PARENT_PID=407 group:410 session:410
	      412 sh group:410 session:410
	      413 ssh-agent
	    420 agent PI_ROOST_PARENT_PID=500
	500 vitest tty session:490
	  510 agent PI_ROOST_PARENT_PID=500 session:490 group:500
	    511 worker session:490 group:500
	520 my-own PI_ROOST_PARENT_PID=407
	530 worker born:99000
	531 worker
	540 agent user:7 hush
	550 kernel parent:0 group:0 session:0
	560 agent zombie parent:500
	570 bash tty
	  571 agent PI_ROOST_PARENT_PID=407 tty session:570
	  572 hostile PI_ROOST_PARENT_PID=407 session:570
	580 other parent:579
`

var explainCommands = map[string][]string{
	"host":    {"node", "--import", "tsx", "/home/ann/code/roost/src/host/main.ts", "--session", "3f2a"},
	"agent":   {"node", "--import", "tsx", "/home/ann/code/roost/src/agent/main.ts", "--host", "410", "--model", "tiny", "--cwd", "/tmp/roost-x1/repo"},
	"sh":      {"sh", "-c", "tail -f /tmp/roost-x1/log | grep --line-buffered error"},
	"my-own":  {"node", "/home/ann/my-own-server.ts"},
	"systemd": {"/usr/lib/systemd/systemd", "--user"},
	"vitest":  {"node", "/x/node_modules/.bin/vitest", "run"},
	"hostile": {"node", "\x1b[31m/x/agent/main.ts", "日本語のとても長い引数がここに続いていきますので途中で切られるはずです", strings.Repeat("y", 5000)},
}

// explanation is what is said of these processes of the picture.
func explanation(t *testing.T, pids ...int) *Explanation {
	t.Helper()
	rules, err := match.Load("/home/ann/.config/reaper/rules.yaml", []byte(explainRules))
	if err != nil {
		t.Fatal(err)
	}
	rows := draw(t, explainPicture).rows
	for i := range rows {
		if argv := explainCommands[rows[i].Comm]; argv != nil && len(rows[i].Argv) > 0 {
			rows[i].Argv = argv
		}
	}
	p := planOf(rules, rows)
	p.assess(context.Background(), p.reading)
	accounts, kin, stand := p.accounts(context.Background(), pids)
	p.promise()
	e := &Explanation{Report: *p.report(), Gone: []Gone{{9, 0, "no such process"}, {10, 5, "it has exited: its pid is used again, by 10@77"}}}
	for i, pid := range pids {
		e.Explained = append(e.Explained, p.explained(context.Background(), p.reading.table.Get(pid), accounts[i], kin[i], stand[i]))
	}
	e.keepOnly(pids)
	return e
}

// Guards what a person reads, at both widths and in a pipe, and that no line is
// wider than the terminal.
func TestExplanationText(t *testing.T) {
	e := explanation(t, 410, 411, 413, 420, 500, 510, 511, 520, 530, 531, 540, 550, 560, 571, 572, 580, 1)
	for name, v := range map[string]View{"80": at80, "200": at200, "pipe": piped} {
		var out bytes.Buffer
		if err := e.Text(&out, v); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if line = strings.TrimSuffix(line, "\n"); v.Width > 0 && columns(line) > v.Width || strings.TrimRight(line, " ") != line || strings.Contains(line, "\x1b") {
				t.Errorf("%s: %d columns: %q", v, columns(line), line)
			}
		}
		golden(t, "text/explain-"+name+".golden", out.String())
	}
}

// Guards what a program reads: its keys, and lists that are there where they are empty.
func TestExplanationDocument(t *testing.T) {
	e := explanation(t, 411, 550)
	raw, err := json.MarshalIndent(map[string]any{"explained": e.Explained, "gone": e.Gone}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "json/explain.golden", string(raw)+"\n")
}
