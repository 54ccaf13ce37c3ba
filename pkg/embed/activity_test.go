package embed_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/client/admin"
)

// activity asks a node by way of the client's, which is another.
func (x *contended) activity(node int) admin.Activity {
	x.Helper()
	o := admin.ActivityOptions{Node: node, MaxReceipts: 100, MaxWaits: 20}
	a, err := admin.New(x.db).Activity(soon(x.T), o)
	require.NoError(x, err)
	require.Equal(x, node, a.Node)
	return a
}

// TestCurrentWaitsAreReported: any node returns those of any other, and after the wait the
// gateway's node has the receipt, the sums and the second.
func TestCurrentWaitsAreReported(t *testing.T) {
	x := contend(t)
	holder, release := x.holding(forUpdate("a"))
	began := time.Now()
	got := x.executes(client.NewCounter("a").AddGetOp(1))
	x.waits()
	var waits []admin.Wait
	for n := 1; n <= 3; n++ {
		waits = append(waits, x.activity(n).Waits...)
	}
	require.Len(t, waits, 1)
	w := waits[0]
	require.Equal(t, holder, w.Conflict.Holder)
	require.Equal(t, "a", w.Conflict.Key)
	require.Equal(t, "counter.add-get", w.Operations)
	require.Equal(t, "get-for-update", w.HolderOperations)
	require.Equal(t, "lock", w.Conflict.Cause)
	release()
	out := <-got
	require.NoError(t, out.Err)
	require.Equal(t, out.TxID, w.TxID)

	a := x.activity(2) // the client's
	require.NotEmpty(t, a.Receipts)
	r := a.Receipts[0]
	require.Equal(t, out.TxID, r.TxID)
	require.Equal(t, "OK", r.Outcome)
	require.Equal(t, "one_shot", r.Class)
	require.NotEmpty(t, out.Receipt.String())
	require.Equal(t, out.Receipt.String(), r.Receipt.String())
	require.GreaterOrEqual(t, r.Duration, r.Receipt.Waited)
	require.WithinRange(t, r.Time, began, time.Now())
	require.Len(t, a.Conflicts, 1)
	c := a.Conflicts[0]
	require.Equal(t, "a", c.Key)
	require.Equal(t, "counter.add-get", c.Operations)
	require.Equal(t, "get-for-update", c.HolderOperations)
	require.EqualValues(t, 1, c.Waits)
	require.Equal(t, r.Receipt.Waited, c.Waited)
	require.Contains(t, c.Advice, "replace both with")
	require.WithinRange(t, c.Since, began, time.Now())

	require.Empty(t, x.activity(2).Waits)
	require.Empty(t, x.activity(1).Conflicts, "another gateway's")
	require.Eventually(t, func() bool { // the second has to end
		ended := 0
		for _, s := range x.activity(2).Seconds {
			for _, c := range s.Classes {
				ended += c.Ended
			}
		}
		return ended == 5 // the four keys that contend makes, and this
	}, 10*time.Second, 20*time.Millisecond)
}

func TestActivityOfWhatIsNotThere(t *testing.T) {
	x := contend(t)
	a := admin.New(x.db)
	_, err := a.Activity(soon(t), admin.ActivityOptions{Node: 4})
	require.ErrorContains(t, err, `the cluster has no node n4; "linchpin status" lists the nodes`)
	require.ErrorIs(t, err, client.ErrInvalid)

	x.c.Network().Cut(2, 3)
	began := time.Now()
	_, err = a.Activity(soon(t), admin.ActivityOptions{Node: 3})
	require.ErrorContains(t, err, "node n3 did not respond in time")
	require.Less(t, time.Since(began), 9*time.Second)
}
