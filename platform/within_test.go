package platform

import (
	"context"
	"testing"
)

// Guards against a lost file system below the folders of many processes: a path
// that gave no answer is not asked again, and what does answer is still heard.
func TestLostPaths(t *testing.T) {
	var lost lostPaths
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	never := make(chan Answer)
	if got := lost.ask(ended, "/lost/a", func() Answer { return <-never }); got != Unknown {
		t.Errorf("no answer: %v", got)
	}
	if got := lost.ask(context.Background(), "/lost/a", func() Answer { t.Error("asked again"); return Yes }); got != Unknown {
		t.Errorf("again: %v", got)
	}
	if got := lost.ask(context.Background(), "/lost/b", func() Answer { return <-never }); got != Unknown { // without a deadline of its own
		t.Errorf("another without an answer: %v", got)
	}
	if got := lost.ask(context.Background(), "/good", func() Answer { return Yes }); got != Yes {
		t.Errorf("with an answer: %v", got)
	}
}
