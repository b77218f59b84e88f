package main

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"reaper/match"
	"reaper/sweep"
)

type cli struct {
	Version kong.VersionFlag `help:"Print the version."`
	Sweep   sweepCmd         `cmd:"" help:"Find orphaned processes, stop them, confirm each exit, report."`
	Explain explainCmd       `cmd:"" help:"Show what every rule says of a process, and why."`
	Rules   rulesCmd         `cmd:"" help:"Check rules files, show the rules in force, begin a file, print its schema."`
	Run     runCmd           `cmd:"" help:"Run a command that ends, with all it starts, when the parent does."`
	Stop    stopCmd          `cmd:"" help:"Stop one process with all below it, confirm each exit, report."`
	ID      idCmd            `cmd:"" name:"id" help:"Print a running process's PID@START, for a marker's value. Status 1: not running, 4: cannot tell."`
	Alive   aliveCmd         `cmd:"" help:"Say by the status whether a process runs: 0 running, 1 exited, 4 cannot tell."`

	Schedule scheduleCmd `cmd:"" help:"Print a job for cron, launchd or systemd that sweeps, and how to install it."`

	Completion completionCmd `cmd:"" help:"Print the completion for bash, zsh or fish."`
	Man        manCmd        `cmd:"" help:"Print the manual page: reaper man | man -l -"`
}

// alone is the grammar of one command. To build that of all takes kong three
// milliseconds, as long as to read three hundred processes.
type alone[C any] struct {
	Version kong.VersionFlag `help:"Print the version."`
	Command C                `embed:""`
}

// usage is a grammar for kong, and what of it was chosen once a line is parsed.
type usage struct {
	name    string // of the command that it is of; "" for all of them
	grammar any
	chosen  func(ctx *kong.Context) command
	level   func() string
}

func warnings() string { return "warn" }

// usageOf is the grammar that a command line needs: of the command that it begins
// with, or of all.
func usageOf(args []string) usage {
	name := ""
	if len(args) > 0 {
		name = args[0]
	}
	switch name {
	case "sweep":
		c := &alone[sweepCmd]{}
		return usage{name, c, fixed(&c.Command), func() string { return c.Command.LogLevel }}
	case "explain":
		c := &alone[explainCmd]{}
		return usage{name, c, fixed(&c.Command), func() string { return c.Command.LogLevel }}
	case "stop":
		c := &alone[stopCmd]{}
		return usage{name, c, fixed(&c.Command), func() string { return c.Command.LogLevel }}
	case "rules":
		c := &alone[rulesCmd]{}
		return usage{name, c, c.Command.chosen, warnings}
	case "run":
		c := &alone[runCmd]{}
		return usage{name, c, fixed(&c.Command), warnings}
	case "id":
		c := &alone[idCmd]{}
		return usage{name, c, fixed(&c.Command), warnings}
	case "alive":
		c := &alone[aliveCmd]{}
		return usage{name, c, fixed(&c.Command), warnings}
	case "schedule":
		c := &alone[scheduleCmd]{}
		return usage{name, c, fixed(&c.Command), warnings}
	}
	c := &cli{}
	return usage{"", c, func(ctx *kong.Context) command {
		if strings.HasPrefix(ctx.Command(), "completion") {
			c.Completion.model = ctx.Model
			return &c.Completion
		}
		return &c.Man
	}, warnings}
}

func fixed(c command) func(*kong.Context) command {
	return func(*kong.Context) command { return c }
}

func (c *rulesCmd) chosen(ctx *kong.Context) command {
	switch name, _, _ := strings.Cut(ctx.Command(), " <"); name {
	case "check":
		return &c.Check
	case "show":
		return &c.Show
	case "init":
		return &c.Init
	}
	return &c.Schema
}

// parse returns the command of the line and its log level, or none and the exit
// status: --help and --version are answered, and mistakes told.
func parse(args []string, stdout, stderr io.Writer) (chosen command, level string, code int) {
	if len(args) == 1 && (args[0] == "--version" || args[0] == "version") {
		_, err := fmt.Fprintln(stdout, version())
		code, _ = written(sweep.ExitDone, err)
		return nil, "", code
	}
	if len(args) > 0 && args[0] == "--" { // before a command it ends nothing
		args = args[1:]
	}
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	u := usageOf(args)
	program, help := "reaper", "Stops processes that outlived the run that started them."
	if u.name != "" {
		program, help, args = "reaper "+u.name, helpOf(u.name), args[1:]
	}
	exited := -1
	parser, err := kong.New(u.grammar, kong.Name(program), kong.Description(help), kong.Vars{"version": version()},
		kong.Writers(stdout, stderr), kong.TypeMapper(reflect.TypeFor[time.Duration](), valueOf(match.ParseDuration)),
		kong.TypeMapper(reflect.TypeFor[int](), valueOf(number)), kong.Exit(func(code int) { exited = code; panic(exitPanic{}) }))
	if err != nil {
		fmt.Fprintln(stderr, "reaper:", err)
		return nil, "", sweep.ExitUsage
	}
	ctx, err := parsed(parser, args)
	switch {
	case exited >= 0:
		return nil, "", exited
	case err != nil:
		g := grammarAt(err, parser.Model)
		hint := g.path + " --help says what it takes"
		if g.path == "reaper" {
			hint = "reaper --help lists the commands, reaper sweep --help the flags"
		}
		fmt.Fprintf(stderr, "reaper: %s\nreaper: hint: %s\n", g.inWords(err.Error()), hint)
		return nil, "", sweep.ExitUsage
	}
	return u.chosen(ctx), u.level(), 0
}

// helpOf is the sentence that a command has in the list of all.
func helpOf(name string) string {
	field, _ := reflect.TypeFor[cli]().FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, name) })
	return field.Tag.Get("help")
}

type exitPanic struct{}

// parsed lets kong's own exits (--help, --version) end the parsing.
func parsed(parser *kong.Kong, args []string) (*kong.Context, error) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(exitPanic); !ok {
				panic(r)
			}
		}
	}()
	return parser.Parse(args)
}

// valueOf makes a reader of text the reader of a flag's value.
func valueOf[T any](read func(string) (T, error)) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		var text string
		if err := ctx.Scan.PopValueInto("text", &text); err != nil {
			return err
		}
		value, err := read(text)
		if err == nil {
			target.Set(reflect.ValueOf(value))
		}
		return err
	}
}

// grammarAt is what could stand where a line went wrong.
func grammarAt(err error, model *kong.Application) *grammar {
	node := model.Node
	var wrong *kong.ParseError
	if errors.As(err, &wrong) && wrong.Context != nil && wrong.Context.Selected() != nil {
		node = wrong.Context.Selected()
	}
	g := &grammar{path: node.FullPath(), owners: map[string]string{}}
	flags := node.Flags
	if node != model.Node {
		flags = slices.Concat(flags, model.Node.Flags)
	}
	for _, f := range flags {
		g.flags = append(g.flags, choice{word: "--" + f.Name, help: f.FormatPlaceHolder(), values: enum(f.Enum)})
	}
	for _, arg := range node.Positional {
		g.args = append(g.args, choice{word: arg.Name, values: enum(arg.Enum)})
	}
	for _, child := range node.Children {
		g.commands = append(g.commands, child.Name)
		for _, f := range child.Flags {
			if name := "--" + f.Name; g.owners[name] == "" {
				g.owners[name] = child.Name
			}
		}
	}
	return g
}
