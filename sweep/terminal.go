package sweep

import (
	"syscall"

	"reaper/platform"
)

// The terminal is the command's while the command runs, if this process had it:
// Ctrl-C and Ctrl-Z reach the command's group and not this one.

// handOver gives the terminal to the command's group, if this process's group is
// in its foreground: at the start, and when a shell's fg has continued us.
func (r *runner) handOver() {
	if r.ended {
		return
	}
	if r.tty == nil {
		tty, err := platform.OpenTerminal()
		if err != nil {
			return // there is none
		}
		r.tty = tty
	}
	if r.foreground() == r.pgid && r.tty.Give(r.pid) == nil {
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
// will continue the command alone.
func (r *runner) commandStopped(by syscall.Signal) {
	switch {
	case r.why != "":
		return // it is being stopped for good
	case (by == syscall.SIGTTIN || by == syscall.SIGTTOU) && r.handed && r.foreground() == r.pid:
		r.pass(syscall.SIGCONT) // it used the terminal before that was given to it
		return
	case by == syscall.SIGSTOP && !r.handed:
		return
	}
	r.takeBack()
	platform.StopSelf()
}
