package embed_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/rpc/detail"
)

// waitsFor waits until a transaction has waited for a key, or for any if it is empty, for long enough to be
// reported, and returns that wait.
func (x *contended) waitsFor(key string) (found admin.Wait) {
	x.Helper()
	require.Eventually(x, func() bool {
		for n := 1; n <= 3; n++ {
			for _, w := range x.activity(n).Waits {
				if (key == "" || w.Conflict.Key == key) && w.Waited >= 2*detail.LeastWait {
					found = w
					return true
				}
			}
		}
		return false
	}, 10*time.Second, time.Millisecond)
	return found
}

// TestReceiptsAndErrorsSayHowMuchIsLeft: a transaction has taken 3 of 5 and waits for its decision. What
// takes more than the remaining 2 waits for it, and is refused when it has committed; what takes more than
// 5 is refused at once; what takes 2 waits for nothing.
func TestReceiptsAndErrorsSayHowMuchIsLeft(t *testing.T) {
	x := contend(t)
	stock := client.NewBoundedCounter("stock")
	require.NoError(t, stock.Create(soon(t), x.db, 0, 20, 5))
	_, release := x.holding(forUpdate("hot"))
	first := x.executes(stock.SubtractOp(3), client.NewCounter("hot").AddOp(1))
	x.waitsFor("hot") // the hot shard decides the transaction, when the other shard is prepared
	x.prepared()

	beyond := <-x.executes(stock.SubtractOp(6))
	require.ErrorIs(t, beyond.Err, client.ErrOutOfRange)
	require.ErrorContains(t, beyond.Err,
		"subtracting 6 would go below the floor 0 (2 to 5 left, as transactions in flight end)")

	second := x.executes(stock.SubtractOp(4))
	w := x.waitsFor("stock")
	require.Equal(t, &client.Shortage{Left: 2, Requested: 4}, w.Conflict.Shortage)
	require.Equal(t, "bounded-counter.alone", w.Conflict.Lock)
	require.Equal(t, "bounded-counter.subtract", w.Conflict.HolderLock)
	release()
	require.NoError(t, (<-first).Err)

	out := <-second
	require.ErrorIs(t, out.Err, client.ErrOutOfRange)
	require.ErrorContains(t, out.Err, "subtracting 4 would go below the floor 0 (2 left)")
	require.NotNil(t, out.Receipt.Wait)
	require.Equal(t, &client.Shortage{Left: 2, Requested: 4}, out.Receipt.Wait.Shortage)
	require.Contains(t, out.Receipt.String(), "the subtract on a bounded-counter conflicts with "+
		"a subtract on a bounded-counter of transaction "+out.Receipt.Wait.Holder.String())
	require.Contains(t, out.Receipt.String(),
		"The counter is near its bound: the amount certain to be left was 2, and this transaction requested 4.")
	require.ErrorContains(t, out.Err, out.Receipt.String())

	require.NoError(t, stock.Subtract(soon(t), x.db, 2))
}

// prepared is when some shard has a prepared transaction.
func (x *contended) prepared() {
	x.Helper()
	require.Eventually(x, func() bool {
		for _, n := range []int{1, 2, 3} {
			for _, s := range x.activity(n).Shards {
				if s.Intents > 0 {
					return true
				}
			}
		}
		return false
	}, 10*time.Second, time.Millisecond)
}

// TestAnInteractiveMoveIsNotNearTheBound: it excludes others because it has returned its result before its
// commit. The receipt reports no shortage, and advises a one-shot.
func TestAnInteractiveMoveIsNotNearTheBound(t *testing.T) {
	x := contend(t)
	stock := client.NewBoundedCounter("stock")
	require.NoError(t, stock.Create(soon(t), x.db, 0, 1000, 1000))
	take, err := adt.Call([]byte("stock"), "bounded-counter", "try-subtract", []msg.Datum{adt.Int(1)})
	require.NoError(t, err)
	_, release := x.holding(take)
	got := x.executes(stock.SubtractOp(1))
	x.waits()
	release()
	out := <-got
	require.NoError(t, out.Err)
	require.NotNil(t, out.Receipt.Wait)
	require.Nil(t, out.Receipt.Wait.Shortage)
	require.Contains(t, out.Receipt.String(),
		"Send that transaction as a one-shot: then the two commute, unless the counter is near its bound.")
}
