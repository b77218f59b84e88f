package platform

import "context"

// Trust has nothing to find out: an environment that the kernel keeps back is an
// error here, never an empty one.
func (r *Reader) Trust(context.Context) error { return nil }
