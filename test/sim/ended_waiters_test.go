//go:build mutants

package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// TestEndedWaitersHoldNoSnapshot: a one-shot that ended while it waited for a round, and whose memory the next one
// used, left the round's snapshot retained on all shards for ever.
func TestEndedWaitersHoldNoSnapshot(t *testing.T) {
	h := target{readers: true, shape: unsealingAtOnce}
	_, err := Run(h.options(261, mutant.Set{}))
	require.NoError(t, err)
}
