package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/rs/zerolog"

	"reaper/sweep"
)

type scheduleCmd struct {
	Kind  string        `arg:"" enum:"cron,launchd,systemd" help:"cron, launchd or systemd."`
	Every time.Duration `placeholder:"D" default:"10m" help:"Time between two sweeps (10m)."`
	Rules []string      `placeholder:"FILE" sep:"none" help:"Rules file of the job; may be repeated. Else those in force here."`
}

func (c *scheduleCmd) run(stdout io.Writer, _ zerolog.Logger) (int, error) {
	text, err := c.text()
	if err != nil {
		return sweep.ExitUsage, err
	}
	_, err = io.WriteString(stdout, text)
	return written(sweep.ExitDone, err)
}

func (c *scheduleCmd) text() (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	where := surroundings(false)
	if _, err := sweep.FindRules(c.Rules, where); err != nil {
		return "", err
	}
	job := sweep.Job{Program: program, Every: c.Every, Home: where.Home}
	for _, file := range sweep.RulesFiles(c.Rules, where) {
		if info, err := os.Stat(file); file == "-" || err != nil || !info.Mode().IsRegular() {
			return "", fmt.Errorf("--rules %q is gone when the job runs: give a file that stays", file)
		}
		if file, err = filepath.Abs(file); err != nil {
			return "", err
		}
		job.Rules = append(job.Rules, file)
	}
	for _, lower := range [][]string{{"nice", "-n", "19"}, {"ionice", "-c", "3"}} {
		if path, err := exec.LookPath(lower[0]); err == nil && filepath.IsAbs(path) { // macOS has no ionice
			job.Lower = append(job.Lower, append([]string{path}, lower[1:]...))
		}
	}
	return sweep.Schedule(c.Kind, job)
}
