package groups

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/consensus"
)

// TestLogIsKeptWhileReplicasAreFilled: until they have caught up, are no replicas any more, or were late for too long.
func TestLogIsKeptWhileReplicasAreFilled(t *testing.T) {
	const late = int64(keptAfter)
	f := fills{4: {at: 100, until: 1 << 62}, 5: {at: 300, until: 1 << 62}}
	limit := func(now int64, others ...consensus.Follower) int { return int(f.limit(now, 1000, others)) }
	four, five := consensus.Follower{ID: 4}, consensus.Follower{ID: 5}
	require.Equal(t, 100, limit(1, four, five))
	f.end(1, 4, true)
	four.Has = 200
	require.Equal(t, 200, limit(2, four, five), "what it has is not kept for it")
	four.IsCurrent = true
	require.Equal(t, 300, limit(3, four, five))
	four.IsCurrent = false
	require.Equal(t, 300, limit(4, four, five), "it had caught up")
	f.end(5, 5, true)
	require.Equal(t, 300, limit(late, five))
	require.Equal(t, 1000, limit(5+late, five), "it does not catch up")
	f[6] = fill{at: 100, until: 1 << 62}
	require.Equal(t, 1000, limit(6), "it was removed")
	f[6] = fill{at: 100, until: 1 << 62}
	f.end(7, 6, false)
	require.Empty(t, f)
}

// TestStreamsOfRowsEndWithoutProgress: not because there are many rows.
func TestStreamsOfRowsEndWithoutProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, next, end := timed(context.Background(), func() ([]byte, error) { return nil, nil })
		defer end()
		for range 100 {
			time.Sleep(chunkTimeout / 2)
			_, err := next()
			require.NoError(t, err)
		}
		require.NoError(t, ctx.Err())
		time.Sleep(chunkTimeout + time.Second)
		require.ErrorIs(t, context.Cause(ctx), errChunkTimeout)
	})
}
