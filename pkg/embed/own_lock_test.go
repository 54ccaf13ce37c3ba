package embed_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
)

// TestAClientLearnsThatItWaitsForItself: a call on the DB waits for a lock of an Update of the same DB. That
// of another client waits for it, too, and its receipt names a transaction.
func TestAClientLearnsThatItWaitsForItself(t *testing.T) {
	x := contend(t)
	other := &contended{T: t, c: x.c, db: connect(t, x.c.Addrs()[1]).With(client.NoRetry())}
	const key = "a" + valued
	for name, waiter := range map[string]*contended{"the same client": x, "another client": other} {
		var got <-chan client.Report
		var holder client.TxID
		require.NoError(t, x.db.Update(soon(t), func(ctx context.Context, tx *client.Tx) error {
			_, _, err := tx.GetForUpdate(ctx, key)
			if err != nil {
				return err
			}
			holder = tx.ID()
			got = waiter.executes(client.PutOp(key, []byte("v")))
			x.waitsFor(key)
			return nil
		}), name)
		out := <-got
		require.NoError(t, out.Err, name)
		require.NotNil(t, out.Receipt.Wait, name)
		require.Equal(t, holder, out.Receipt.Wait.Holder, name)
		require.Equal(t, waiter == x, out.Receipt.Wait.HolderOwn, name)
		if waiter == x {
			require.Contains(t, out.Receipt.String(), "a get for update of this client's own transaction "+holder.String(), name)
		} else {
			require.Contains(t, out.Receipt.String(), "a get for update of transaction "+holder.String(), name)
		}
	}
}
