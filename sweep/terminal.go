package sweep

import (
	"syscall"

	"reaper/platform"
)

// An interactive shell's job that is a run alone hands the terminal to its
// command: Ctrl-C and Ctrl-Z reach the command's group and not this one. In a
// script, below make or npm and in a pipeline the terminal is not this process's
// to give: there the command stays in the group of all of them.

// place decides whose group the command is in.
func (r *runner) place() {
	tty, err := platform.OpenTerminal()
	if err != nil {
		return // there is none
	}
	r.tty = tty
	alone := r.pgid == r.self.PID && !platform.IsPipe(1)
	r.job = alone && platform.IsControlling(0)
	r.shared = !alone || !r.job && r.foreground() == r.pgid
}

// hasHad says whether the terminal has sent the signal, or the shell that gave the
// terminal back, to the command as well.
func (r *runner) hasHad(sig syscall.Signal) bool {
	switch sig {
	case syscall.SIGINT, syscall.SIGQUIT, syscall.SIGCONT:
		return r.shared && r.foreground() == r.pgid
	}
	return false
}

// handOver gives the terminal to the command's group, if this process's group is
// in its foreground: at the start, and when a shell's fg has continued us.
func (r *runner) handOver() {
	if !r.ended && r.job && r.foreground() == r.pgid && r.tty.Give(r.pid) == nil {
		r.handed = true
	}
}

func (r *runner) foreground() int {
	pgid, err := r.tty.Foreground()
	if err != nil {
		return 0
	}
	return pgid
}

// takeBack gives this process's group the terminal that it has handed over.
func (r *runner) takeBack() {
	if r.handed {
		r.handed = false
		r.tty.Give(r.pgid)
	}
}

// commandStopped stops this process too, so that whoever waits for it sees a
// stopped job. SIGSTOP without our terminal is a business of somebody else's, who
// will continue the command alone; what the terminal sends to a shared group has
// stopped this process as well.
func (r *runner) commandStopped(by syscall.Signal) {
	switch {
	case r.why != "", r.shared: // it is being stopped for good
		return
	case by == syscall.SIGTTIN || by == syscall.SIGTTOU:
		r.handOver() // fg does not continue a job that runs
		if r.handed && r.foreground() == r.pid {
			r.pass(syscall.SIGCONT) // it used the terminal before that was given to it
			return
		}
	case by == syscall.SIGSTOP && !r.handed:
		return
	}
	r.takeBack()
	// The Go runtime keeps its handler of SIGTSTP, which was asked for once.
	platform.RaiseSelf(syscall.SIGTTIN)
}
