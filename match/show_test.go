package match

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What show prints is a rules file: loading it gives the same rules, whatever
// their texts look like to YAML.
func TestShowLoadsAgain(t *testing.T) {
	file := `version: 1
adopters: [relay, "no"]
protect: ["tmux: server", '*/node x']
stop: {grace: 90s}
rules:
  - name: "no"
    command: [daemon/main.ts, "re:^a b$", "*/node", 'x "y"']
    marker: [A, "B=<tmp>/roost-*", "C=@x"]
    orphan:
      - follows: A
      - gone: B
      - over: 1536MiB
      - unowned: "worker --x"
    older_than: 2h
    action: report
    stop: {confirm: 1500ms}
  - name: plain
    command: [x]
    marker: none
    orphan: [adopted]
`
	rules, err := Load("rules.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	shown := rules.Show()
	again, err := Load("rules.yaml", []byte(shown))
	if err != nil {
		t.Fatalf("%v\nin:\n%s", err, shown)
	}
	if diff := cmp.Diff(rules, again, cmp.AllowUnexported(Rules{})); diff != "" {
		t.Errorf("rules changed (-before +after):\n%s\nshown:\n%s", diff, shown)
	}
}
