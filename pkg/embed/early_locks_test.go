package embed_test

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
)

// TestAContendedKeyIsLockedWhenItIsRead: functions that all read a key and write it
// run in vain only until the gateway has seen that. (Without early locks every fifth, or
// every second, run is in vain.)
func TestAContendedKeyIsLockedWhenItIsRead(t *testing.T) {
	const clients, each = 16, 60
	const key = "contended"
	db := open(t, embed.ClusterOptions{Nodes: 1, Shards: 2, HotKeys: [][]byte{[]byte(key)}})
	ctx := context.Background()
	var runs atomic.Int64
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range each {
				assert.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
					runs.Add(1)
					have, _, err := tx.Get(ctx, key)
					if err != nil {
						return err
					}
					n, _ := strconv.Atoi(string(have))
					return tx.Put(ctx, key, strconv.AppendInt(nil, int64(n+1), 10))
				}))
			}
		})
	}
	wg.Wait()
	v, _, err := db.Get(ctx, key)
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(clients*each), string(v))
	t.Logf("%d runs for %d commits", runs.Load(), clients*each)
	require.Less(t, runs.Load(), int64(clients*each*11/10))
}
