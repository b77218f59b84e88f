//go:build linux

package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// oddRules is a rules file whose name every kind of job has to escape.
func (l *Lab) oddRules() string {
	l.t.Helper()
	dir := filepath.Join(l.Dir, "100% it's $HOME & <so>")
	l.must(os.Mkdir(dir, 0o755))
	file := filepath.Join(dir, "my rules.yaml")
	l.must(os.WriteFile(file, []byte("version: 1\n"+l.DefaultRule()), 0o644))
	return file
}

// cronScript gives cron a spool, a table of the system and a mailer of its own,
// installs the job as it says, and becomes cron. Arguments: folder with the
// mailer and cron, the command that installs.
const cronScript = `set -e
mount -t tmpfs none /var/spool/cron
mkdir -m 1730 /var/spool/cron/crontabs
mount -t tmpfs none /etc/cron.d
mount -t tmpfs none /run
mount --bind /dev/null /etc/crontab
sh -c "$2"
mount --bind "$1" /usr/sbin
crontab -l >"$1/installed"
exec /usr/sbin/cron -f
`

// Guards the line for cron under the real one: its environment and shell, the
// escapes, the words that install it, and the mail.
func TestCronRunsTheJob(t *testing.T) {
	lab := newLab(t)
	lab.needProgram("crontab")
	if os.Geteuid() != 0 {
		t.Skip("cron wants root")
	}
	sbin := lab.path("sbin")
	lab.must(os.Mkdir(sbin, 0o755))
	mail := lab.fifo()
	lab.must(os.WriteFile(filepath.Join(sbin, "sendmail"), []byte("#!/bin/sh\ntr '\\n' '|' >"+mail.path+"\necho >"+mail.path+"\n"), 0o755))
	cron, err := os.ReadFile(lab.needProgram("cron"))
	lab.must(err)
	lab.must(os.WriteFile(filepath.Join(sbin, "cron"), cron, 0o755))

	job := lab.Run(Run{Command: "schedule", Args: []string{"cron", "--every", "1m", "--rules", lab.oddRules()}, Text: true, Status: 0})
	_, install, found := strings.Cut(job.Stdout, "# Install: ")
	if install, _, _ = strings.Cut(install, "\n"); !found {
		t.Fatalf("%s", job.Stdout)
	}
	orphan := lab.OrphanLeader([]string{lab.Mark(lab.Dead())}, lab.Sleep(900)...)
	owned := lab.OrphanLeader([]string{lab.Mark(lab.Live())}, lab.Sleep(901)...)
	this, _ := lab.launch(Spec{Argv: []string{"unshare", "-m", "sh", "-c", cronScript, "sh", sbin, install}, Env: []string{quickExit}, Leader: true})
	this.Out, this.Err = lab.path("stdout"), lab.path("stderr")
	daemon, err := this.start()
	lab.must(err)
	lab.children[daemon.Pid] = daemon

	if !orphan.awaitExit(3 * time.Minute) { // cron begins with the next minute
		said, _ := os.ReadFile(this.Err)
		t.Fatalf("cron stopped nothing: %s\n%s", said, job.Stdout)
	}
	if text := lab.line(mail, "cron's mail"); !strings.Contains(text, itoa(orphan.PID)) || !strings.Contains(text, "stopped") {
		t.Errorf("mail: %s", text)
	}
	if !owned.Running() {
		t.Errorf("%s was stopped", owned)
	}
	if installed, err := os.ReadFile(filepath.Join(sbin, "installed")); err != nil || !strings.HasSuffix(string(installed), job.Stdout) {
		t.Errorf("%v: %s", err, installed)
	}
}

// Guards installing twice and removing: other lines of the table stay.
func TestCronJobIsInstalledOnceAndRemoved(t *testing.T) {
	lab := newLab(t)
	bin := filepath.Join(lab.Dir, "bin")
	env := lab.withPath()
	// A crontab(1) that keeps its table in a file.
	lab.must(os.WriteFile(filepath.Join(bin, "crontab"), []byte("#!/bin/sh\nif [ \"$1\" = -l ]; then cat \"$HOME/tab\"; else cat >\"$HOME/new\" && mv \"$HOME/new\" \"$HOME/tab\"; fi\n"), 0o755))
	lab.must(os.WriteFile(filepath.Join(lab.Dir, "tab"), []byte("5 4 * * * reaper of another kind\n"), 0o644))
	job := lab.Run(Run{Command: "schedule", Args: []string{"cron", "--rules", lab.oddRules()}, Text: true, Status: 0}).Stdout
	for _, step := range []struct{ comment, want string }{
		{"# Install: ", "5 4 * * * reaper of another kind\n" + job},
		{"# Install: ", "5 4 * * * reaper of another kind\n" + job},
		{"# Remove:  ", "5 4 * * * reaper of another kind\n"},
	} {
		_, command, _ := strings.Cut(job, step.comment)
		command, _, _ = strings.Cut(command, "\n")
		this, _ := lab.launch(Spec{Bare: true, Argv: []string{"sh", "-c", command}, Env: env, Leader: true})
		status := lab.finish(this)
		if tab, err := os.ReadFile(filepath.Join(lab.Dir, "tab")); err != nil || status != 0 || string(tab) != step.want {
			t.Errorf("%s: status %d, %v: %s", step.comment, status, err, tab)
		}
	}
}

// Guards the units by systemd's own check, as the script installs them.
func TestSystemdUnitsAreValid(t *testing.T) {
	lab := newLab(t)
	lab.needProgram("systemd-analyze")
	rules := lab.oddRules()
	job := lab.Run(Run{Command: "schedule", Args: []string{"systemd", "--every", "30m", "--rules", rules}, Text: true, Status: 0}).Stdout
	env := lab.withPath()
	lab.must(os.WriteFile(filepath.Join(lab.Dir, "bin", "systemctl"), []byte("#!/bin/sh\necho \"$@\" >>\"$HOME/systemctl\"\n"), 0o755))
	this, _ := lab.launch(Spec{Bare: true, Argv: []string{"sh", lab.File("job.sh", job)}, Env: env, Leader: true})
	if status := lab.finish(this); status != 0 {
		t.Fatalf("status %d: %s", status, job)
	}
	if said, err := os.ReadFile(filepath.Join(lab.Dir, "systemctl")); err != nil || string(said) != "--user daemon-reload\n--user enable --now reaper.timer\n" {
		t.Errorf("%v: %s", err, said)
	}
	units := filepath.Join(lab.Dir, ".config/systemd/user")
	verify := exec.Command("systemd-analyze", "verify", "--user", "--man=no", filepath.Join(units, "reaper.service"), filepath.Join(units, "reaper.timer"))
	verify.Env = append(env, "XDG_RUNTIME_DIR="+lab.Dir)
	if out, err := verify.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s\n%s", err, out, job)
	}
	service, err := os.ReadFile(filepath.Join(units, "reaper.service"))
	lab.must(err)
	if want := `sweep --quiet --rules "` + strings.NewReplacer("%", "%%", "$", "$$").Replace(rules) + `"`; !strings.Contains(string(service), want) {
		t.Errorf("%s is not in %s", want, service)
	}
}

// Guards which rules a job names: those in force where it is made.
func TestScheduleNamesTheRulesInForce(t *testing.T) {
	lab := newLab(t)
	rules := lab.oddRules()
	for _, test := range []struct {
		name string
		env  []string
		want string
	}{
		{"REAPER_RULES", []string{"REAPER_RULES=" + rules}, " --quiet --rules "},
		{"none", nil, " --quiet\n"},
	} {
		if res := lab.Run(Run{Command: "schedule", Args: []string{"cron"}, Env: test.env, Text: true, Status: 0}); !strings.Contains(res.Stdout, test.want) {
			t.Errorf("%s: %s", test.name, res.Stdout)
		}
	}
	lab.Run(Run{Command: "schedule", Args: []string{"cron", "--rules", lab.File("wrong.yaml", "version: 2\n")}, Text: true, Status: 2})
	lab.Run(Run{Command: "schedule", Args: []string{"cron", "--every", "7m"}, Text: true, Status: 2})
	lab.Run(Run{Command: "schedule", Args: []string{"at"}, Text: true, Status: 2})
}

// Guards the README's words, with a home and a systemctl of the test's own.
func TestReadmeSchedules(t *testing.T) {
	lab := newLab(t)
	env := lab.withPath()
	lab.must(os.WriteFile(filepath.Join(lab.Dir, "bin", "systemctl"), []byte("#!/bin/sh\n"), 0o755))
	lab.must(os.MkdirAll(filepath.Join(lab.Dir, "Library/LaunchAgents"), 0o755))
	this, _ := lab.launch(Spec{Bare: true, Argv: []string{"sh", "-ec", readme(t)[0]}, Env: env, Leader: true})
	this.Out, this.Err = lab.path("stdout"), lab.path("stderr")
	res := lab.Collect(this.Out, this.Err, lab.finish(this), nil)
	if res.Exit != 0 || res.Stderr != "" || !strings.Contains(res.Stdout, "# END reaper\n") {
		t.Errorf("status %d: %s%s", res.Exit, res.Stdout, res.Stderr)
	}
	for _, file := range []string{".config/systemd/user/reaper.service", ".config/systemd/user/reaper.timer", "Library/LaunchAgents/reaper.sweep.plist"} {
		if info, err := os.Stat(filepath.Join(lab.Dir, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
}
