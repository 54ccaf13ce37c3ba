//go:build mutants

package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// TestMutantsOfRoundsLetSlowNodeSlowOthers: with each of these rules broken, clients that need no key of the slow node
// lose throughput, or wait.
func TestMutantsOfRoundsLetSlowNodeSlowOthers(t *testing.T) {
	t.Parallel()
	slow := 1500 * time.Millisecond
	for _, tc := range []struct {
		id mutant.ID
		b  slowNode
	}{
		{mutant.RoundsAnsweredDurable, slowNode{slow: slow}},
		{mutant.RoundsWaitForever, slowNode{stops: true}},
		{mutant.ExclusionForgotten, slowNode{stops: true}},
		{mutant.ExclusionEndsAtProbe, slowNode{slow: 500 * time.Millisecond, seed: 3}},
	} {
		t.Run(fmt.Sprint(tc.id), func(t *testing.T) {
			const length = 2 * time.Second
			sound := tc.b.run(t, length)
			tc.b.mutants = mutant.Of(tc.id)
			broken := tc.b.run(t, length)
			t.Logf("unbroken: %v\nbroken: %v", &sound, &broken)
			require.NotEmpty(t, broken.violations(&sound, 0.9))
		})
	}
}

// TestMutantLetsExcludedShardDecide: without the rule the hot shard decides.
func TestMutantLetsExcludedShardDecide(t *testing.T) {
	hot, last := lastAgentBeside(t, mutant.Of(mutant.ExcludedShardDecides))
	require.Equal(t, hot, last)
}
