package platform

import "fmt"

// TerminalName is a terminal's name below /dev by the device number of a
// Process: major and minor as proc_pid_stat(5) has them in tty_nr, named as in
// devices.txt of the kernel's documentation. "" where that is not one of those.
func TerminalName(device int) string {
	major, minor := device>>8&0xfff, device&0xff|device>>12&0xfff00
	switch {
	case device == 0:
		return ""
	case major >= 136 && major <= 143:
		return fmt.Sprintf("pts/%d", (major-136)<<8+minor)
	case major == 4 && minor < 64:
		return fmt.Sprintf("tty%d", minor)
	case major == 4:
		return fmt.Sprintf("ttyS%d", minor-64)
	}
	return ""
}
