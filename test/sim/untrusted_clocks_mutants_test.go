//go:build mutants

package sim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// TestMutantLeadsWithFastClock: a node whose clock is off leads on.
func TestMutantLeadsWithFastClock(t *testing.T) {
	_, leads := withFastClock(t, 1.05, mutant.Of(mutant.ClockRateIgnored))
	require.NotZero(t, leads)
}
