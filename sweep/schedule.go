package sweep

import (
	"fmt"
	"html"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"reaper/match"
)

// Job is a sweep that something else starts again and again.
type Job struct {
	Program string   // absolute
	Rules   []string // absolute; none: the built-in default
	Every   time.Duration
	Lower   [][]string // commands that lower the priority of the one after them
	Home    string     // of the user whose job it is
}

// Schedule is the text of the job for cron, launchd or systemd, with how to
// install and remove it.
func Schedule(kind string, j Job) (string, error) {
	if err := j.validate(); err != nil {
		return "", err
	}
	switch kind {
	case "cron":
		return j.cron()
	case "launchd":
		return j.launchd(), nil
	}
	return j.systemd(), nil
}

// validate refuses what a line of a configuration file cannot hold.
func (j Job) validate() error {
	for _, path := range append([]string{j.Program}, j.Rules...) {
		if !filepath.IsAbs(path) || !utf8.ValidString(path) || printable(path) != path {
			return fmt.Errorf("%s cannot be part of a job: it needs an absolute path of visible characters", printable(path))
		}
	}
	if strings.Contains(j.Program, "/go-build") {
		return fmt.Errorf("%s is gone after this run: go install . first, and schedule what that installs", j.Program)
	}
	if j.Every < time.Minute || j.Every > 24*time.Hour || j.Every%time.Minute != 0 {
		return fmt.Errorf("--every %s: give whole minutes from 1m to 24h", match.Duration(j.Every))
	}
	return nil
}

func (j Job) argv() []string {
	argv := []string{j.Program, "sweep", "--quiet"}
	for _, file := range j.Rules {
		argv = append(argv, "--rules", file)
	}
	return argv
}

// again is the command that prints this job.
func (j Job) again(kind string) string {
	argv := []string{j.Program, "schedule", kind, "--every", match.Duration(j.Every)}
	for _, file := range j.Rules {
		argv = append(argv, "--rules", file)
	}
	return quoted(argv)
}

// quoted is a command line for sh, without backslashes, which cron has a meaning for.
func quoted(argv []string) string {
	words := make([]string, len(argv))
	for i, arg := range argv {
		words[i] = arg
		if plain := func(r rune) bool {
			return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@=", r)
		}; arg == "" || strings.ContainsFunc(arg, func(r rune) bool { return !plain(r) }) {
			words[i] = "'" + strings.ReplaceAll(arg, "'", `'"'"'`) + "'"
		}
	}
	return strings.Join(words, " ")
}

func (j Job) cron() (string, error) {
	when, err := cronTimes(j.Every)
	if err != nil {
		return "", err
	}
	var argv []string
	for _, command := range j.Lower {
		argv = append(argv, command...)
	}
	line := quoted(append(argv, j.argv()...))
	if strings.Contains(line, `\`) {
		return "", fmt.Errorf("%s: cron has a meaning for a backslash: give other paths", line)
	}
	const without = `crontab -l 2>/dev/null | sed '/^# BEGIN reaper$/,/^# END reaper$/d'`
	return fmt.Sprintf(`# BEGIN reaper
# What it prints, and cron mails, is what it stopped or could not stop.
# Install: (%s; %s) | crontab -
# Remove:  %s | crontab -
%s %s
# END reaper
`, without, j.again("cron"), without, when, strings.ReplaceAll(line, "%", `\%`)), nil
}

// cronTimes are a line's first five fields.
func cronTimes(every time.Duration) (string, error) {
	minutes := int(every / time.Minute)
	switch hours := minutes / 60; {
	case minutes == 1:
		return "* * * * *", nil
	case minutes < 60 && 60%minutes == 0:
		return fmt.Sprintf("*/%d * * * *", minutes), nil
	case minutes == 60:
		return "0 * * * *", nil
	case minutes == 24*60:
		return "0 0 * * *", nil
	case minutes%60 == 0 && 24%hours == 0:
		return fmt.Sprintf("0 */%d * * *", hours), nil
	}
	return "", fmt.Errorf("--every %s: cron wants minutes that divide an hour, or hours that divide a day", match.Duration(every))
}

func (j Job) systemd() string {
	words := []string{systemdWord(j.Program, false)}
	for _, arg := range j.argv()[1:] {
		words = append(words, systemdWord(arg, true))
	}
	return fmt.Sprintf(`# Install: %s | sh
# Remove:  systemctl --user disable --now reaper.timer; rm ~/.config/systemd/user/reaper.service ~/.config/systemd/user/reaper.timer
# What it prints: journalctl --user -u reaper. To run while nobody is logged in: loginctl enable-linger
set -e
mkdir -p ~/.config/systemd/user
cat >~/.config/systemd/user/reaper.service <<'END_OF_UNIT'
[Unit]
Description=Stop processes that outlived the run that started them

[Service]
Type=oneshot
ExecStart=%s
Nice=19
IOSchedulingClass=idle
END_OF_UNIT
cat >~/.config/systemd/user/reaper.timer <<'END_OF_UNIT'
[Unit]
Description=Stop processes that outlived the run that started them, every %s

[Timer]
OnStartupSec=1min
OnUnitInactiveSec=%dmin

[Install]
WantedBy=timers.target
END_OF_UNIT
systemctl --user daemon-reload
systemctl --user enable --now reaper.timer
`, j.again("systemd"), strings.Join(words, " "), match.Duration(j.Every), int(j.Every/time.Minute))
}

// systemdWord is one word of an ExecStart line. Variables are not replaced in
// the program's own path, so a dollar is itself there.
func systemdWord(s string, variables bool) string {
	out := strings.NewReplacer(`\`, `\\`, `"`, `\"`, `%`, `%%`).Replace(s)
	if variables {
		out = strings.ReplaceAll(out, "$", "$$")
	}
	if strings.ContainsAny(out, ` '"\;`) {
		return `"` + out + `"`
	}
	return out
}

func (j Job) launchd() string {
	var b strings.Builder
	text := func(s string) string { return html.EscapeString(strings.Map(inXML, s)) }
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Install: write this to ~/Library/LaunchAgents/reaper.sweep.plist, then
     launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/reaper.sweep.plist
     Remove: launchctl bootout gui/$(id -u)/reaper.sweep; rm ~/Library/LaunchAgents/reaper.sweep.plist -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>reaper.sweep</string>
	<key>ProgramArguments</key>
	<array>
`)
	for _, arg := range j.argv() {
		fmt.Fprintf(&b, "\t\t<string>%s</string>\n", text(arg))
	}
	fmt.Fprintf(&b, `	</array>
	<key>StartInterval</key>
	<integer>%d</integer>
	<key>ProcessType</key>
	<string>Background</string>
	<key>LowPriorityIO</key>
	<true/>
	<key>Nice</key>
	<integer>19</integer>
`, int(j.Every/time.Second))
	if filepath.IsAbs(j.Home) && printable(j.Home) == j.Home {
		for _, key := range []string{"StandardOutPath", "StandardErrorPath"} {
			fmt.Fprintf(&b, "\t<key>%s</key>\n\t<string>%s</string>\n", key, text(filepath.Join(j.Home, "Library/Logs/reaper.log")))
		}
	}
	b.WriteString("</dict>\n</plist>\n")
	return b.String()
}

// inXML replaces what an XML document cannot hold, bytes that are not UTF-8 among
// them. encoding/xml knows more, and costs every start of the program.
func inXML(r rune) rune {
	if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
		return utf8.RuneError
	}
	return r
}
