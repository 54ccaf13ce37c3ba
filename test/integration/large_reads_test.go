package integration

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestTooLargeReadsAreInvalid: if the results of one shard exceed the size of a message between nodes, the
// read fails with an error that is not retried. It does not time out.
func TestTooLargeReadsAreInvalid(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	db := proc.Open(t, c.Addrs()[:1])
	var keys []string
	for i := range 6 {
		keys = append(keys, fmt.Sprintf("large/%d", i))
		require.NoError(t, db.Put(proc.Context(t), keys[i], make([]byte, kv.MaxValueBytes)))
	}
	snapshot, err := db.CreateSnapshot(proc.Context(t), "s", client.TTL(time.Hour))
	require.NoError(t, err)
	for _, key := range keys {
		_, same := getsOf(slices.Repeat([]string{key}, 70)...)
		_, several := getsOf(append(slices.Clone(keys), slices.Repeat([]string{key}, 70)...)...)
		for name, run := range map[string]func(context.Context) error{
			"one shard":      func(ctx context.Context) error { return db.Execute(ctx, same...) },
			"several shards": func(ctx context.Context) error { return db.Execute(ctx, several...) },
			"with a write": func(ctx context.Context) error {
				return db.Execute(ctx, append([]client.Op{client.PutOp("w", nil)}, several...)...)
			},
			"snapshot": func(ctx context.Context) error { return snapshot.Execute(ctx, several...) },
			"update": func(ctx context.Context) error {
				return db.Update(ctx, func(ctx context.Context, tx *client.Tx) error { return tx.Execute(ctx, same...) })
			},
			"view": func(ctx context.Context) error {
				return db.View(ctx, func(ctx context.Context, v *client.View) error { return v.Execute(ctx, same...) })
			},
		} {
			require.ErrorIs(t, run(proc.Context(t)), client.ErrInvalid, name)
		}
	}
}
