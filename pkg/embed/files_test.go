package embed

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFilesAreDealtOut(t *testing.T) {
	for _, c := range []struct {
		limit              uint64
		wanted             int
		store, connections int
	}{{20_000, 0, 1000, usualConnections}, {20_000, 50_000, 1000, 18_900}, {20_000, 10, 1000, 10}, {1024, 0, 256, 668},
		{256, 0, 64, 92}, {64, 0, 16, fewestConnections}} {
		store, connections := dealFiles(c.limit, c.wanted)
		require.Equal(t, c.store, store, "of %d", c.limit)
		require.Equal(t, c.connections, connections, "of %d", c.limit)
	}
}
