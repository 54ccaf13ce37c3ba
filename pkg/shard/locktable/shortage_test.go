package locktable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// subtractRequest is a request to subtract from a bounded counter, with a shortage or without, by a
// transaction whose begin time is its number.
func subtractRequest(txn int64, short *adt.Shortage) *Request {
	op := adt.Lookup(adt.BoundedCounter).MethodByName("subtract").Op([]byte("k"), adt.Int(1))
	r := &Request{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: txn}, Attempt: 1}}
	for _, m := range adt.Modes(nil, &op) {
		r.Needs = append(r.Needs, Need{Span: kv.Point([]byte("k")), Mode: m, Short: short})
	}
	return r
}

// TestReceiptsReportShortage: a receipt has the shortage of the transaction that waits or is wounded; if it
// has none, what was left for the other transaction.
func TestReceiptsReportShortage(t *testing.T) {
	short, shorter := &adt.Shortage{Left: 2, Requested: 3}, &adt.Shortage{Left: 1, Requested: 4}
	for name, c := range map[string]struct {
		holds, requests *adt.Shortage
		wait, wound     *msg.Shortage
	}{
		"neither is short": {nil, nil, nil, nil},
		"the waiter":       {nil, short, &msg.Shortage{Left: 2, Requested: 3}, &msg.Shortage{Left: 2}},
		"the holder":       {short, nil, &msg.Shortage{Left: 2}, &msg.Shortage{Left: 2, Requested: 3}},
		"both": {short, shorter, &msg.Shortage{Left: 1, Requested: 4},
			&msg.Shortage{Left: 2, Requested: 3}},
	} {
		table := New(Options{})
		require.Equal(t, Granted, table.Acquire(0, subtractRequest(2, c.holds)), name)
		older := subtractRequest(1, c.requests)
		require.Equal(t, Waiting, table.Acquire(0, older), name)
		require.Equal(t, c.wait, table.Receipt(1, older).Shortage, name)
		wounds := table.TakeWounds()
		require.Len(t, wounds, 1, name)
		require.Equal(t, c.wound, wounds[0].Conflict.Shortage, name)

		behind := subtractRequest(3, nil)
		require.Equal(t, Waiting, table.Acquire(0, behind), name)
		queued := Request{Needs: behind.Needs}
		by := older.asBlocker(&queued.Needs[0])
		var receipt msg.Receipt
		by.fillReceipt(&receipt, &queued.Needs[0])
		require.Equal(t, msg.CauseQueue, receipt.Cause)
		if c.requests == nil {
			require.Nil(t, receipt.Shortage, name)
		} else {
			require.Equal(t, &msg.Shortage{Left: c.requests.Left}, receipt.Shortage, name)
		}
	}
}

// TestNormalizeKeepsShortage: the shortage survives when two needs are merged, in either order.
func TestNormalizeKeepsShortage(t *testing.T) {
	short := &adt.Shortage{Left: 2, Requested: 3}
	for _, order := range [][]*adt.Shortage{{nil, short}, {short, nil}} {
		needs := append(subtractRequest(1, order[0]).Needs, subtractRequest(1, order[1]).Needs...)
		needs = Normalize(needs)
		require.Len(t, needs, 1)
		require.Equal(t, short, needs[0].Short)
	}
}
