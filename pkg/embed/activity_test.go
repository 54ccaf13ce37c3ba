package embed_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// activity asks a node by way of the client's, which is another.
func (x *contended) activity(node kv.NodeID) *pb.ActivityResponse {
	x.Helper()
	a, err := x.db.Activity(soon(x.T), &pb.ActivityRequest{NodeId: uint32(node), MaxReceipts: 100, MaxWaits: 20})
	require.NoError(x, err)
	require.EqualValues(x, node, a.NodeId)
	return a
}

// TestWhoWaitsNowIsTold: any node tells it of any other, and when the wait is over
// the gateway's has the receipt, the sums and the second.
func TestWhoWaitsNowIsTold(t *testing.T) {
	x := contend(t)
	holder, release := x.holding(forUpdate("a"))
	began := time.Now()
	got := make(chan *client.Outcome, 1)
	go func() {
		out, _ := x.db.Execute(soon(t), client.AddGet([]byte("a"), 1))
		got <- out
	}()
	x.waits()
	var waits []pb.CurrentWait
	for n := kv.NodeID(1); n <= 3; n++ {
		waits = append(waits, x.activity(n).Waits...)
	}
	require.Len(t, waits, 1)
	w := waits[0]
	require.Equal(t, holder, w.Wait.Holder)
	require.Equal(t, "a", string(w.Wait.Key))
	require.Equal(t, "counter.add-get", w.Operations)
	require.Equal(t, "get-for-update", w.HolderOperations)
	require.Equal(t, pb.Cause_CAUSE_LOCK, w.Wait.Cause)
	release()
	out := <-got
	require.Equal(t, out.ID, w.TxnId)

	a := x.activity(2) // the client's
	require.NotEmpty(t, a.Receipts)
	r := a.Receipts[0]
	require.Equal(t, out.ID, r.TxnId)
	require.Equal(t, "OK", r.Outcome)
	require.Equal(t, "one_shot", r.Kind)
	require.Equal(t, out.Receipt.String(), r.Receipt.Sentence)
	require.GreaterOrEqual(t, r.DurationUs, r.Receipt.WaitedUs)
	require.WithinRange(t, time.Unix(0, r.TimeNs), began, time.Now())
	require.Len(t, a.Conflicts, 1)
	c := a.Conflicts[0]
	require.Equal(t, "a", string(c.Key))
	require.Equal(t, "counter.add-get", c.Operations)
	require.Equal(t, "get-for-update", c.HolderOperations)
	require.EqualValues(t, 1, c.Waits)
	require.Equal(t, r.Receipt.WaitedUs, c.WaitedUs)
	require.Contains(t, c.Advice, "replace both with")
	require.WithinRange(t, time.Unix(0, c.SinceNs), began, time.Now())

	require.Empty(t, x.activity(2).Waits)
	require.Empty(t, x.activity(1).Conflicts, "another gateway's")
	require.Eventually(t, func() bool { // the second has to end
		ended := uint32(0)
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
	_, err := x.db.Activity(soon(t), &pb.ActivityRequest{NodeId: 4})
	require.ErrorContains(t, err, "the cluster has no node n4")
	require.Equal(t, kv.KindInvalid, kv.KindOf(err))

	x.c.Network().Cut(2, 3)
	began := time.Now()
	_, err = x.db.Activity(soon(t), &pb.ActivityRequest{NodeId: 3})
	require.ErrorContains(t, err, "node n3 did not respond in time")
	require.Less(t, time.Since(began), 9*time.Second)
}
