//go:build mutants

package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// TestABrokenRuleStarvesWriters: where each of them is broken some have to wait for
// longer, or for ever, and nothing else is wrong.
func TestABrokenRuleStarvesWriters(t *testing.T) {
	t.Run("no age taken over", func(t *testing.T) {
		require.Greater(t, heldHereAndThere(t, mutant.Of(mutant.HeldAgeNotInherited)), 85*time.Millisecond)
	})
	t.Run("ids are believed", func(t *testing.T) {
		honest, others := rivals(t, 1, idsBehind, mutant.Of(mutant.IDsBelieved))
		require.Less(t, 10*honest.commits, others.commits)
	})
	t.Run("attempts begin anew", func(t *testing.T) {
		require.Less(t, slow(t, mutant.Of(mutant.AttemptsBeginAnew)).commits, 15)
	})
	t.Run("idle holders are kept", func(t *testing.T) {
		require.Greater(t, idleness(t, mutant.Of(mutant.IdleHoldersKept)), 3*time.Second)
		require.Greater(t, idleness(t, mutant.Of(mutant.PingsCount)), 3*time.Second)
	})
	t.Run("holds are not counted", func(t *testing.T) {
		sound := hogged(t, mutant.Set{}, 300*time.Millisecond, 1, 2)
		require.Less(t, 4*hogged(t, mutant.Of(mutant.HoldsUncounted), 300*time.Millisecond, 1, 2), sound)
	})
	// Rounds of some gateway hold the shards all the time.
	t.Run("no gaps between rounds", func(t *testing.T) {
		b := crowdOfViews()
		b.views, b.oneShots = 0, 16
		sound := b.run(t, 1, 300*time.Millisecond)
		b.mutants = mutant.Of(mutant.NoRoundGaps)
		broken := b.run(t, 1, 300*time.Millisecond)
		t.Logf("sound: %v\nbroken: %v", sound, broken)
		require.Less(t, 10*broken.puts, sound.puts)
	})
}
