//go:build linux

package test

import (
	"os"
	"path/filepath"
	"testing"
)

// A home counts if it is, with all links resolved, below a temporary directory,
// however the one and the other are spelt.
func TestHomeIsBelowATemporaryDirectory(t *testing.T) {
	lab := newLab(t)
	dir := func(name string) string { return filepath.Join(lab.Dir, name) }
	for _, name := range []string{"real", "real/inner", "real/lab-dir", "real2", "outside"} {
		lab.must(os.Mkdir(dir(name), 0o755))
	}
	for name, to := range map[string]string{
		"link": "real", "real/lab-inside": "inner", "real/lab-outside": dir("outside"), "real/lab-absent": dir("outside/gone"),
		"real/lab-loop": "lab-loop", "real/lab-nowhere": "gone", "other": "real/inner",
	} {
		lab.must(os.Symlink(to, dir(name)))
	}
	home := func(path string) string { return lab.HomeVar + "=" + path }
	values := map[string]struct {
		value      string
		set, unset string // with TMPDIR as the link, and without
	}{
		"its real path":                       {dir("real/lab-a"), "goes adopted", "unnamed"},
		"by the link":                         {dir("link/lab-a"), "goes adopted", "unnamed"},
		"a folder that exists":                {dir("link/lab-dir"), "goes adopted", "unnamed"},
		"a trailing slash":                    {dir("real/lab-a") + "/", "goes adopted", "unnamed"},
		"a double slash":                      {dir("real") + "//lab-a", "goes adopted", "unnamed"},
		"a dot":                               {dir("link") + "/./lab-a", "goes adopted", "unnamed"},
		"two dots":                            {dir("link") + "/../real/lab-a", "unnamed", "unnamed"},
		"two dots at the end":                 {dir("real") + "/lab-a/b/..", "unnamed", "unnamed"},
		"a link that stays inside":            {dir("real/lab-inside"), "goes adopted", "unnamed"},
		"a link to what is not there, inside": {dir("real/lab-nowhere"), "unnamed", "unnamed"}, // where it will lead cannot be told
		"a link that leads outside":           {dir("real/lab-outside"), "unnamed", "unnamed"},
		"a link to what is not there":         {dir("real/lab-absent"), "unnamed", "unnamed"},
		"a link to itself":                    {dir("real/lab-loop"), "unnamed", "unnamed"},
		"deeper than the pattern":             {dir("real/lab-a/b"), "unnamed", "unnamed"},
		"below another folder in it":          {dir("other/lab-a"), "unnamed", "unnamed"},
		"another name":                        {dir("real/xlab-a"), "unnamed", "unnamed"},
		"a folder that begins alike":          {dir("real2/lab-a"), "unnamed", "unnamed"},
		"the directory itself":                {dir("real"), "unnamed", "unnamed"},
		"relative":                            {"lab-a", "unnamed", "unnamed"},
		"relative, with the directory":        {"tmp/lab-a", "unnamed", "unnamed"},
		"empty":                               {"", "unnamed", "unnamed"},
		"/tmp":                                {"/tmp/lab-" + lab.Tag, "goes adopted", "goes adopted"},
		"/tmp, with a double slash":           {"//tmp//lab-" + lab.Tag + "/", "goes adopted", "goes adopted"},
		"/tmpx":                               {"/tmpx/lab-a", "unnamed", "unnamed"},
		"another one's /tmp":                  {"/home/tmp/lab-a", "unnamed", "unnamed"},
		"the root":                            {"/lab-a", "unnamed", "unnamed"},
	}
	sweep := func(r Run, set bool) {
		var cases []Case
		for what, v := range values {
			want := v.unset
			if set {
				want = v.set
			}
			cases = append(cases, orphan(what, want, home(v.value)))
		}
		lab.CasesOf(r, cases...)
	}
	sweep(Run{Env: []string{"TMPDIR=" + dir("link")}}, true)
	sweep(Run{Env: []string{"TMPDIR=" + dir("real") + "/"}}, true)
	sweep(Run{}, false)
	sweep(Run{Env: []string{"TMPDIR="}}, false)
	sweep(Run{Env: []string{"TMPDIR=/"}}, false)
	sweep(Run{Env: []string{"TMPDIR=real"}}, false)
}
