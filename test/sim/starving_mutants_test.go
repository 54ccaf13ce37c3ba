//go:build mutants

package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/mutant"
)

// TestMutantsStarveWriters: with each of these rules broken, some transactions wait for longer, or without end. Nothing
// else is wrong.
func TestMutantsStarveWriters(t *testing.T) {
	t.Run("age is not inherited", func(t *testing.T) {
		require.Greater(t, timeBlockedOnTwoShards(t, mutant.Of(mutant.TimeBlockedNotInherited)), 85*time.Millisecond)
	})
	t.Run("age is the time in the id", func(t *testing.T) {
		honest, others := runContenders(t, 1, idsBehind, mutant.Of(mutant.IDTimesTrusted))
		require.Less(t, 10*honest.commits, others.commits)
	})
	t.Run("retries lose their age", func(t *testing.T) {
		require.Less(t, runLockOrderConflict(t, mutant.Of(mutant.AttemptsBeginAnew)).commits, 15)
	})
	t.Run("commits of silent gateways are kept", func(t *testing.T) {
		require.Greater(t, lockedByLostCommit(t, mutant.Of(mutant.SilentGatewayKept)), 30*time.Second)
	})
	t.Run("idle holders are not aborted", func(t *testing.T) {
		require.Greater(t, maxIdleWait(t, mutant.Of(mutant.IdleHoldersKept)), 3*time.Second)
		require.Greater(t, maxIdleWait(t, mutant.Of(mutant.PingsCount)), 3*time.Second)
	})
	t.Run("user shares are not counted", func(t *testing.T) {
		sound := runLongHolder(t, mutant.Set{}, 300*time.Millisecond, 1, 2)
		require.Less(t, 4*runLongHolder(t, mutant.Of(mutant.HoldsUncounted), 300*time.Millisecond, 1, 2), sound)
	})
	// The snapshot rounds of some gateway hold the shards all the time.
	t.Run("no gaps between rounds", func(t *testing.T) {
		b := manyViews()
		b.views, b.oneShots = 0, 16
		sound := b.run(t, 1, 300*time.Millisecond)
		b.mutants = mutant.Of(mutant.NoRoundGaps)
		broken := b.run(t, 1, 300*time.Millisecond)
		t.Logf("unbroken: %v\nbroken: %v", sound, broken)
		require.Less(t, 10*broken.puts, sound.puts)
	})
}
