//go:build linux

package test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shifted is a command that runs another one in a time namespace of its own, with
// other starts.
func (l *Lab) shifted(argv ...string) []string {
	l.t.Helper()
	shift := []string{l.needProgram("unshare"), "-T", "--boottime", "1000", "--"}
	probe, _ := l.launch(Spec{Argv: append(shift, "true")})
	if l.finish(probe) != 0 {
		l.t.Skip("no time namespaces here")
	}
	return append(shift, argv...)
}

// Guards live runs in other time namespaces: a start that is another one by
// another clock is no proof that the process has exited.
func TestStartByAnotherClock(t *testing.T) {
	lab := newLab(t)
	stamped := func(pid, start any) string { return lab.Mark(fmt.Sprintf("%v@%v", pid, start)) }
	// Each is started by a shell that leads its own session, reads a start by its
	// own clock, and becomes the lab's sleep.
	start := `read -r s </proc/$P/stat; set -- ${s##*) }; export ` + lab.Parent + `=$P@${20}; `
	run := func(n int, text string, shift bool) Proc {
		argv := []string{"sh", "-c", lab.shell(text)}
		if shift {
			argv = lab.shifted(argv...)
		}
		lab.Start(Spec{Argv: argv, Leader: true, Adopted: true})
		return lab.Sleeper(n)
	}
	live := lab.Live()
	inside := run(901, `P=$$; `+start+`setsid SLEEP902 & exec env -u `+lab.Parent+` SLEEP901`, true)
	outside := run(903, `P=$$; `+start+`setsid unshare -T --boottime 1000 SLEEP904 & exec env -u `+lab.Parent+` SLEEP903`, false)
	follower := run(905, fmt.Sprintf("P=%d; %s exec SLEEP905", live.PID, start), true)
	bare := run(906, lab.Mark(live)+" exec SLEEP906", true)
	gone := run(907, stamped(lab.Dead(), 5)+" exec SLEEP907", true)
	shownInside := lab.OrphanLeader([]string{stamped(inside.PID, inside.Start-5)}, lab.Sleep(908)...)
	recycled := lab.OrphanLeader([]string{stamped(live.PID, live.Start-5)}, lab.Sleep(909)...)
	if values := strings.Join(readEnviron(follower.PID), " "); strings.Contains(values, stamped(live.PID, live.Start)) {
		t.Fatalf("the clock is the same: %s", values)
	}
	lab.Cases(
		running("in the namespace of the one that it follows", "spared unknown", lab.Sleeper(902)),
		running("in a namespace that its live owner made for it", "spared parent-running", lab.Sleeper(904)),
		running("has the start by its own clock", "spared unknown", follower),
		running("follows a number alone", "spared parent-running", bare),
		running("follows what has exited", "goes follows", gone),
		running("here, follows one there by another start", "spared unknown", shownInside),
		running("here, follows one here by another start", "goes follows", recycled),
		running("followed there", "unnamed", inside),
		running("followed here", "unnamed", outside))

	mine := lab.OrphanLeader([]string{stamped(live.PID, live.Start)}, lab.Sleep(910)...)
	res := lab.Run(Run{Via: lab.shifted(), Status: 0})
	swept := slices.ContainsFunc(res.Doc.Spared, func(s Spared) bool { return s.PID == mine.PID && s.Reason == "unknown" })
	if len(res.Doc.Orphans) > 0 || !swept || !mine.Running() {
		t.Errorf("swept from another namespace: %s", res.Stdout)
	}
	alive := func(via []string, status int) {
		lab.Run(Run{Command: "alive", Args: []string{fmt.Sprintf("%d@%d", live.PID, live.Start)}, Via: via, Status: status, Text: true})
	}
	alive(nil, 0)
	alive(lab.shifted(), 4)
}
