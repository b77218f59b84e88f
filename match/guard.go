package match

import (
	"fmt"
	"path"
	"slices"

	"reaper/platform"
)

// SystemdMark is the variable in which systemd (248 and later) tells a service's
// main process its own pid, systemd.exec(5). It is inherited, so only a process
// that finds its own pid in it is one.
const SystemdMark = "SYSTEMD_EXEC_PID"

// guard returns why the process is never touched as an orphan, whatever a rule says; "" if it may be.
func (j *judge) guard(p *platform.Process) (Reason, string) {
	switch {
	case p.PID <= 1:
		return Protected, fmt.Sprintf("pid %d is never touched", p.PID)
	case p.Kernel:
		return Protected, "a kernel thread"
	}
	if reason, detail := j.sweeper(p); reason != "" {
		return reason, detail
	}
	if reason, detail := j.foreign(p); reason != "" {
		return reason, detail
	}
	if reason, detail := j.shield(p); reason != "" {
		return reason, detail
	}
	return j.onTerminal(p)
}

func (j *judge) sweeper(p *platform.Process) (Reason, string) {
	switch {
	case p.PID == j.world.System.PID:
		return Sweeper, "this sweep itself"
	case j.mine[p.PID]:
		return Sweeper, "an ancestor of this sweep"
	case j.isSweep(p):
		return Sweeper, "another running sweep"
	}
	switch j.downstream(p) {
	case platform.Yes:
		return Sweeper, "reads what this sweep writes"
	case platform.Unknown:
		return UnknownReason, "whether it reads what this sweep writes cannot be told"
	}
	return "", ""
}

// isSweep recognises another sweep by its command word and its program: reaper,
// or whatever name this one was installed under.
func (j *judge) isSweep(p *platform.Process) bool {
	word := slices.Index(p.Argv, "sweep")
	if word < 0 || slices.Contains(p.Argv[:word], "run") { // of the command that a run has
		return false
	}
	self := j.world.Table.Get(j.world.System.PID)
	return p.Program() == "reaper" || self != nil && len(self.Argv) > 0 && p.Program() == self.Program()
}

func (j *judge) foreign(p *platform.Process) (Reason, string) {
	switch {
	case p.UID != j.world.System.UID && !j.world.AllUsers:
		return OtherUser, fmt.Sprintf("belongs to user %d; --all-users would judge it", p.UID)
	case p.Doubtful != "":
		return UnknownReason, p.Doubtful
	case p.Env == platform.EnvWithheld:
		return EnvUnreadable, "macOS does not show the environment of one of its own programs"
	case p.Env == platform.EnvUnreadable:
		return EnvUnreadable, "its environment cannot be read"
	case p.Namespace == platform.No:
		return OtherNamespace, "lives in another pid namespace, where its numbers mean something else"
	case p.Namespace == platform.Unknown:
		return UnknownReason, "its pid namespace cannot be read"
	}
	return "", ""
}

// shield returns whether the process itself is protected or a service's own main process.
func (j *judge) shield(p *platform.Process) (Reason, string) {
	if why := j.protected(p); why != "" {
		return Protected, why
	}
	return j.service(p)
}

// service says whether the process is its service manager's own main process: by
// systemd's mark, or, where that is missing or names another process (a forking
// service, systemd before 248), by the manager's word. That the named one runs
// tells nothing: it may be a stranger that has the number now.
func (j *judge) service(p *platform.Process) (Reason, string) {
	if p.Reparented == platform.No {
		return Service, "started by launchd itself"
	}
	for _, value := range p.Values(SystemdMark) {
		if pid, ok := platform.ParsePID(value); ok && pid == p.PID {
			return Service, "the main process of a systemd service (" + SystemdMark + ")"
		}
	}
	if !j.isManager(p.PPID) {
		return "", ""
	}
	switch k, _ := j.ask(Fact{Kind: FactMainPID, Process: p.ID()}); k.Is {
	case platform.Yes:
		return Service, "the main process of a service, says its manager " + label(j.world.Table.Get(p.PPID))
	case platform.Unknown:
		return UnknownReason, "whether it is a service's main process cannot be told: its manager does not answer"
	}
	return "", ""
}

// isManager recognises systemd, of the system or of a user.
func (j *judge) isManager(pid int) bool {
	m := j.world.Table.Get(pid)
	return m != nil && (pid == 1 && m.Comm == "systemd" || j.userManager(m) != platform.No)
}

// onTerminal spares what is in use: a session leader with a controlling
// terminal, and what runs in that terminal's foreground.
func (j *judge) onTerminal(p *platform.Process) (Reason, string) {
	switch {
	case p.TTY == 0:
		return "", ""
	case p.SID == p.PID:
		return OnTerminal, "leads a session on a terminal"
	case p.PGID > 0 && p.PGID == p.Foreground:
		return OnTerminal, "in the foreground of a terminal"
	}
	return "", ""
}

func (j *judge) protected(p *platform.Process) string {
	for i := range j.rules.Protect {
		if j.rules.Protect[i].Match(p.Argv) {
			return "matches protect: " + j.rules.Protect[i].Text
		}
	}
	if what := builtinProtected(p); what != "" {
		return "matches protect: " + what + " (built in)"
	}
	return ""
}

// unread says whether an ancestor that could be read was not: given up in time.
// Other users' are hidden by hidepid=1, pid 1 with them.
func (j *judge) unread(a *platform.Process) bool {
	return !a.Detailed && !a.Exiting() && !a.Ending && a.PID != 1 && a.UID == j.world.System.UID
}

// shieldedBy is the protected or service ancestor that passed markers on.
type shieldedBy struct {
	reason Reason
	detail string
}

// ownVars drops the variables whose value a protected ancestor or a service
// carries as well: those were inherited from it and prove nothing. A process that
// was stamped anew keeps its own.
func (j *judge) ownVars(p *platform.Process) ([]platform.Var, shieldedBy) {
	var by shieldedBy
	own := p.Vars
	up, _ := j.world.Table.Ancestors(p.PID)
	for _, pid := range up {
		a := j.world.Table.Get(pid)
		if len(own) > 0 && j.unread(a) {
			return nil, shieldedBy{UnknownReason, "what it inherited cannot be told: " + label(a) + " above it could not be read"}
		}
		if len(a.Vars) == 0 && a.Env != platform.EnvUnreadable {
			continue
		}
		reason, _ := j.shield(a)
		if reason == "" {
			continue
		}
		if a.Env == platform.EnvUnreadable && len(own) > 0 {
			own, by = nil, shieldedBy{reason, "may have inherited its marker from " + label(a) + ", whose environment cannot be read"}
			continue
		}
		kept := slices.DeleteFunc(slices.Clone(own), func(v platform.Var) bool { return passed(a.Vars, own, v.Name) })
		if len(kept) < len(own) {
			by = shieldedBy{reason, "inherited its marker from " + label(a)}
		}
		own = kept
	}
	return own, by
}

// passed says whether a variable was inherited with one of its values.
func passed(above, own []platform.Var, name string) bool {
	return slices.ContainsFunc(own, func(v platform.Var) bool { return v.Name == name && has(above, v) })
}

// MemberGuard returns why a process must be left out of a tree that it belongs
// to by birth, "" if it need not be. A terminal or another pid namespace are no
// reason there: it goes with the tree.
func (j *Judgement) MemberGuard(p *platform.Process) (Reason, string) {
	if p.PID <= 1 || p.Kernel {
		return Protected, "never touched"
	}
	if reason, detail := j.judge.sweeper(p); reason != "" {
		return reason, detail
	}
	if reason, detail := j.judge.shield(p); reason != "" {
		return reason, detail // before the user: what is below it stays as well
	}
	if p.UID != j.judge.world.System.UID && !j.judge.world.AllUsers {
		return OtherUser, fmt.Sprintf("belongs to user %d", p.UID)
	}
	return "", ""
}

// server is a program that outlives by design whoever happened to start it, and
// so carries that one's markers for ever.
type server struct {
	program string // glob for the last part of argv[0], or for the comm
	word    string // glob that one further argument must match, "" for none
}

// servers: terminal multiplexers, key, password and bus daemons, shared
// connections, input methods, sound servers, container monitors, terminal
// emulators, and build daemons that many runs share.
//
// An ssh that was left behind as a shared connection (ControlPersist) calls
// itself "ssh: PATH [mux]"; ControlMaster among the arguments says nothing, an
// ordinary client has it as well.
var servers = []server{
	{"tmux", ""}, {"tmux: server", ""}, {"tmate", ""}, {"SCREEN", ""}, {"screen", ""}, {"zellij", ""}, {"dtach", ""}, {"abduco", ""},
	{"shpool", "daemon"}, {"mosh-server", ""}, {"ssh-agent", ""}, {"ssh", "[[]mux]"}, {"ssh:", "[[]mux]"},
	{"ssh", "-M"}, {"ssh", "-M[Nfn]*"}, {"ssh", "-[Nfn]*M"}, {"gpg-agent", ""}, {"scdaemon", ""}, {"dirmngr", ""}, {"keyboxd", ""},
	{"gnome-keyring-daemon", ""}, {"kwalletd*", ""}, {"rbw-agent", ""}, {"op", "daemon"},
	{"git", "credential-cache--daemon"}, {"git-credential-cache--daemon", ""}, {"git", "fsmonitor--daemon"},
	{"dbus-daemon", ""}, {"dbus-launch", ""}, {"dbus-broker", ""}, {"dbus-broker-launch", ""}, {"ibus-daemon", ""}, {"fcitx*", ""},
	{"pipewire", ""}, {"pipewire-pulse", ""}, {"wireplumber", ""}, {"pulseaudio", ""},
	{"emacs*", "--daemon*"}, {"emacs*", "--fg-daemon*"}, {"emacs*", "--bg-daemon*"},
	{"conmon", ""}, {"containerd-shim*", ""}, {"catatonit", "-P"}, {"podman", "pause"}, {"podman pause", ""},
	{"gnome-terminal-server", ""}, {"gnome-terminal-*", ""}, {"konsole", ""}, {"xterm", ""}, {"kitty", ""}, {"alacritty", ""},
	{"wezterm*", ""}, {"foot", ""}, {"footserver", ""}, {"ghostty", ""}, {"urxvt*", ""}, {"xfce4-terminal", ""}, {"terminator", ""},
	{"tilix", ""}, {"ptyxis*", ""}, {"iTerm2", ""}, {"Terminal", ""},
	{"bazel(*", ""}, {"java", "org.gradle.launcher.daemon.bootstrap.GradleDaemon"},
	{"java", "org.jetbrains.kotlin.daemon.KotlinCompileDaemon"},
	{"watchman", ""}, {"sccache", ""}, {"adb", "fork-server"},
}

func builtinProtected(p *platform.Process) string {
	program := p.Program()
	for _, s := range servers {
		if !glob(s.program, program) && !glob(s.program, p.Comm) {
			continue
		}
		if s.word == "" || len(p.Argv) > 1 && slices.ContainsFunc(p.Argv[1:], func(a string) bool { return glob(s.word, a) }) {
			return s.program
		}
	}
	return ""
}

func glob(pattern, name string) bool {
	if first := pattern[0]; first != '*' && first != '[' && (name == "" || name[0] != first) {
		return false // nearly always
	}
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
