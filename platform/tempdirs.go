//go:build unix

package platform

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// UserTempDirs lists the temporary directories that macOS gives each user,
// /var/folders/xx/…/T: the caller's, all of them for root. TMPDIR names it in a
// login session, and not in a job of cron or of a launchd daemon.
func UserTempDirs() []string {
	if runtime.GOOS != "darwin" {
		return nil
	}
	return userTempDirs("/var/folders", os.Geteuid())
}

func userTempDirs(base string, uid int) []string {
	found, _ := filepath.Glob(filepath.Join(base, "*", "*", "T"))
	var dirs []string
	for _, dir := range found {
		info, err := os.Lstat(dir)
		if err != nil || !info.IsDir() {
			continue
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok && (uid == 0 || int(st.Uid) == uid) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}
