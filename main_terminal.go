package main

import (
	"io"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/term"

	"reaper/platform"
	"reaper/sweep"
)

// withProgress does what stops processes, and shows meanwhile on stderr how far it
// is, where a person looks at it.
func (c *shared) withProgress(o sweep.Options, stdout io.Writer, quiet bool, work func(sweep.Options) (*sweep.Report, error)) (*sweep.Report, error) {
	if quiet || c.JSON && !isTerminal(stdout) || !watched(os.Stderr) {
		return work(o)
	}
	tty, err := platform.OpenTerminal()
	if err == nil {
		defer tty.Close()
	}
	progress, end := sweep.ShowProgress(os.Stderr, func() int {
		if err == nil {
			// From the background a write would stop this process where the terminal
			// says so (stty tostop), in the midst of its work.
			if pgid, err := tty.Foreground(); err == nil && pgid != syscall.Getpgrp() {
				return 0
			}
		}
		return width(os.Stderr)
	})
	defer end()
	o.Progress = progress
	return work(o)
}

// watched says whether somebody looks at the file, and it can be written over.
func watched(f *os.File) bool {
	ci := os.Getenv("CI")
	dumb := os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == ""
	return isTerminal(f) && !dumb && (ci == "" || ci == "false" || ci == "0")
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is a terminal's, else what $COLUMNS says (watch sets it); 0: there is none.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	columns, err := strconv.Atoi(os.Getenv("COLUMNS"))
	switch {
	case err == nil && columns > 0:
		return columns
	case isTerminal(w):
		return 80
	}
	return 0
}

// color follows no-color.org and bixense.com/clicolors; --color decides first.
func (c *shared) color(w io.Writer) bool {
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
