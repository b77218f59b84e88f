package platform

import "testing"

// Guards against signals to what no table shows: a mount that hides processes is
// known by its options, as old kernels and new ones write them.
func TestHidesIn(t *testing.T) {
	const before = "20 1 0:19 / /sys rw shared:7 - sysfs sysfs rw\n"
	for options, want := range map[string]bool{
		"rw": false, "rw,hidepid=0": false, "rw,hidepid=off": false, "rw,hidepid=1": false, "rw,hidepid=noaccess,gid=4": false,
		"rw,hidepid=2": true, "rw,hidepid=invisible": true, "rw,gid=4,hidepid=4": true, "rw,hidepid=ptraceable,subset=pid": true, "rw,hidepid=new": true,
	} {
		text := before + "21 1 0:20 / /other/proc rw,nosuid - proc proc rw,hidepid=2\n" + "22 1 0:21 / /proc rw,nosuid shared:12 master:3 - proc proc " + options + "\n"
		if hidesIn([]byte(text), "0:21") != want {
			t.Errorf("%s: not %v", options, want)
		}
	}
	if !hidesIn([]byte(before), "0:21") || !hidesIn([]byte("22 1 0:21\n"), "0:21") || !hidesIn(nil, "0:21") {
		t.Error("what is not listed hides nothing")
	}
}
