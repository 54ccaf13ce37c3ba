package locktable

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// taking is a request to take from a bounded counter, which is short of it or not, by a transaction whose
// age is its number.
func taking(txn int64, short *adt.Shortage) *Request {
	op := adt.Lookup(adt.BoundedCounter).MethodByName("subtract").Op([]byte("k"), adt.Int(1))
	r := &Request{Txn: kv.TxnRef{TxnID: kv.TxnID{Time: txn}, Attempt: 1}}
	for _, m := range adt.Modes(nil, &op) {
		r.Needs = append(r.Needs, Need{Span: kv.Point([]byte("k")), Mode: m, Short: short})
	}
	return r
}

// TestReceiptsHaveTheShortage: of the transaction that waits or is wounded; if it is not short, what was left
// for the other one.
func TestReceiptsHaveTheShortage(t *testing.T) {
	short, shorter := &adt.Shortage{Left: 2, Requested: 3}, &adt.Shortage{Left: 1, Requested: 4}
	for name, c := range map[string]struct {
		holds, wants *adt.Shortage
		wait, wound  *msg.Shortage
	}{
		"neither is short": {nil, nil, nil, nil},
		"the waiter":       {nil, short, &msg.Shortage{Left: 2, Requested: 3}, &msg.Shortage{Left: 2}},
		"the holder":       {short, nil, &msg.Shortage{Left: 2}, &msg.Shortage{Left: 2, Requested: 3}},
		"both": {short, shorter, &msg.Shortage{Left: 1, Requested: 4},
			&msg.Shortage{Left: 2, Requested: 3}},
	} {
		table := New(Options{})
		require.Equal(t, Granted, table.Acquire(0, taking(2, c.holds)), name)
		older := taking(1, c.wants)
		require.Equal(t, Waiting, table.Acquire(0, older), name)
		require.Equal(t, c.wait, table.Receipt(1, older).Shortage, name)
		marks := table.Marks()
		require.Len(t, marks, 1, name)
		require.Equal(t, c.wound, marks[0].Conflict.Shortage, name)

		behind := taking(3, nil)
		require.Equal(t, Waiting, table.Acquire(0, behind), name)
		queued := Request{Needs: behind.Needs}
		by := older.blocks(&queued.Needs[0])
		var receipt msg.Receipt
		by.fill(&receipt, &queued.Needs[0])
		require.Equal(t, msg.CauseQueue, receipt.Cause)
		if c.wants == nil {
			require.Nil(t, receipt.Shortage, name)
		} else {
			require.Equal(t, &msg.Shortage{Left: c.wants.Left}, receipt.Shortage, name)
		}
	}
}

// TestNormalizeKeepsAShortage of needs that become one.
func TestNormalizeKeepsAShortage(t *testing.T) {
	short := &adt.Shortage{Left: 2, Requested: 3}
	for _, order := range [][]*adt.Shortage{{nil, short}, {short, nil}} {
		needs := append(taking(1, order[0]).Needs, taking(1, order[1]).Needs...)
		needs = Normalize(needs)
		require.Len(t, needs, 1)
		require.Equal(t, short, needs[0].Short)
	}
}
