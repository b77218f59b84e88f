package platform

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// AdoptOrphans lets this process take in every descendant whose parent dies, as
// init does (prctl(2), PR_SET_CHILD_SUBREAPER, 3.4).
func AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become a child subreaper: %w", err)
	}
	return nil
}
