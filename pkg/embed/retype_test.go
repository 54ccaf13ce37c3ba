package embed_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/embed"
)

// TestATransactionMakesAnotherTypeOfAKey by emptying it first, on the shard that
// decides, on one that takes part, and on the hot shard; and asking in between, or
// not.
func TestATransactionMakesAnotherTypeOfAKey(t *testing.T) {
	t.Parallel()
	c := start(t, embed.ClusterOptions{Listen: true, HotKeys: [][]byte{[]byte("hot")}})
	db, ctx := connect(t, c.Addrs()...), soon(t)
	for _, key := range []string{"a", "b", "c", "d", "hot"} {
		aMap, set, n := client.NewMap(key, client.String), client.NewSet(key, client.String), client.NewCounter(key)
		for _, asks := range []bool{false, true} {
			require.NoError(t, aMap.Set(ctx, db, "field", "1"))
			require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
				if asks {
					n, err := aMap.Len(ctx, tx)
					require.NoError(t, err)
					require.Equal(t, 1, n)
				}
				return errors.Join(aMap.Delete(ctx, tx, "field"), set.Add(ctx, tx, "x", "y"),
					tx.Put(ctx, "beside-"+key, nil))
			}))
			members, err := set.Members(ctx, db)
			require.NoError(t, err)
			require.Equal(t, []string{"x", "y"}, members)

			require.NoError(t, db.Update(ctx, func(ctx context.Context, tx *client.Tx) error {
				err := errors.Join(set.Remove(ctx, tx, "x", "y"), n.Add(ctx, tx, 7))
				if asks && err == nil {
					_, _, err = tx.Entry(ctx, key)
				}
				return err
			}))
			sum, err := n.Get(ctx, db)
			require.NoError(t, err)
			require.EqualValues(t, 7, sum)
			require.NoError(t, db.Delete(ctx, key))
		}
	}
}
