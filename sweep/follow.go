package sweep

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"reaper/match"
	"reaper/platform"
)

// RunMark is the variable in which a run tells all that it starts whom to follow.
const RunMark = "REAPER_PARENT_PID"

// Exit statuses of a run, beside those of its command.
const (
	ExitNotStarted    = 125 // there is nothing to follow, or no home
	ExitNotExecutable = 126
	ExitNotFound      = 127
)

// RunOptions say what a run starts and what it follows.
type RunOptions struct {
	Options
	Argv   []string
	Env    []string          // of this process
	Follow platform.Identity // the zero value: the parent
	Home   string            // absolute; "" for none
}

// RunMachine is a Machine on which a run's home can be looked for.
type RunMachine interface {
	Machine
	Missing(context.Context, platform.Identity, string) platform.Answer
}

// runner is one command with all that it starts. Its loop alone waits for
// children, so that the command's pid is its own until its status has been taken.
type runner struct {
	m    RunMachine
	o    RunOptions
	self platform.Identity
	pgid int // of this process

	followed  Handle // nil: nobody is
	follows   platform.Identity
	home      *platform.Folder
	names     match.Names
	blind     error // why no mark can be believed; nil also where none is needed
	pid       int   // of the command
	handle    Handle
	tty       *platform.Terminal
	shared    bool // the command is in this process's own group
	job       bool // an interactive shell's, which may be given the terminal
	handed    bool // the command's group has been given the terminal
	ended     bool // the command, and these are its own:
	status    int
	endedBy   syscall.Signal
	childless bool
	asked     int // SIGTERM and SIGINT so far
	signals   chan os.Signal
	children  chan os.Signal // SIGCHLD

	why      string // what is stopped, "" while nothing is
	cancel   context.CancelFunc
	hurry    bool // a second SIGTERM or SIGINT came
	hurried  bool
	finished chan stopped
	count    int // of what was stopped
}

// Ended is how a run ended: with the command's own status, if it has one.
type Ended struct {
	Status int
	// By is SIGINT where that ended the command, else 0. A shell goes on with its
	// script unless what it waits for has ended by the signal itself.
	By syscall.Signal
}

// stopped is how stopping went.
type stopped struct {
	report *Report
	err    error
}

// Run starts a command, passes signals and its status on, and stops all that
// hangs below it when what it follows has exited, when its home is gone, or when
// it has ended and left something behind. The error is for a person.
func Run(m RunMachine, o RunOptions) (Ended, error) {
	r := &runner{m: m, o: o, finished: make(chan stopped, 1)}
	o.Rules = o.Rules.WithoutRules()
	r.o.Rules = o.Rules
	defer r.close()
	if err := r.prepare(); err != nil {
		return Ended{Status: ExitNotStarted}, fmt.Errorf("%w: %s was not started", err, o.Argv[0])
	}
	r.notify()
	if status, err := r.start(); err != nil {
		return Ended{Status: status}, err
	}
	signal.Ignore(syscall.SIGPIPE) // for a stderr that nobody reads
	if !r.shared {
		signal.Ignore(syscall.SIGTTOU) // for taking the terminal back
		r.handOver()
	}
	status, err := r.loop()
	if r.endedBy == syscall.SIGINT && status == r.status {
		return Ended{status, r.endedBy}, err
	}
	return Ended{Status: status}, err
}

func (r *runner) close() {
	for _, h := range []Handle{r.followed, r.handle} {
		if h != nil {
			h.Close()
		}
	}
	if r.tty != nil {
		r.tty.Close()
	}
	if r.home != nil {
		r.home.Close()
	}
}

// prepare finds out who this is, what to follow, and what will be its own.
func (r *runner) prepare() error {
	system, err := r.m.System()
	if err != nil {
		return err
	}
	self, runs := Identify(context.Background(), r.m, system.PID)
	if runs != platform.Yes {
		return errors.New("the start of this process cannot be read")
	}
	r.self, r.pgid = self, system.PGID
	r.place()
	if err := r.follow(system); err != nil {
		return err
	}
	if err := r.checkHome(); err != nil {
		return err
	}
	adopts := platform.AdoptOrphans() == nil
	children := true
	for c := (platform.Change{PID: 1}); c.PID != 0; {
		c, children = platform.Collect()
	}
	// A shell may have had children before it became this process. Those are not
	// the command's: then, and where nobody adopts, what carries the mark is.
	if r.names.Mine = adopts && !children; r.names.Mine {
		return nil
	}
	if r.blind = r.m.Trust(context.Background()); r.blind == nil {
		r.names.Marker = platform.Var{Name: RunMark, Value: self.String()}
	}
	return nil
}

// passed are the signals that are the command's: not those that say what this
// process itself has done wrong, nor SIGCHLD,
// SIGURG and SIGPROF, which are the Go runtime's.
var passed = append([]os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2,
	syscall.SIGWINCH, syscall.SIGTSTP, syscall.SIGCONT, syscall.SIGALRM, syscall.SIGVTALRM, syscall.SIGIO,
	syscall.SIGXCPU, syscall.SIGXFSZ, syscall.SIGABRT}, platform.MoreSignals()...)

// notify subscribes to what is passed on, but for what this process was started
// with as ignored: that the command inherits. In a group that it shares with the
// command, SIGTSTP stops it as it stops the others.
func (r *runner) notify() {
	r.signals, r.children = make(chan os.Signal, 256), make(chan os.Signal, 1)
	signal.Notify(r.signals, slices.DeleteFunc(slices.Clone(passed), func(s os.Signal) bool {
		return signal.Ignored(s) || platform.Ignored(s.(syscall.Signal)) || r.shared && s == syscall.SIGTSTP
	})...)
	signal.Notify(r.children, syscall.SIGCHLD)
}

func (r *runner) start() (status int, err error) {
	path, status, err := findProgram(r.o.Argv[0])
	if err != nil {
		return status, err
	}
	env := slices.DeleteFunc(slices.Clone(r.o.Env), func(entry string) bool { return strings.HasPrefix(entry, RunMark+"=") })
	env = append(env, RunMark+"="+r.self.String())
	r.pid, err = platform.Start(path, r.o.Argv, env, !r.shared)
	if errors.Is(err, syscall.ENOEXEC) { // a script that does not say whose, which execvp(3) gives to the shell
		r.pid, err = platform.Start(shell, append([]string{shell, path}, r.o.Argv[1:]...), env, !r.shared)
	}
	if err != nil {
		return startStatus(err), fmt.Errorf("%s: %w", printable(r.o.Argv[0]), err)
	}
	id, _ := Identify(context.Background(), r.m, r.pid)
	r.names.IDs = []platform.Identity{id}
	if h, err := r.m.Open(r.pid); err == nil { // a zombie too, it is not waited for yet
		r.handle = h
	}
	return 0, nil
}

// loop takes one thing after the other until the command and all that is its own have ended.
func (r *runner) loop() (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	orphaned, homeless := make(chan struct{}), make(chan struct{})
	if r.followed != nil {
		go r.awaitFollowed(ctx, orphaned)
	}
	if r.o.Home != "" {
		go r.awaitHome(ctx, homeless)
	}
	r.collect() // SIGCHLD may have come before anything was to be known
	for {
		if r.ended && r.why == "" {
			if r.childless && r.names.Mine {
				return r.finish(nil, nil)
			}
			r.stop(printable(r.o.Argv[0]) + " left something behind")
		}
		select {
		case <-r.children:
			r.collect()
		case s := <-r.signals:
			r.signalled(s.(syscall.Signal))
		case <-orphaned:
			orphaned = nil
			r.stop(fmt.Sprintf("%d, which was followed, has exited", r.follows.PID))
		case <-homeless:
			homeless = nil
			r.stop("the home " + printable(r.o.Home) + " is gone")
		case s := <-r.finished:
			r.collect()
			if s.report != nil {
				r.count += s.report.Totals.Stopped
			}
			if r.hurry && !r.hurried {
				r.hurried = true
				r.begin(new(time.Duration))
				continue
			}
			return r.finish(s.report, s.err)
		}
	}
}

// collect waits for whatever has exited. The command's own status is kept.
func (r *runner) collect() {
	for {
		c, children := platform.Collect()
		r.childless = !children
		switch {
		case c.PID == 0:
			return
		case c.PID != r.pid || r.ended:
		case c.Stopped != 0:
			r.commandStopped(c.Stopped)
		default:
			r.ended, r.status, r.endedBy = true, c.Status, c.EndedBy
		}
	}
}

// signalled passes a signal on. While the tree is being stopped it has had its
// SIGTERM; the second one that this process gets is for those in a hurry.
func (r *runner) signalled(sig syscall.Signal) {
	if sig == syscall.SIGTERM || sig == syscall.SIGINT {
		r.asked++
	}
	if r.why != "" {
		if r.asked > 1 && !r.hurry {
			r.hurry = true
			r.cancel()
		}
		return
	}
	if sig == syscall.SIGCONT {
		r.handOver()
	}
	if !r.hasHad(sig) {
		r.pass(sig)
	}
}

// stop begins to stop everything, unless that has begun.
func (r *runner) stop(why string) {
	if r.why == "" {
		r.why = why
		if r.ended {
			r.takeBack() // Ctrl-C is for this process now
		}
		r.begin(r.o.Grace)
	}
}

func (r *runner) begin(grace *time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	o, names := r.o.Options, r.names
	names.Why = r.why
	o.Grace, o.Names = grace, &names
	tries := 1
	if names.Marker.Name != "" && !r.childless {
		tries = maxAgain
	}
	go func() {
		defer cancel()
		r.finished <- stopBelow(ctx, r.m, o, tries)
	}()
}

// stopBelow looks again where a mark decides and none was seen: it cannot be read
// within an exec. The command itself is this process's child, which no environment
// has to prove.
func stopBelow(ctx context.Context, m Machine, o Options, tries int) stopped {
	for {
		report, err := stop(ctx, m, o, nil)
		if tries--; tries == 0 || err != nil || len(report.Orphans) > 0 {
			return stopped{report, err}
		}
		pause(ctx, firstGap)
	}
}

// finish says how it ended: with the command's status, and with a line where
// anything had to be stopped or is left.
func (r *runner) finish(report *Report, err error) (int, error) {
	r.takeBack()
	status := r.status
	if !r.ended {
		status = ExitLeft
	}
	if err != nil {
		if status == ExitDone || !r.ended {
			status = ExitNoTable
		}
		return status, fmt.Errorf("%s, and nothing could be stopped: %w", r.why, err)
	}
	left := leftOf(report, r.ended)
	if len(left) > 0 && status == ExitDone {
		status = ExitLeft
	}
	var said []string
	if r.count+len(left) > 0 {
		said = append(said, fmt.Sprintf("%s: stopped %s", r.why, count(r.count, "process", "processes")))
	}
	if len(left) > 0 {
		said = append(said, "left "+strings.Join(left, ", "))
	}
	if r.blind != nil {
		said = append(said, fmt.Sprintf("looked only for what hangs below %s: %v", printable(r.o.Argv[0]), r.blind))
	}
	if len(said) == 0 {
		return status, nil
	}
	return status, errors.New(strings.Join(said, ", "))
}

// leftOf names what runs on although it should not. What is protected stays on
// purpose, unless it is the command itself that did not end.
func leftOf(report *Report, ended bool) []string {
	var left []string
	if report == nil {
		return nil
	}
	for _, o := range report.Orphans {
		for _, m := range o.Members {
			if m.Outcome == Unconfirmed || m.Outcome == Denied {
				left = append(left, fmt.Sprintf("%d (%s: %s)", m.PID, m.Outcome, m.Detail))
			}
		}
	}
	for _, s := range report.Spared {
		if !ended || s.Reason != match.Protected {
			left = append(left, fmt.Sprintf("%d (%s: %s)", s.PID, s.Reason, s.Detail))
		}
	}
	return left
}
