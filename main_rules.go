package main

import (
	"bytes"
	_ "embed" // the example
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"reaper/match"
	"reaper/sweep"
)

type rulesCmd struct {
	Check  rulesCheckCmd  `cmd:"" help:"Check rules files: every mistake with its line and column."`
	Show   rulesShowCmd   `cmd:"" help:"Show the rules in force, where they come from, with defaults filled in."`
	Init   rulesInitCmd   `cmd:"" help:"Write a commented example of rules to edit; never over a file that is there."`
	Schema rulesSchemaCmd `cmd:"" help:"Print the JSON Schema of rules files, for editors."`
}

type rulesCheckCmd struct {
	Files []string `arg:"" name:"file" help:"Rules files."`
}

type rulesShowCmd struct {
	Rules    []string `placeholder:"FILE" sep:"none" help:"Rules file; may be repeated."`
	Only     []string `placeholder:"NAME" sep:"none" help:"Only the rule of this name; may be repeated."`
	AllUsers bool     `help:"Refuse files as a sweep of all users' processes does."`
}

type rulesInitCmd struct {
	File string `arg:"" optional:"" name:"file" help:"Where to write it; else where a sweep finds it: reaper/rules.yaml in $$XDG_CONFIG_HOME (~/.config)."`
}

type rulesSchemaCmd struct{}

//go:embed rules.example.yaml
var exampleRules []byte

func (c *rulesCheckCmd) run(stdout io.Writer, _ zerolog.Logger) (int, error) {
	var bad []error
	var said strings.Builder
	good, files := 0, sweep.DistinctFiles(c.Files)
	for _, file := range files {
		rules, err := sweep.LoadRules(file, surroundings(false))
		if err != nil {
			bad = append(bad, err)
			continue
		}
		good += len(rules.Rules)
		fmt.Fprintf(&said, "%s: %s, no mistakes\n", rules.Source, counted(len(rules.Rules), "rule"))
		for _, odd := range rules.Unmarked() {
			fmt.Fprintf(&said, "%s: %s, which is no marker of any rule here: is the name right?\n", rules.Source, odd)
		}
	}
	switch {
	case len(bad) > 0 && len(files) > 1:
		bad = append(bad, fmt.Errorf("%d of %d files cannot be used", len(bad), len(files)))
	case len(files) > 1:
		fmt.Fprintf(&said, "%d files: %s, no mistakes\n", len(files), counted(good, "rule"))
	}
	_, err := io.WriteString(stdout, said.String())
	if len(bad) > 0 {
		return sweep.ExitUsage, errors.Join(bad...)
	}
	return written(sweep.ExitDone, err)
}

func counted(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func (c *rulesShowCmd) run(stdout io.Writer, log zerolog.Logger) (int, error) {
	s := shared{Rules: c.Rules, Only: c.Only, AllUsers: c.AllUsers}
	o, err := s.options(log)
	if err != nil {
		return sweep.ExitUsage, err
	}
	_, err = fmt.Fprintf(stdout, "# %s\n%s", o.Rules.Source, o.Rules.Show())
	return written(sweep.ExitDone, err)
}

// run writes the example; the folder is made, the file must be new.
func (c *rulesInitCmd) run(stdout io.Writer, _ zerolog.Logger) (int, error) {
	file := c.File
	if file == "-" {
		_, err := stdout.Write(firstRules())
		return written(sweep.ExitDone, err)
	}
	if file == "" {
		if file = sweep.ConfigFile(surroundings(false)); file == "" {
			return sweep.ExitUsage, errors.New("there is no home directory to write to: name a file")
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return sweep.ExitUsage, err
		}
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return sweep.ExitUsage, fmt.Errorf("%s is there already: nothing was written", file)
	}
	if errors.Is(err, os.ErrNotExist) {
		return sweep.ExitUsage, fmt.Errorf("cannot write %s: there is no folder %s: make it first", file, filepath.Dir(file))
	}
	if err != nil {
		return sweep.ExitUsage, err
	}
	_, err = f.Write(firstRules())
	if err := errors.Join(err, f.Close()); err != nil {
		return sweep.ExitUsage, err
	}
	_, err = fmt.Fprintf(stdout, "%s: uncomment and edit what you need, then try it with: reaper sweep --rules %[1]s --dry-run\nFor editors: reaper rules schema >%s\n",
		file, filepath.Join(filepath.Dir(file), "rules.schema.json"))
	return written(sweep.ExitDone, err)
}

// firstRules is the example with nothing in force but the built-in rule: a sweep
// by cron may read the file before its reader does.
func firstRules() []byte {
	// The example's own schema lies in another folder, and is there.
	modeline, rest, _ := bytes.Cut(exampleRules, []byte("\n"))
	modeline = bytes.Replace(modeline, []byte("$schema=match/"), []byte("$schema="), 1)
	example := slices.Concat(modeline, []byte("\n# For editors. To make it, in this file's folder: reaper rules schema >rules.schema.json\n"), rest)
	var out bytes.Buffer
	off, inRules := false, false
	for line := range bytes.Lines(example) {
		text := bytes.TrimSpace(line)
		switch {
		case bytes.HasPrefix(line, []byte("protect:")):
			off = true
		case len(text) == 0:
			off = inRules
		}
		if off && len(text) > 0 && text[0] != '#' {
			out.WriteString("# ")
		}
		out.Write(line)
		if bytes.HasPrefix(line, []byte("rules:")) {
			off, inRules = true, true
			_, rule, _ := strings.Cut(match.DefaultText, "rules:\n")
			out.WriteString("  # What reaper does without a file. Only this rule is in force as yet.\n" + rule + "\n")
		}
	}
	return out.Bytes()
}

func (c *rulesSchemaCmd) run(stdout io.Writer, _ zerolog.Logger) (int, error) {
	_, err := stdout.Write(match.Schema)
	return written(sweep.ExitDone, err)
}
