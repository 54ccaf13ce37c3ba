package workload_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/loadtest"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// The two ways to read are counted apart: what they take, and what they retried.
func TestReadersAndUpdatesAreCountedApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &loadtest.Store{Before: func(ctx context.Context, _ uint64, ops []workload.Op) (workload.Reply, error) {
			reply := workload.Reply{Attempts: 2, Aborts: []string{"wounded"}}
			if workload.ReadOnlyOps(ops) {
				reply.Aborts = []string{"an older writer"}
			}
			return reply, slow(ctx, time.Millisecond)
		}}
		res := mustRun(t, t.Context(), s, workload.Options{Clients: 4, Count: 2000,
			Mix: workload.Mix{ReadOnly: 3, ReadModifyWrite: 1},
			Readers: workload.Readers{ReadKeys: workload.KeyCount{Min: 5, Max: 5}, InteractiveReads: 40,
				ThinkTime: 10 * time.Millisecond}})
		shot, view, updates := res.Kinds[workload.ReadOnly], res.Kinds[workload.InteractiveRead], res.Updates
		require.InDelta(t, 1, shot.Latency.P99, 0.01)
		require.InDelta(t, 1+4*10, view.Latency.P50, 0.05, "four pauses between five reads")
		require.InDelta(t, 1, updates.Latency.P99, 0.01)
		require.InDelta(t, 0.4, float64(view.Committed)/float64(view.Committed+shot.Committed), 0.05)
		require.Equal(t, shot.Committed+view.Committed, res.ReadAborts["an older writer"])
		require.Len(t, res.ReadAborts, 1)
		require.Equal(t, updates.Retries, res.Aborts["wounded"])
		require.Equal(t, res.All.Committed, shot.Committed+view.Committed+updates.Committed)
	})
}
