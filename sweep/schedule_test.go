package sweep

import (
	"encoding/xml"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCronTimes(t *testing.T) {
	for every, want := range map[time.Duration]string{
		time.Minute: "* * * * *", 10 * time.Minute: "*/10 * * * *", 30 * time.Minute: "*/30 * * * *",
		time.Hour: "0 * * * *", 6 * time.Hour: "0 */6 * * *", 24 * time.Hour: "0 0 * * *",
		7 * time.Minute: "", 45 * time.Minute: "", 90 * time.Minute: "", 5 * time.Hour: "",
	} {
		if got, err := cronTimes(every); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", every, got, err)
		}
	}
}

func TestScheduleRefusesWhatNoJobCanHold(t *testing.T) {
	fine := Job{Program: "/usr/bin/reaper", Every: time.Hour}
	for name, j := range map[string]Job{
		"a relative program": {Program: "reaper", Every: time.Hour},
		"relative rules":     {Program: "/r", Rules: []string{"r.yaml"}, Every: time.Hour},
		"a line break":       {Program: "/r", Rules: []string{"/a\n* * * * * reboot"}, Every: time.Hour},
		"no UTF-8":           {Program: "/r\xff", Every: time.Hour},
		"go run's binary":    {Program: "/tmp/go-build1/b001/exe/reaper", Every: time.Hour},
		"seconds":            {Program: "/r", Every: 90 * time.Second},
		"no time at all":     {Program: "/r"},
		"two days":           {Program: "/r", Every: 48 * time.Hour},
	} {
		for _, kind := range []string{"cron", "launchd", "systemd"} {
			if text, err := Schedule(kind, j); err == nil || text != "" {
				t.Errorf("%s for %s: %q", name, kind, text)
			}
			if _, err := Schedule(kind, fine); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
		}
	}
	if _, err := Schedule("cron", Job{Program: `/a\b`, Every: time.Hour}); err == nil {
		t.Error("cron: a backslash")
	}
}

// Guards the words of a line, whatever is in them, by asking a shell.
func TestQuotedIsOneWordEach(t *testing.T) {
	argv := []string{"/bin/printf", `%s\n`, "a b", "it's", `"`, "$HOME", "`x`", "*", "", "é", "a;b&c|d", "100%", "~"}
	out, err := exec.Command("sh", "-c", quoted(argv)).Output()
	if err != nil || string(out) != strings.Join(argv[2:], "\n")+"\n" {
		t.Errorf("%v: %q from %s", err, out, quoted(argv))
	}
}

func TestSystemdWords(t *testing.T) {
	for _, test := range []struct{ given, program, argument string }{
		{"/a/b", "/a/b", "/a/b"},
		{"/a b/c", `"/a b/c"`, `"/a b/c"`},
		{"/100%", "/100%%", "/100%%"},
		{"/$x", "/$x", "/$$x"},
		{`/a"b\c`, `"/a\"b\\c"`, `"/a\"b\\c"`},
		{"/it's", `"/it's"`, `"/it's"`},
	} {
		if p, a := systemdWord(test.given, false), systemdWord(test.given, true); p != test.program || a != test.argument {
			t.Errorf("%q: %s, %s", test.given, p, a)
		}
	}
}

// plist reads a property list's dictionary: strings, integers, booleans and
// lists of strings, and nothing else.
func plist(t *testing.T, text string) map[string]any {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(text))
	type element struct {
		XMLName xml.Name
		Text    string    `xml:",chardata"`
		Items   []element `xml:",any"`
	}
	var root struct {
		XMLName xml.Name `xml:"plist"`
		Version string   `xml:"version,attr"`
		Dict    struct {
			Items []element `xml:",any"`
		} `xml:"dict"`
	}
	if err := dec.Decode(&root); err != nil || root.Version != "1.0" {
		t.Fatalf("%v, version %q", err, root.Version)
	}
	if _, err := dec.Token(); err != nil {
		if _, err = dec.Token(); err != io.EOF {
			t.Fatalf("after the end: %v", err)
		}
	}
	got := map[string]any{}
	for i := 0; i+1 < len(root.Dict.Items); i += 2 {
		key, value := root.Dict.Items[i], root.Dict.Items[i+1]
		if key.XMLName.Local != "key" || got[key.Text] != nil {
			t.Fatalf("%s %q where a key belongs", key.XMLName.Local, key.Text)
		}
		switch kind := value.XMLName.Local; kind {
		case "string", "integer", "true":
			got[key.Text] = kind + " " + value.Text
		case "array":
			var list []string
			for _, item := range value.Items {
				if item.XMLName.Local != "string" {
					t.Errorf("%s in a list", item.XMLName.Local)
				}
				list = append(list, item.Text)
			}
			got[key.Text] = list
		default:
			t.Errorf("%s is a %s", key.Text, kind)
		}
	}
	return got
}

// Guards the job for launchd by its structure; only a Mac can load it.
func TestLaunchdJob(t *testing.T) {
	j := Job{Program: "/a <b> & c/reaper", Rules: []string{`/it's "100%"/]]>.yaml`, "/--/é.yaml"}, Every: 10 * time.Minute, Home: "/Users/me & you"}
	text, err := Schedule("launchd", j)
	if err != nil {
		t.Fatal(err)
	}
	got := plist(t, text)
	argv, _ := got["ProgramArguments"].([]string)
	if !slices.Equal(argv, []string{j.Program, "sweep", "--quiet", "--rules", j.Rules[0], "--rules", j.Rules[1]}) {
		t.Errorf("%q", argv)
	}
	delete(got, "ProgramArguments")
	for key, want := range map[string]string{
		"Label": "string reaper.sweep", "StartInterval": "integer 600", "ProcessType": "string Background", "LowPriorityIO": "true ", "Nice": "integer 19",
		"StandardOutPath": "string /Users/me & you/Library/Logs/reaper.log", "StandardErrorPath": "string /Users/me & you/Library/Logs/reaper.log",
	} {
		if got[key] != want {
			t.Errorf("%s is %q", key, got[key])
		}
		delete(got, key)
	}
	if len(got) > 0 {
		t.Errorf("and %v", got)
	}
}
