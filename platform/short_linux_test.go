package platform

import (
	"syscall"
	"testing"
)

// Guards that what nobody has seen is no answer: a reading that lacks descriptors
// or memory is not complete, and the next one that does not is.
func TestReadingForWantOfDescriptors(t *testing.T) {
	target := idler(t, []string{mark + "=1"})
	for _, file := range []string{"environ", "stat", "cmdline"} {
		for _, want := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM} {
			r := reader(t)
			whole := r.file
			r.file = intercept(whole, target.pid, file, func(func() ([]byte, error)) ([]byte, error) { return nil, want })
			c := scan(t, r, marked)
			survey(t, r, c, marked)
			r.Inspect(t.Context(), c, []int{target.pid}, marked)
			if !c.Cut {
				t.Errorf("%s: %v is taken for an answer: %+v", file, want, c.row(t, target.pid))
			}
			r.file = whole
			if c := scan(t, r, marked); c.Cut {
				t.Errorf("%s: the next reading counts as cut", file)
			}
		}
	}
}
