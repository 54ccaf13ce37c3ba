//go:build mutants

package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// TestABrokenRuleOfRoundsLetsASlowNodeSlowDownOthers: where each of them is broken, clients that need
// no key of the slow node lose some of their rates, or wait.
func TestABrokenRuleOfRoundsLetsASlowNodeSlowDownOthers(t *testing.T) {
	slow := 1500 * time.Millisecond
	for _, tc := range []struct {
		id mutant.ID
		b  neighbours
	}{
		{mutant.RoundsAnsweredDurable, neighbours{slow: slow}},
		{mutant.RoundsWaitForever, neighbours{stops: true}},
		{mutant.LeftOutForgotten, neighbours{stops: true}},
		{mutant.LeftOutBackAtOnce, neighbours{slow: 500 * time.Millisecond}},
	} {
		t.Run(fmt.Sprint(tc.id), func(t *testing.T) {
			const length = 2 * time.Second
			sound := tc.b.run(t, length)
			tc.b.mutants = mutant.Of(tc.id)
			broken := tc.b.run(t, length)
			t.Logf("sound: %v\nbroken: %v", &sound, &broken)
			require.NotEmpty(t, broken.loses(&sound, 0.9))
		})
	}
}

// TestALeftOutShardDecidesByMutant: without the rule the hot shard decides.
func TestALeftOutShardDecidesByMutant(t *testing.T) {
	hot, last := lastAgentBeside(t, mutant.Of(mutant.LeftOutDecides))
	require.Equal(t, hot, last)
}
