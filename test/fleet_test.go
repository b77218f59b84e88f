//go:build linux

package test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// fleetSweep runs a command of a fleet's file with the lab's own paths, and
// demands what it stops, spares, logs and counts.
func (l *Lab) fleetSweep(argv []string, metrics string) {
	l.t.Helper()
	orphan := l.OrphanLeader([]string{l.Mark(l.Dead())}, l.Sleep(900)...)
	owned := l.OrphanLeader([]string{l.Mark(l.Live())}, l.Sleep(901)...)
	this, _ := l.launch(Spec{Bare: true, Argv: argv, Env: l.withPath(), Leader: true})
	this.Out, this.Err = l.path("stdout"), l.path("stderr")
	l.finish(this)
	res := l.Collect(this.Out, this.Err, 0, nil)
	if orphan.Running() || !owned.Running() {
		l.t.Errorf("%s, %s: %s%s", orphan.State(), owned.State(), res.Stdout, res.Stderr)
	}
	logged := false
	for line := range strings.Lines(res.Stderr) {
		var entry struct {
			PID          int
			Outcome, Why string
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil {
			l.t.Errorf("no JSON: %s", line)
		}
		logged = logged || entry.PID == orphan.PID && entry.Outcome == "stopped" && entry.Why != ""
	}
	if !logged {
		l.t.Errorf("not logged: %s", res.Stderr)
	}
	if metrics == "" {
		return
	}
	for _, name := range regexp.MustCompile(`reaper_\w+`).FindAllString(string(readAll(l.t, "fleet/alerts.yaml")), -1) {
		if !strings.Contains(string(readAll(l.t, metrics)), "\n"+name+" ") {
			l.t.Errorf("the alerts ask for %s, which no sweep writes", name)
		}
	}
}

// Guards the units for configuration management: systemd takes them, and their
// command line does what the README says.
func TestFleetUnits(t *testing.T) {
	lab := newLab(t)
	lab.Rules(lab.DefaultRule())
	metrics := filepath.Join(lab.Dir, "reaper.prom")
	service := strings.NewReplacer("/usr/local/bin/reaper", reaperBinary(t), "/etc/reaper/rules.yaml", lab.rules, "/var/lib/prometheus/node-exporter/reaper.prom", metrics).
		Replace(string(readAll(t, "fleet/reaper.service")))
	_, line, _ := strings.Cut(service, "ExecStart=")
	line, _, _ = strings.Cut(line, "\n")
	lab.fleetSweep(strings.Fields(line), metrics)

	lab.needProgram("systemd-analyze")
	units := []string{filepath.Join(lab.Dir, "reaper.service"), filepath.Join(lab.Dir, "reaper.timer")}
	for i, text := range []string{service, string(readAll(t, "fleet/reaper.timer"))} {
		lab.must(os.WriteFile(units[i], []byte(text), 0o644))
	}
	if out, err := exec.Command("systemd-analyze", append([]string{"verify", "--man=no"}, units...)...).CombinedOutput(); err != nil || strings.Contains(string(out), "reaper.") {
		t.Errorf("%v: %s", err, out)
	}
}

// Guards the DaemonSet's command, by the shell and without a cluster.
func TestFleetDaemonSet(t *testing.T) {
	lab := newLab(t)
	lab.Rules(lab.DefaultRule())
	var set struct {
		Spec struct {
			Template struct {
				Spec struct {
					HostPID    bool `yaml:"hostPID"`
					Containers []struct{ Command []string }
				}
			}
		}
	}
	if err := yaml.Unmarshal(readAll(t, "fleet/daemonset.yaml"), &set); err != nil {
		t.Fatal(err)
	}
	pod := set.Spec.Template.Spec
	if !pod.HostPID || len(pod.Containers) != 1 {
		t.Fatalf("%+v", pod)
	}
	lab.withPath()
	lab.must(os.WriteFile(filepath.Join(lab.Dir, "bin", "sleep"), []byte("#!/bin/sh\n[ \"$1\" != 600 ]\n"), 0o755)) // ends the loop
	command := pod.Containers[0].Command
	script := strings.ReplaceAll(command[2], "/etc/reaper/rules.yaml", lab.rules)
	lab.fleetSweep([]string{command[0], command[1], script}, "")
}
