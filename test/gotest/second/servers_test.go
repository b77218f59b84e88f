package second

import (
	"testing"

	"example.com/gotest/servers"
)

func TestServers(t *testing.T) { servers.Run(t) }
