package again

import (
	"os"
	"testing"

	"example.com/gotest/orphans"
)

func TestMain(m *testing.M) {
	orphans.Sweep()
	os.Exit(m.Run())
}
