package outcome

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

func TestTimeQueueIsSorted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := timeQueue[int64]{time: func(v int64) int64 { return v }}
		var reference []int64
		for _, v := range rapid.SliceOf(rapid.Int64Range(-20, 20)).Draw(t, "pushes; pops if negative") {
			if v < 0 && len(reference) > 0 {
				require.Equal(t, reference[0], h.pop())
				reference = reference[1:]
				continue
			}
			h.push(v)
			reference = append(reference, v)
			slices.Sort(reference)
		}
		require.Equal(t, len(reference), h.len())
	})
}

// TestEvictedTransactionIsNeverNew: a commit or abort is known, or memory reports that it may have been evicted.
func TestEvictedTransactionIsNeverNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := NewMemory(rapid.IntRange(1, 6).Draw(t, "limit"), mutant.Set{})
		committed, aborted := map[kv.TxnID]bool{}, map[kv.TxnRef]sent{}
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 39), 1, 60).Draw(t, "ends") {
			txn := kv.TxnRef{TxnID: kv.TxnID{Time: int64(n / 4), Rand: uint64(n / 2 % 2)}, Attempt: uint32(1 + n%2)}
			if n%3 == 0 {
				m.RecordFinished(txn.TxnID, Finished{Committed: txn.Attempt})
				committed[txn.TxnID] = true
			} else if _, again := aborted[txn]; !again {
				aborted[txn] = sent{kv.Account(n % 5), m.AbortCount()}
				m.Abort(kv.Account(n%5), firstOf(txn), nil)
			}
		}
		for id := range committed {
			require.True(t, m.Finished(id) != Finished{} || !m.IsComplete(id),
				"%v is committed and not in memory, which reports to be complete", id)
		}
		for txn, at := range aborted {
			_, known := m.FindAbort(firstOf(txn))
			require.True(t, known || m.IsPresumedAborted(at.user, at.known), "%v is aborted, and new for memory", txn)
		}
		finished, aborts, _ := m.Len()
		require.LessOrEqual(t, max(finished, aborts), m.limit)
		queued := 0
		for _, s := range m.aborts.shares {
			queued += s.len()
		}
		require.Equal(t, []int{finished, aborts}, []int{m.idQueue.len(), queued}, "an evicted element is removed everywhere")
	})
}

// sent is the user of a commit, and how many aborts its gateway knew when it sent the request.
type sent struct {
	user  kv.Account
	known uint64
}
