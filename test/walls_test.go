package test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// walls say what a package must not import, and why. An entry holds for the path
// and all below it.
var walls = map[string]map[string]string{
	"main": {
		"github.com/shirou/gopsutil":        "what the system says is platform's to read",
		"github.com/charmbracelet/lipgloss": "how an answer looks is sweep/render.go's",
		"golang.org/x/sys":                  "system calls are platform's",
		"github.com/bmatcuk/doublestar":     "patterns are match's",
	},
	"sweep": {
		"golang.org/x/sys":              "system calls are platform's, so that a sweep runs on a scripted machine too",
		"github.com/shirou/gopsutil":    "what the system says is platform's to read",
		"github.com/alecthomas/kong":    "flags are main's",
		"github.com/bmatcuk/doublestar": "patterns are match's",
		"go.yaml.in/yaml":               "rules files are match's",
	},
	"match": {
		"reaper/sweep":               "imports go one way: main, sweep, match, platform",
		"os":                         "judgement is pure: it is told what is so",
		"io/ioutil":                  "judgement is pure: it is told what is so",
		"syscall":                    "judgement is pure: it is told what is so",
		"golang.org/x/sys":           "judgement is pure: it is told what is so",
		"net":                        "judgement is pure: it is told what is so",
		"log":                        "verdicts are values, the caller logs",
		"github.com/rs/zerolog":      "verdicts are values, the caller logs",
		"github.com/alecthomas/kong": "flags are main's",
		"github.com/shirou/gopsutil": "judgement is pure: it is told what is so",
		"math/rand":                  "the same census has the same verdicts",
	},
	"platform": {
		"reaper/sweep":               "imports go one way: main, sweep, match, platform",
		"reaper/match":               "platform says what is so and judges nothing",
		"github.com/rs/zerolog":      "what is found is returned, the caller logs",
		"log":                        "what is found is returned, the caller logs",
		"github.com/alecthomas/kong": "flags are main's",
		"go.yaml.in/yaml":            "rules files are match's",
	},
}

// onlyFiles may import what the key names; nobody else may.
var onlyFiles = map[string][]string{
	"github.com/charmbracelet/lipgloss": {"sweep/render.go"},
	"github.com/alecthomas/kong":        {"main_usage.go", "main_completion.go"}, // the latter reads the model of the command line
}

// pureFunctions of platform compute; all others ask the system.
var pureFunctions = []string{"AnswerOf", "ParsePID"}

// source is one Go file that is no test.
type source struct {
	path, pkg string
	file      *ast.File
}

func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, name := range projectFiles(t) {
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		pkg := path.Dir(name)
		if pkg == "." {
			pkg = "main"
		}
		all = append(all, source{name, pkg, file})
	}
	return all
}

// projectFiles are all text files of the project, by their path below its root.
func projectFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") { // the latter is npm's
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			if text, err := os.ReadFile(name); err != nil || bytes.IndexByte(text[:min(len(text), 8192)], 0) >= 0 {
				return err
			}
			rel, _ := filepath.Rel("..", name)
			files = append(files, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func within(importPath, wall string) bool {
	return importPath == wall || strings.HasPrefix(importPath, wall+"/")
}

func (s source) imports() []string {
	var all []string
	for _, spec := range s.file.Imports {
		name, _ := strconv.Unquote(spec.Path.Value)
		all = append(all, name)
	}
	return all
}

func TestImportsGoOneWay(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range sources(t) {
		seen[s.pkg] = true
		for _, imported := range s.imports() {
			for wall, why := range walls[s.pkg] {
				if within(imported, wall) {
					t.Errorf("%s imports %s: %s", s.path, imported, why)
				}
			}
			for lib, files := range onlyFiles {
				if within(imported, lib) && !slices.Contains(files, s.path) {
					t.Errorf("%s imports %s: only %v may", s.path, imported, files)
				}
			}
		}
	}
	for pkg := range walls {
		if !seen[pkg] {
			t.Errorf("there is no package %s behind its wall", pkg)
		}
	}
}

// selectors calls f for each X.Name where X is a plain name.
func (s source) selectors(f func(x, name string)) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		if sel, ok := n.(*ast.SelectorExpr); ok {
			x, _ := sel.X.(*ast.Ident)
			if x != nil {
				f(x.Name, sel.Sel.Name)
			} else {
				f("", sel.Sel.Name)
			}
		}
		return true
	})
}

func TestMatchIsPure(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "After", "AfterFunc", "Sleep", "Tick", "NewTicker", "NewTimer", "Local", "LoadLocation"}
	asks := systemNames(t)
	for _, s := range sources(t) {
		if s.pkg != "match" {
			continue
		}
		s.selectors(func(x, name string) {
			if x == "time" && slices.Contains(clock, name) {
				t.Errorf("%s uses time.%s: a judgement has no clock", s.path, name)
			}
			if x == "platform" && slices.Contains(asks, name) {
				t.Errorf("%s uses platform.%s: a judgement asks nobody", s.path, name)
			}
		})
	}
}

// systemNames are what platform exports that asks the system: its functions but
// the pure ones, and the types whose methods do.
func systemNames(t *testing.T) []string {
	t.Helper()
	names := []string{"Reader", "Handle"}
	for _, s := range sources(t) {
		if s.pkg != "platform" {
			continue
		}
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.IsExported() && !slices.Contains(pureFunctions, f.Name.Name) {
				names = append(names, f.Name.Name)
			}
		}
	}
	return names
}

// Signals are decided and sent in one file, so that one file is all there is to
// read on who can be hit.
func TestSignalsComeFromOneFile(t *testing.T) {
	// What the tests themselves start (test/gotest is a module of its own) ends by its own means.
	sending := []string{"Signal", "SignalGroup", "Kill", "PidfdSendSignal", "Tgkill", "Reboot"}
	for _, s := range sources(t) {
		if s.pkg == "platform" || s.path == "sweep/signal.go" || strings.HasPrefix(s.path, "test/") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			sel, ok := call.Fun.(*ast.SelectorExpr)
			if !ok || !slices.Contains(sending, sel.Sel.Name) {
				return true
			}
			x, _ := sel.X.(*ast.Ident)
			forwards := s.path == "sweep/machine.go" && x != nil && x.Name == "platform"
			converts := x != nil && x.Name == "syscall" && sel.Sel.Name == "Signal"
			if !forwards && !converts {
				t.Errorf("%s calls %s: signals are sent by sweep/signal.go", s.path, sel.Sel.Name)
			}
			return true
		})
	}
}

// Each program exits in its main.go.
func TestOneExit(t *testing.T) {
	mains := []string{"main.go", "test/bench/main.go"}
	for _, s := range sources(t) {
		s.selectors(func(x, name string) {
			if x == "os" && name == "Exit" && !slices.Contains(mains, s.path) || x == "log" && strings.HasPrefix(name, "Fatal") {
				t.Errorf("%s calls %s.%s: only main.go exits", s.path, x, name)
			}
		})
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, name := range projectFiles(t) {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		if lines := bytes.Count(text, []byte("\n")); lines > 500 && !generated(name) {
			t.Errorf("%s has %d lines", name, lines)
		}
	}
}

// generated are the lists of versions that go and npm write.
func generated(name string) bool {
	return strings.HasSuffix(name, ".sum") || path.Base(name) == "package-lock.json"
}

func TestFoldersAreTheLayout(t *testing.T) {
	entries, err := os.ReadDir("..")
	if err != nil {
		t.Fatal(err)
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			folders = append(folders, e.Name())
		}
	}
	if want := []string{"match", "platform", "sweep", "test"}; !slices.Equal(folders, want) {
		t.Errorf("folders %v instead of %v", folders, want)
	}
}

// The text of the project holds on any machine: no path of one, no registry.
func TestTextNamesNoMachine(t *testing.T) {
	words := []string{"/" + "work/", "proxy." + "golang.org", "sum." + "golang.org", "registry." + "npmjs", "deb." + "debian.org"}
	for _, name := range projectFiles(t) {
		text, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range words {
			if bytes.Contains(text, []byte(word)) {
				t.Errorf("%s mentions %s", name, word)
			}
		}
	}
}
