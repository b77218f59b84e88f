//go:build linux

package test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// Guards the release by what can be told without its tool: the targets are those
// that .ci/run builds, without C, and every file that goes along is there.
func TestReleaseConfiguration(t *testing.T) {
	var release struct {
		Builds []struct {
			Env, Goos, Goarch []string
		}
		Archives []struct{ Files []string }
	}
	if err := yaml.Unmarshal(readAll(t, "../.goreleaser.yaml"), &release); err != nil {
		t.Fatal(err)
	}
	script := string(readAll(t, "../.ci/run"))
	if len(release.Builds) != 1 || !slices.Contains(release.Builds[0].Env, "CGO_ENABLED=0") {
		t.Fatalf("builds %+v", release.Builds)
	}
	targets := 0
	for _, system := range release.Builds[0].Goos {
		for _, arch := range release.Builds[0].Goarch {
			if targets++; !strings.Contains(script, system+"/"+arch) {
				t.Errorf(".ci/run does not build %s/%s", system, arch)
			}
		}
	}
	if targets != 4 {
		t.Errorf("%d targets", targets)
	}
	for _, file := range release.Archives[0].Files {
		if _, err := os.Stat(filepath.Join("..", file)); err != nil {
			t.Error(err)
		}
	}
}

// Guards the workflow: each job runs what .ci/run runs, or .ci/run, and a Mac is
// asked what only a Mac can say.
func TestWorkflowRunsWhatCIRuns(t *testing.T) {
	var workflow struct {
		Jobs map[string]struct {
			RunsOn string `yaml:"runs-on"`
			Steps  []struct{ Run string }
		}
	}
	if err := yaml.Unmarshal(readAll(t, "../.github/workflows/ci.yml"), &workflow); err != nil {
		t.Fatal(err)
	}
	script := string(readAll(t, "../.ci/run"))
	const askMac = "sh test/macos.sh short"
	ran := map[string]int{}
	for _, job := range workflow.Jobs {
		system, _, _ := strings.Cut(job.RunsOn, "-")
		for _, step := range job.Steps {
			switch {
			case step.Run == "":
			case system == "macos" && step.Run == askMac:
				ran[askMac]++
			case strings.HasSuffix(step.Run, "bash .ci/run"), strings.Contains(script, strings.TrimSuffix(step.Run, " .")):
				ran[system]++
			default:
				t.Errorf("%s: %q is not in .ci/run", job.RunsOn, step.Run)
			}
		}
	}
	if ran["ubuntu"] == 0 || ran["macos"] < 4 || ran[askMac] != 1 {
		t.Errorf("steps: %v", ran)
	}
}
