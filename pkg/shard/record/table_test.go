package record

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// commit returns the nth of many commits.
func commit(n int) kv.CommitID { return kv.CommitID{Gateway: 1, Number: uint64(n)} }

func TestCheckDetectsBrokenInvariants(t *testing.T) {
	a, b := kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: 1}, kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: 2}
	for _, test := range []struct {
		text    string
		corrupt func(*Table)
	}{
		{"both committed", func(tb *Table) {
			tb.Add(0, a, commit(1), Committed).Unacknowledged = []kv.ShardID{1}
			tb.Add(0, b, commit(1), Committed).Unacknowledged = []kv.ShardID{1}
		}},
		{"acknowledged by all, and kept", func(tb *Table) { tb.Add(0, a, commit(1), Committed) }},
		{"without a piece", func(tb *Table) { tb.Add(0, a, commit(1), Pending) }},
		{"not in the memory", func(tb *Table) { tb.Add(0, a, commit(1), Aborted) }},
	} {
		tb := NewTable(mutant.Set{})
		require.NoError(t, tb.Check())
		test.corrupt(tb)
		require.ErrorContains(t, tb.Check(), test.text)
	}
}

func TestRecordsAreFoundByID(t *testing.T) {
	tb := NewTable(mutant.Set{})
	a := tb.Add(5, kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: 1}, commit(3), Seen)
	b := tb.Add(6, kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: 2}, commit(3), Seen)
	tb.Add(7, kv.TxnRef{TxnID: kv.TxnID{Time: 2}, Attempt: 1}, commit(3), Seen)
	require.Equal(t, []*Record{a, b}, tb.Of(a.Txn.TxnID))
	require.Equal(t, 3, tb.Len())
	tb.Remove(a)
	require.Equal(t, []*Record{b}, tb.Of(a.Txn.TxnID))
	require.Nil(t, tb.Get(a.Txn))
	tb.Remove(b)
	require.Empty(t, tb.Of(a.Txn.TxnID))
	require.Equal(t, 1, tb.Len())
}
