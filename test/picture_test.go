//go:build linux

package test

import (
	"flag"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The picture of the README is a dry run on a terminal, as it was.

var picture = flag.Bool("picture", false, "draw .github/dry-run.svg anew; takes three minutes, so that the processes have an age")

const (
	pictureFile    = "../.github/dry-run.svg"
	pictureColumns = 88
)

const pictureRules = `version: 1
rules:
  - name: roost-tests
    command: [daemon/main.js, host/main.js, stress/agent.js]
    marker: [PI_ROOST_PARENT_PID, PI_ROOST_HOME=<tmp>/roost-*]
    orphan: [follows: PI_ROOST_PARENT_PID, adopted]
`

// pictured are the processes of the picture: what a killed run has left, one that
// only its home tells, a live run, and a server that somebody's shell started.
func (l *Lab) pictured() {
	l.t.Helper()
	l.needProgram("node")
	ready, dir := l.fifo(), l.path("roost")
	node := func(script, text string, args ...string) Spec {
		path := filepath.Join(dir, "src", script)
		l.must(os.MkdirAll(filepath.Dir(path), 0o755))
		l.must(os.WriteFile(path, []byte(text+`;require("fs").appendFileSync("`+ready.path+`", "up\n"); setInterval(() => {}, 1e6)`), 0o644))
		return Spec{Argv: append([]string{"node", path}, args...), Env: []string{"PI_ROOST_PARENT_PID=" + fmt.Sprint(launcherPID)}, Leader: true}
	}
	watcher := `require("child_process").spawn("sh", ["-c", "tail -f daemon.log | grep error"], {stdio: "ignore", cwd: "` + dir + `/src"})`
	daemon, host := node("daemon/main.js", watcher, "--port", "0"), node("host/main.js", `globalThis.kept = Buffer.alloc(2e8, 1)`, "--session", "77aa")
	specs := []Spec{daemon, host}
	for i := range 5 {
		specs = append(specs, node("stress/agent.js", "", "--seed", fmt.Sprint(i)))
	}
	l.must(os.WriteFile(filepath.Join(dir, "src/daemon.log"), nil, 0o644))
	run, _ := l.Forker(Spec{Leader: true}, "once", specs...)
	alone := node("host/main.js", `globalThis.kept = Buffer.alloc(2e8, 1)`, "--session", "3f2a")
	alone.Env = []string{"PI_ROOST_HOME=/tmp/roost-3f2a"}
	l.adopter(Spec{Exe: l.program("systemd"), Argv: []string{"/usr/lib/systemd/systemd", "--user"}}, alone)
	for range len(specs) + 1 {
		l.line(ready, "a node program")
	}
	l.Find("grep", "error")
	l.Kill(run)
	if *picture {
		<-time.After(150 * time.Second)
	}
	live, host := node("daemon/main.js", "", "--port", "0"), node("host/main.js", "", "--session", "90c1")
	l.Forker(Spec{Leader: true}, "once", live, host)
	for range 2 {
		l.line(ready, "a node program of the live run")
	}
	l.Start(Spec{Role: "idle", Argv: []string{"tmux", "new-session", "-d", filepath.Join(dir, "src/daemon/main.js")}, Env: []string{"PI_ROOST_PARENT_PID=" + itoa(l.Dead())}, Leader: true, Adopted: true})
	if *picture {
		<-time.After(20 * time.Second)
	}
}

// TestPicture guards the README's picture: it is what a dry run shows by now, but
// for numbers. go test ./test -run TestPicture -picture draws it anew.
func TestPicture(t *testing.T) {
	lab := newSerialLab(t)
	lab.pictured()
	config := filepath.Join(lab.Dir, ".config/reaper")
	lab.must(os.MkdirAll(config, 0o755))
	lab.must(os.WriteFile(filepath.Join(config, "rules.yaml"), []byte(pictureRules), 0o644))
	screen := lab.watch()
	this, _ := lab.launch(Spec{Argv: []string{"sh", "-c", `stty cols ` + fmt.Sprint(pictureColumns) + `; exec "$0" sweep --dry-run`, reaperBinary(t)}, Env: []string{quickExit, "TERM=xterm-256color"}, TTY: screen.path, Leader: true})
	if status := lab.finish(this); status != 0 {
		t.Fatalf("status %d: %s", status, screen)
	}
	lab.eventually("all of the report", func() bool {
		return strings.Contains(screen.String(), " would be stopped; ") && strings.HasSuffix(screen.String(), "\n")
	})
	shown := "$ reaper sweep --dry-run\n" + strings.ReplaceAll(screen.String(), "\r", "")
	if *picture {
		lab.must(os.WriteFile(pictureFile, []byte(draw(strings.Split(strings.TrimSuffix(shown, "\n"), "\n"))), 0o644))
	}
	if drawn := written(string(readAll(t, pictureFile))); numberless(drawn) != numberless(shown) {
		t.Errorf("the picture is an old one: go test ./test -run TestPicture -picture draws it anew\nnow:\n%s\nin the picture:\n%s", shown, drawn)
	}
}

const (
	cellWidth, lineHeight, margin = 8.4, 19, 16
	dark, light, dim              = "#16181d", "#d6d9df", "#8a919e"
)

// draw is an SVG of lines on a terminal. Each line is as wide as its cells,
// whatever the font.
func draw(lines []string) string {
	var b strings.Builder
	width, height := int(math.Ceil(pictureColumns*cellWidth))+2*margin, len(lines)*lineHeight+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" aria-label="reaper sweep --dry-run in a terminal">
<rect width="100%%" height="100%%" rx="8" fill="%s"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" fill="%s">
`, width, height, width, height, dark, light)
	for i, line := range lines {
		colour := ""
		if i == 0 {
			colour = fmt.Sprintf(` fill="%s"`, dim)
		}
		text := strings.TrimLeft(line, " ")
		if text == "" {
			continue
		}
		indent, cells := len(line)-len(text), len([]rune(text))
		fmt.Fprintf(&b, `<text xml:space="preserve" x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs"%s>%s</text>`+"\n",
			margin+float64(indent)*cellWidth, margin+(i+1)*lineHeight-5, float64(cells)*cellWidth, colour, html.EscapeString(text))
	}
	return b.String() + "</g>\n</svg>\n"
}

var drawnLine = regexp.MustCompile(`(?m)^<text .*?>(.*)</text>$`)

// written is the text of a picture, without its indents.
func written(svg string) string {
	var b strings.Builder
	for _, m := range drawnLine.FindAllStringSubmatch(svg, -1) {
		b.WriteString(html.UnescapeString(m[1]) + "\n")
	}
	return b.String()
}

var numbers = regexp.MustCompile(`≤?(?:\d+[dhms] ?)+|\d[\d.]* [KMG]iB|\d+`)

// numberless are the words of a report without its pids, ages and sizes.
func numberless(report string) string {
	return strings.Join(strings.Fields(numbers.ReplaceAllString(report, "# ")), " ")
}
