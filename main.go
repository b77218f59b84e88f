// Command reaper stops processes that outlived the run that started them, and
// proves first that they did.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"reaper/platform"
	"reaper/sweep"
)

// shared are the flags of all commands that judge.
type shared struct {
	Rules    []string `placeholder:"FILE" sep:"none" help:"Rules file; may be repeated. Else $$REAPER_RULES, else reaper/rules.yaml in $$XDG_CONFIG_HOME (~/.config), else whatever carries REAPER_PARENT_PID."`
	Only     []string `placeholder:"NAME" sep:"none" help:"Use only the rule of this name; may be repeated."`
	AllUsers bool     `help:"Judge other users' processes too."`
	JSON     bool     `name:"json" help:"Print one JSON document."`
	Color    string   `enum:"auto,always,never" default:"auto" help:"auto, always or never."`
	LogLevel string   `enum:"debug,info,warn,error" default:"warn" help:"debug, info, warn or error, on stderr."`
}

type sweepCmd struct {
	shared
	DryRun  bool           `help:"Report what would be stopped, and do nothing."`
	Check   bool           `help:"Like --dry-run, with exit status 1 if there are orphans."`
	Max     *int           `placeholder:"N" help:"Stop nothing if there are more orphans than this."`
	Grace   *time.Duration `placeholder:"D" help:"Time from SIGTERM to SIGKILL, for all rules (2s)."`
	Confirm *time.Duration `placeholder:"D" help:"Time to wait after SIGKILL, for all rules (1s)."`
	Metrics *string        `placeholder:"FILE" help:"Write the numbers for Prometheus to this file, whole or not at all."`
	Quiet   bool           `help:"Print nothing where nothing was stopped or left, and nothing of what is spared."`
	Verbose bool           `help:"Show each process by itself, with its signals and its own markers."`
}

type explainCmd struct {
	shared
	Processes []string `arg:"" name:"process" help:"PID or PID@START; more than one may be given."`
}

type runCmd struct {
	Follow *string        `placeholder:"PID" help:"Follow this process, PID or PID@START, instead of the parent."`
	Home   *string        `placeholder:"DIR" help:"End when this folder is gone, too."`
	Grace  *time.Duration `placeholder:"D" help:"Time from SIGTERM to SIGKILL (2s)."`
	Argv   []string       `arg:"" passthrough:"" name:"command" help:"The command and its arguments, after --."`

	endedBy syscall.Signal // by which this process is to end
}

type stopCmd struct {
	DryRun   bool           `help:"Report what would be stopped, and do nothing."`
	Rules    []string       `placeholder:"FILE" sep:"none" help:"Rules file, for what it protects and follows; may be repeated."`
	Grace    *time.Duration `placeholder:"D" help:"Time from SIGTERM to SIGKILL (2s)."`
	Confirm  *time.Duration `placeholder:"D" help:"Time to wait after SIGKILL (1s)."`
	JSON     bool           `name:"json" help:"Print one JSON document."`
	Color    string         `enum:"auto,always,never" default:"auto" help:"auto, always or never."`
	LogLevel string         `enum:"debug,info,warn,error" default:"warn" help:"debug, info, warn or error, on stderr."`
	Process  string         `arg:"" help:"PID or PID@START."`
}

type idCmd struct {
	PID string `arg:"" name:"pid" help:"The process."`
}

type aliveCmd struct {
	Process string `arg:"" help:"PID or PID@START."`
}

// command is what each of them can do: print its answer, and say the exit status.
type command interface {
	run(stdout io.Writer, log zerolog.Logger) (int, error)
}

// readDeadline ends a reading of the process table that something blocks.
const readDeadline = 20 * time.Second

// readerPatience is how long what was interrupted may still take to print, into a
// pipe that nobody reads for instance.
const readerPatience = 5 * time.Second

func main() {
	if platform.PlayCanary() {
		return
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	chosen, level, code := parse(args, stdout, stderr)
	if chosen == nil {
		return code
	}
	code = told(stderr, func() (int, error) {
		if err := platform.FewDescriptors(); err != nil {
			return sweep.ExitNoTable, err
		}
		return chosen.run(stdout, newLog(stderr, level))
	})
	if c, ok := chosen.(*runCmd); ok && c.endedBy != 0 {
		signal.Reset(c.endedBy)
		platform.RaiseSelf(c.endedBy) // where it is ignored there is the status still
	}
	return code
}

// told runs a command and says its error. Of a panic it says where it was, and what
// only if that is the runtime's own sentence: another one may hold anything.
func told(stderr io.Writer, work func() (int, error)) (code int) {
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		stack := debug.Stack()
		if b, ok := r.(*platform.Broken); ok {
			r, stack = b.Value, b.Stack
		}
		what := fmt.Sprintf("a %T", r)
		if err, ok := r.(runtime.Error); ok {
			what = err.Error()
		}
		fmt.Fprintf(stderr, "reaper: a mistake in reaper itself (%s): please report it with these lines\n%s", what, stack)
		code = sweep.ExitLeft
	}()
	code, err := work()
	if err != nil {
		fmt.Fprintln(stderr, "reaper: "+err.Error())
	}
	return code
}

func newLog(w io.Writer, level string) zerolog.Logger {
	parsed, err := zerolog.ParseLevel(level)
	if err != nil {
		parsed = zerolog.WarnLevel
	}
	if isTerminal(w) {
		w = zerolog.ConsoleWriter{Out: w, NoColor: true, TimeFormat: time.TimeOnly}
	}
	return zerolog.New(w).Level(parsed).With().Timestamp().Logger()
}

func (c *sweepCmd) run(stdout io.Writer, log zerolog.Logger) (int, error) {
	if err := c.validate(); err != nil {
		return sweep.ExitUsage, err
	}
	o, err := c.options(log)
	if err != nil {
		return sweep.ExitUsage, err
	}
	o.Grace, o.Confirm = c.Grace, c.Confirm
	if c.Max != nil {
		o.Max = *c.Max
	}
	v := sweep.View{Verbose: c.Verbose, Quiet: c.Quiet}
	var report *sweep.Report
	var unwritten error
	code, err := c.act(stdout, log, v, func(ctx context.Context, m sweep.OS) (*sweep.Report, error) {
		work := func(o sweep.Options) (*sweep.Report, error) { return sweep.DryRun(ctx, m, o) }
		if !c.DryRun && !c.Check {
			stop := func(o sweep.Options) (*sweep.Report, error) { return sweep.Stop(ctx, m, o) }
			work = func(o sweep.Options) (*sweep.Report, error) { return c.withProgress(o, stdout, c.Quiet, stop) }
		}
		var err error
		report, err = work(o)
		if err == nil && c.Check && report.Exit == sweep.ExitDone && report.Totals.Orphans > 0 {
			report.Exit = sweep.ExitFound
		}
		if err == nil { // before it is printed, for a reader that has gone ends this program
			defer lastWords(ctx)()
			unwritten = sweep.WriteMetrics(given(c.Metrics), report)
		}
		return report, err
	})
	if report != nil && code != report.Exit { // it could not be printed
		report.Exit = code
		unwritten = sweep.WriteMetrics(given(c.Metrics), report)
	}
	if code == sweep.ExitDone && unwritten != nil {
		code = sweep.ExitLeft
	}
	return code, errors.Join(err, unwritten)
}

// act does what ends in a report, until it is interrupted, and prints that.
func (c *shared) act(stdout io.Writer, log zerolog.Logger, v sweep.View, work func(context.Context, sweep.OS) (*sweep.Report, error)) (int, error) {
	reader, err := platform.NewReader()
	if err != nil {
		return sweep.ExitNoTable, err
	}
	defer reader.Close()
	endings := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup
		endings = append(endings, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), endings...)
	defer stop()
	report, err := work(ctx, sweep.OS{Reader: reader})
	defer lastWords(ctx)()
	if errors.Is(err, context.Canceled) {
		return sweep.ExitInterrupted, errors.New("interrupted while reading the process table: nothing was signalled")
	}
	if err != nil {
		return sweep.ExitNoTable, err
	}
	logOutcomes(log, report)
	if c.JSON {
		return written(report.Exit, printJSON(stdout, report))
	}
	v.Width, v.Color, v.Home = width(stdout), c.color(stdout), os.Getenv("HOME")
	return written(report.Exit, report.Text(stdout, v))
}

// lastWords bounds how long an interrupted command waits for whoever reads what it
// writes, until the function that it returns is called.
func lastWords(interrupted context.Context) func() {
	printed := make(chan struct{})
	go func() {
		select {
		case <-printed:
			return
		case <-interrupted.Done():
		}
		select {
		case <-printed:
		case <-time.After(readerPatience):
			signal.Reset(syscall.SIGTERM)
			platform.RaiseSelf(syscall.SIGTERM)
		}
	}()
	return func() { close(printed) }
}

// options are what the flags and the environment say.
func (c *shared) options(log zerolog.Logger) (sweep.Options, error) {
	rules, err := sweep.FindRules(c.Rules, surroundings(c.AllUsers))
	if err == nil && len(c.Only) > 0 {
		rules, err = rules.Only(c.Only)
	}
	if err != nil {
		return sweep.Options{}, err
	}
	log.Debug().Str("rules", rules.Source).Int("count", len(rules.Rules)).Msg("rules loaded")
	return sweep.Options{Rules: rules, AllUsers: c.AllUsers, TmpDirs: tmpDirs(), Deadline: readDeadline, Version: version()}, nil
}

func (c *explainCmd) run(stdout io.Writer, log zerolog.Logger) (int, error) {
	ids := make([]platform.Identity, len(c.Processes))
	for i, s := range c.Processes {
		id, err := sweep.ParseIdentity(s)
		if err != nil {
			return sweep.ExitUsage, err
		}
		ids[i] = id
	}
	o, err := c.options(log)
	if err != nil {
		return sweep.ExitUsage, err
	}
	reader, err := platform.NewReader()
	if err != nil {
		return sweep.ExitNoTable, err
	}
	defer reader.Close()
	explanation, err := sweep.Explain(context.Background(), sweep.OS{Reader: reader}, o, ids)
	if errors.Is(err, platform.ErrGone) {
		return sweep.ExitUsage, err
	}
	if err != nil {
		return sweep.ExitNoTable, err
	}
	if c.JSON {
		return written(explanation.Exit, printJSON(stdout, explanation))
	}
	return written(explanation.Exit, explanation.Text(stdout, sweep.View{Width: width(stdout), Color: c.color(stdout)}))
}

func (c *runCmd) run(_ io.Writer, log zerolog.Logger) (int, error) {
	o := sweep.RunOptions{Argv: c.Argv, Env: os.Environ()}
	if len(o.Argv) > 0 && o.Argv[0] == "--" {
		o.Argv = o.Argv[1:]
	}
	err := errors.Join(notEmpty("--follow", c.Follow, "a process"), notEmpty("--home", c.Home, "a folder"))
	if err == nil && c.Follow != nil {
		o.Follow, err = sweep.ParseIdentity(*c.Follow)
	}
	if err == nil && c.Home != nil {
		o.Home, err = filepath.Abs(*c.Home)
	}
	if err == nil && len(o.Argv) == 0 {
		err = errors.New("no command: give one after --")
	}
	if err != nil {
		return sweep.ExitUsage, err
	}
	s := shared{AllUsers: os.Geteuid() == 0}
	if o.Options, err = s.options(log); err != nil { // not 2, which a command may end with itself
		return sweep.ExitNotStarted, fmt.Errorf("%w\n%s was not started", err, o.Argv[0])
	}
	o.Grace = c.Grace
	reader, err := platform.NewReader()
	if err != nil {
		return sweep.ExitNotStarted, err
	}
	defer reader.Close()
	ended, err := sweep.Run(sweep.OS{Reader: reader}, o)
	c.endedBy = ended.By
	return ended.Status, err
}

func (c *stopCmd) run(stdout io.Writer, log zerolog.Logger) (int, error) {
	s := shared{Rules: c.Rules, JSON: c.JSON, Color: c.Color, AllUsers: os.Geteuid() == 0}
	id, err := sweep.ParseIdentity(c.Process)
	if err != nil {
		return sweep.ExitUsage, err
	}
	o, err := s.options(log)
	if err != nil {
		return sweep.ExitUsage, err
	}
	o.Grace, o.Confirm = c.Grace, c.Confirm
	return s.act(stdout, log, sweep.View{}, func(ctx context.Context, m sweep.OS) (*sweep.Report, error) {
		if c.DryRun {
			return sweep.DryRunNamed(ctx, m, o, id)
		}
		return s.withProgress(o, stdout, false, func(o sweep.Options) (*sweep.Report, error) { return sweep.StopNamed(ctx, m, o, id) })
	})
}

func (c *idCmd) run(stdout io.Writer, _ zerolog.Logger) (int, error) {
	pid, ok := platform.ParsePID(c.PID)
	if !ok {
		return sweep.ExitUsage, fmt.Errorf("%q is no pid: give a decimal number as ps prints it", c.PID)
	}
	reader, err := platform.NewReader()
	if err != nil {
		return sweep.ExitNoTable, err
	}
	defer reader.Close()
	id, runs := sweep.Identify(context.Background(), sweep.OS{Reader: reader}, pid)
	switch runs {
	case platform.Yes:
		_, err = fmt.Fprintln(stdout, id)
		return written(sweep.ExitDone, err)
	case platform.No:
		return sweep.ExitExited, fmt.Errorf("%d is not running", pid)
	}
	return sweep.ExitNoTable, fmt.Errorf("the start of %d cannot be told", pid)
}

func (c *aliveCmd) run(io.Writer, zerolog.Logger) (int, error) {
	id, err := sweep.ParseIdentity(c.Process)
	if err != nil {
		return sweep.ExitUsage, err
	}
	reader, err := platform.NewReader()
	if err != nil {
		return sweep.ExitNoTable, err
	}
	defer reader.Close()
	switch sweep.Alive(context.Background(), sweep.OS{Reader: reader}, id) {
	case platform.Yes:
		return sweep.ExitDone, nil
	case platform.No:
		return sweep.ExitExited, nil
	}
	return sweep.ExitNoTable, fmt.Errorf("whether %s is running cannot be told", c.Process)
}

func surroundings(allUsers bool) sweep.Surroundings {
	home, _ := os.UserHomeDir() // none: no file of the user's own
	return sweep.Surroundings{Rules: os.Getenv("REAPER_RULES"), ConfigHome: os.Getenv("XDG_CONFIG_HOME"), Home: home,
		UID: os.Geteuid(), AllUsers: allUsers}
}

func (c *sweepCmd) validate() error {
	if c.Max != nil && *c.Max < 1 {
		return fmt.Errorf("--max %d stops nothing: give the largest number of orphans to stop, or --dry-run", *c.Max)
	}
	return notEmpty("--metrics", c.Metrics, "a file")
}

// notEmpty refuses an empty value: in a script it is a variable that is not set, and
// whoever wrote the flag did not mean to do without it.
func notEmpty(flag string, value *string, wanted string) error {
	if value != nil && *value == "" {
		return fmt.Errorf("%s is empty: give %s, or leave it out", flag, wanted)
	}
	return nil
}

func given(flag *string) string {
	if flag == nil {
		return ""
	}
	return *flag
}

// written makes an answer that could not be written no success.
func written(code int, err error) (int, error) {
	if err != nil && code == sweep.ExitDone {
		code = sweep.ExitLeft
	}
	return code, err
}

func printJSON(w io.Writer, document any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(document)
}

// logOutcomes leaves a line for each process from which the decision can be told.
func logOutcomes(log zerolog.Logger, r *sweep.Report) {
	for _, o := range r.Orphans {
		for _, m := range o.Members {
			log.Info().Str("rule", o.Rule).Int("pid", m.PID).Uint64("start", m.Start).Int("orphan", o.PID).Str("why", o.Why.Detail).
				Strs("signals", m.Signals).Str("by", m.By).Str("outcome", string(m.Outcome)).Strs("command", m.Command).Msg("process")
		}
	}
}

// tmpDirs are the temporary directories that <tmp> stands for.
func tmpDirs() []string {
	dirs := []string{"/tmp"}
	if dir := os.Getenv("TMPDIR"); filepath.IsAbs(dir) && filepath.Clean(dir) != "/" {
		dirs = append(dirs, filepath.Clean(dir))
	}
	return append(dirs, platform.UserTempDirs()...)
}

// version is what the module was built as.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}
