package integration

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// TestReadsOfMoreThanAMessageFailAtOnce: results of one shard that are more than a message between nodes has are
// an error that is not retried, and not dropped until the deadline.
func TestReadsOfMoreThanAMessageFailAtOnce(t *testing.T) {
	t.Parallel()
	c := proc.StartCluster(t, proc.Options{})
	db := proc.OpenOld(t, c.Addrs()[:1])
	var keys [][]byte
	for i := range 6 {
		keys = append(keys, fmt.Appendf(nil, "large/%d", i))
		_, err := db.Execute(soon(t), client.Put(keys[i], make([]byte, kv.MaxValueBytes)))
		require.NoError(t, err)
	}
	_, err := db.CreateSnapshot(soon(t), "s", time.Hour)
	require.NoError(t, err)
	for _, key := range keys {
		same := make([]client.Op, 70)
		for i := range same {
			same[i] = client.Get(key)
		}
		var several []client.Op
		for _, k := range keys {
			several = append(several, client.Get(k))
		}
		several = append(several, same...)
		for name, run := range map[string]func(context.Context) error{
			"one shard":      func(ctx context.Context) error { _, err := db.Execute(ctx, same...); return err },
			"several shards": func(ctx context.Context) error { _, err := db.Execute(ctx, several...); return err },
			"with a write": func(ctx context.Context) error {
				_, err := db.Execute(ctx, append([]client.Op{client.Put([]byte("w"), nil)}, several...)...)
				return err
			},
			"the past": func(ctx context.Context) error {
				_, err := db.With(client.AtSnapshot("s")).Execute(ctx, several...)
				return err
			},
			"update": func(ctx context.Context) error {
				return db.Update(ctx, func(tx *client.Tx) error { _, err := tx.Do(same...); return err })
			},
			"view": func(ctx context.Context) error {
				return db.View(ctx, func(tx *client.ReadTx) error { _, err := tx.Do(same...); return err })
			},
		} {
			err := run(soon(t))
			require.Equal(t, kv.KindInvalid, kv.KindOf(err), "%s: %v", name, err)
		}
	}
}
