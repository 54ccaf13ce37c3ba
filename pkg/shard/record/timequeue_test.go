package record

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

func TestEldestComesFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := timeQueue[int64]{time: func(v int64) int64 { return v }}
		var twin []int64
		for _, v := range rapid.SliceOf(rapid.Int64Range(-20, 20)).Draw(t, "pushes, and pops where negative") {
			if v < 0 && len(twin) > 0 {
				require.Equal(t, twin[0], h.pop())
				twin = twin[1:]
				continue
			}
			h.push(v)
			twin = append(twin, v)
			slices.Sort(twin)
		}
		require.Equal(t, len(twin), h.len())
	})
}

// TestMemoryNeverForgetsInSilence: whatever falls out, nobody is told that an
// attempt is new which was decided here.
func TestMemoryNeverForgetsInSilence(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewMemory(rapid.IntRange(1, 6).Draw(t, "limit"), mutant.Set{})
		committed, killed := map[kv.TxnID]bool{}, map[kv.TxnRef]sent{}
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 39), 1, 60).Draw(t, "ends") {
			txn := kv.TxnRef{TxnID: kv.TxnID{Time: int64(n / 4), Rand: uint64(n / 2 % 2)}, Attempt: uint32(1 + n%2)}
			if n%3 == 0 {
				m.Finish(txn.TxnID, Finished{Committed: txn.Attempt})
				committed[txn.TxnID] = true
			} else if _, again := killed[txn]; !again {
				killed[txn] = sent{kv.Account(n % 5), m.AbortCount()}
				m.Abort(kv.Account(n%5), firstOf(txn), nil)
			}
		}
		for id := range committed {
			require.True(t, m.Finished(id) != Finished{} || !m.IsComplete(id), "%v is committed, and memory claims to be complete", id)
		}
		for txn, at := range killed {
			_, known := m.FindAbort(firstOf(txn))
			require.True(t, known || m.IsPresumedAborted(at.by, at.heard), "%v is dead, and memory takes it for new", txn)
		}
		finished, dead, _ := m.Len()
		require.LessOrEqual(t, max(finished, dead), m.limit)
		lines := 0
		for _, s := range m.aborts.shares {
			lines += s.len()
		}
		require.Equal(t, []int{finished, dead}, []int{m.idQueue.len(), lines}, "what is forgotten leaves nothing behind")
	})
}

// sent is when a commit was sent: its gateway had heard of so many aborts.
type sent struct {
	by    kv.Account
	heard uint64
}

func TestCheckNoticesWhatIsBroken(t *testing.T) {
	a, b := kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: 1}, kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: 2}
	for _, test := range []struct {
		says  string
		spoil func(*Table)
	}{
		{"both committed", func(tb *Table) {
			tb.Add(0, a, commit(1), Committed).Unacknowledged = []kv.ShardID{1}
			tb.Add(0, b, commit(1), Committed).Unacknowledged = []kv.ShardID{1}
		}},
		{"acknowledged by all, and kept", func(tb *Table) { tb.Add(0, a, commit(1), Committed) }},
		{"without a piece", func(tb *Table) { tb.Add(0, a, commit(1), Pending) }},
		{"not in the memory", func(tb *Table) { tb.Add(0, a, commit(1), Aborted) }},
	} {
		tb := NewTable()
		require.NoError(t, tb.Check())
		test.spoil(tb)
		require.ErrorContains(t, tb.Check(), test.says)
	}
}

func TestRecordsAreFoundByID(t *testing.T) {
	tb := NewTable()
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
