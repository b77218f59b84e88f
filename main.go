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
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"github.com/rs/zerolog"
	"golang.org/x/term"

	"reaper/match"
	"reaper/platform"
	"reaper/sweep"
)

type cli struct {
	Version kong.VersionFlag `help:"Print the version."`
	Sweep   sweepCmd         `cmd:"" help:"Find orphaned processes, stop them, confirm each exit, report."`
}

type sweepCmd struct {
	DryRun   bool           `help:"Report what would be stopped, and do nothing."`
	Rules    []string       `placeholder:"FILE" sep:"none" type:"path" help:"Rules file; may be repeated. Else $$REAPER_RULES, else reaper/rules.yaml in $$XDG_CONFIG_HOME, else whatever carries REAPER_PARENT_PID."`
	Only     []string       `placeholder:"NAME" sep:"none" help:"Use only the rule of this name; may be repeated."`
	Max      int            `placeholder:"N" help:"Stop nothing if there are more orphans than this."`
	JSON     bool           `name:"json" help:"Print one JSON document."`
	Quiet    bool           `help:"Print nothing where nothing is found."`
	Verbose  bool           `help:"Show every member of each tree and every spared process."`
	Check    bool           `help:"Like --dry-run, with exit status 1 if there are orphans."`
	AllUsers bool           `help:"Judge other users' processes too."`
	Grace    *time.Duration `placeholder:"D" help:"Time from SIGTERM to SIGKILL, for all rules (2s)."`
	Confirm  *time.Duration `placeholder:"D" help:"Time to wait after SIGKILL, for all rules (1s)."`
	Color    string         `enum:"auto,always,never" default:"auto" help:"auto, always or never."`
	LogLevel string         `enum:"debug,info,warn,error" default:"warn" help:"debug, info, warn or error, on stderr."`
}

// readDeadline ends a reading of the process table that something blocks.
const readDeadline = 20 * time.Second

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program; it returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	var c cli
	exited := -1
	parser, err := kong.New(&c, kong.Name("reaper"), kong.Description("Stops processes that outlived the run that started them."),
		kong.Vars{"version": version()}, kong.Writers(stdout, stderr), kong.Exit(func(code int) { exited = code; panic(exitPanic{}) }))
	if err != nil {
		fmt.Fprintln(stderr, "reaper:", err)
		return sweep.ExitUsage
	}
	ctx, code := parse(parser, args, &exited, stderr)
	if ctx == nil {
		return code
	}
	log := newLog(stderr, c.Sweep.LogLevel)
	code, err = c.Sweep.run(stdout, log)
	if err != nil {
		fmt.Fprintln(stderr, "reaper: "+err.Error())
	}
	return code
}

type exitPanic struct{}

// parse turns kong's own exits (--help, --version) and its errors into statuses.
func parse(parser *kong.Kong, args []string, exited *int, stderr io.Writer) (ctx *kong.Context, code int) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(exitPanic); !ok {
				panic(r)
			}
			ctx, code = nil, *exited
		}
	}()
	ctx, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "reaper: %v\nreaper: hint: reaper --help lists the commands, reaper sweep --help the flags\n", err)
		return nil, sweep.ExitUsage
	}
	return ctx, 0
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

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

func (c *sweepCmd) run(stdout io.Writer, log zerolog.Logger) (int, error) {
	if err := c.validate(); err != nil {
		return sweep.ExitUsage, err
	}
	rules, err := loadRules(c.Rules)
	if err != nil {
		return sweep.ExitUsage, err
	}
	if len(c.Only) > 0 {
		if rules, err = rules.Only(c.Only); err != nil {
			return sweep.ExitUsage, err
		}
	}
	log.Debug().Str("rules", rules.Source).Int("count", len(rules.Rules)).Msg("rules loaded")
	reader, err := platform.NewReader()
	if err != nil {
		return sweep.ExitNoTable, err
	}
	defer reader.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := c.sweep(ctx, sweep.OS{Reader: reader}, rules)
	if errors.Is(err, context.Canceled) {
		return sweep.ExitInterrupted, errors.New("interrupted while reading the process table: nothing was signalled")
	}
	if err != nil {
		return sweep.ExitNoTable, err
	}
	if c.Check && report.Exit == sweep.ExitDone && report.Totals.Orphans > 0 {
		report.Exit = sweep.ExitFound
	}
	logOutcomes(log, report)
	return report.Exit, c.print(stdout, report)
}

func (c *sweepCmd) validate() error {
	for name, d := range map[string]*time.Duration{"--grace": c.Grace, "--confirm": c.Confirm} {
		if d != nil && *d < 0 {
			return fmt.Errorf("%s %s is negative: give a duration like 2s", name, *d)
		}
	}
	if c.Max < 0 {
		return fmt.Errorf("--max %d is negative: give the largest number of orphans to stop", c.Max)
	}
	return nil
}

func (c *sweepCmd) sweep(ctx context.Context, m sweep.Machine, rules *match.Rules) (*sweep.Report, error) {
	o := sweep.Options{Rules: rules, AllUsers: c.AllUsers, Max: c.Max, Grace: c.Grace, Confirm: c.Confirm,
		TmpDirs: tmpDirs(), Deadline: readDeadline, Version: version()}
	if c.DryRun || c.Check {
		return sweep.DryRun(ctx, m, o)
	}
	return sweep.Stop(ctx, m, o)
}

func (c *sweepCmd) print(stdout io.Writer, report *sweep.Report) error {
	if c.JSON {
		enc := json.NewEncoder(stdout)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(report)
	}
	return report.Text(stdout, sweep.View{Width: width(stdout), Color: c.color(stdout), Verbose: c.Verbose, Quiet: c.Quiet})
}

func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			return columns
		}
	}
	return 0
}

// color follows no-color.org and bixense.com/clicolors; --color decides first.
func (c *sweepCmd) color(w io.Writer) bool {
	switch {
	case c.Color == "always":
		return true
	case c.Color == "never", os.Getenv("NO_COLOR") != "":
		return false
	case os.Getenv("CLICOLOR_FORCE") != "" && os.Getenv("CLICOLOR_FORCE") != "0":
		return true
	}
	return isTerminal(w) && os.Getenv("TERM") != "dumb"
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
	return dirs
}

// loadRules finds the rules in force: flags, REAPER_RULES, the user's own file,
// else the built-in default. Never a file of the current folder, so that no
// cloned repository decides what dies.
func loadRules(files []string) (*match.Rules, error) {
	if len(files) == 0 {
		if file := os.Getenv("REAPER_RULES"); file != "" {
			files = []string{file}
		}
	}
	if len(files) > 0 {
		return readRules(files)
	}
	file := configFile()
	if file == "" {
		return match.Default(), nil
	}
	if _, err := os.Stat(file); errors.Is(err, os.ErrNotExist) {
		return match.Default(), nil
	}
	return readRules([]string{file})
}

func configFile() string {
	dir := os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(dir) {
		home, err := os.UserHomeDir()
		if err != nil || !filepath.IsAbs(home) {
			return ""
		}
		dir = filepath.Join(home, ".config")
	}
	return filepath.Join(dir, "reaper", "rules.yaml")
}

func readRules(files []string) (*match.Rules, error) {
	var all []*match.Rules
	for _, file := range files {
		data, err := readFile(file)
		if err != nil {
			return nil, err
		}
		rules, err := match.Load(file, data)
		if err != nil {
			return nil, err
		}
		all = append(all, rules)
	}
	return match.Merge(all)
}

// readFile reads no more than a rules file may hold: it may be a device.
func readFile(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("cannot read the rules: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("cannot read the rules: %s is a directory; give a file", file)
	}
	data, err := io.ReadAll(io.LimitReader(f, 1<<20+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the rules: %w", err)
	}
	return data, nil
}

// version is what the module was built as.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}
