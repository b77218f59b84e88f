package platform

import (
	"bytes"
	"slices"
)

// hidesIn says whether the procfs of this device ("0:21") hides processes, by a
// mountinfo (proc_pid_mountinfo(5)). What is not listed may.
func hidesIn(mountinfo []byte, device string) bool {
	for line := range bytes.Lines(mountinfo) {
		fields := bytes.Fields(line)
		if len(fields) < 10 || string(fields[2]) != device {
			continue
		}
		for option := range bytes.SplitSeq(fields[len(fields)-1], []byte{','}) {
			name, level, _ := bytes.Cut(option, []byte{'='})
			if string(name) == "hidepid" && !slices.Contains([]string{"0", "off", "1", "noaccess"}, string(level)) {
				return true
			}
		}
		return false
	}
	return true
}
