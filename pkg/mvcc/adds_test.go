package mvcc

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// itemView is the View of one item for one transaction.
type itemView struct {
	it  *Item
	txn kv.TxnRef
}

func (v itemView) Value([]byte) (entry.Value, error) { return v.it.Value, nil }
func (v itemView) Calls() *Calls                     { return nil }
func (v itemView) Clock() int64                      { return 0 }
func (v itemView) Pending([]byte) (low, high int64)  { return PendingAdds(v.it.Intents, v.txn) }
func (v itemView) Rows(uint32) (rows RangeRows)      { return rows }

// TestAcceptedAddsNeverExceed64Bits prepares concurrent increments and decides them in any order,
// some of them as aborted. An accepted increment must always be able to become visible: at the
// decision it cannot fail.
func TestAcceptedAddsNeverExceed64Bits(t *testing.T) {
	deltas := []int64{1, -1, 5, -5, math.MaxInt64, math.MinInt64, math.MaxInt64 / 2, math.MinInt64 / 2}
	refused, shown := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := NewStore(0)
		it := s.Acquire([]byte("n"))
		start := rapid.SampledFrom([]int64{0, math.MaxInt64 - 2, math.MinInt64 + 2}).Draw(t, "start")
		s.Install(it, Found{Value: entry.Value{Type: adt.Counter, Version: kv.Version{Write: 1},
			Payload: adt.EncodeCounter(start)}, CSN: 1})
		for i := range rapid.IntRange(1, 25).Draw(t, "steps") {
			if len(it.Intents) > 0 && rapid.Bool().Draw(t, "decide") {
				in := rapid.SampledFrom(it.Intents).Draw(t, "intent")
				it.RemoveIntents(in.Txn)
				if rapid.Bool().Draw(t, "commit") {
					_, err := s.MakeVisible(it, in.Effect, kv.CSN(i+2), kv.Version{Write: 2})
					require.NoError(t, err)
					shown++
				}
				continue
			}
			txn := kv.TxnRef{TxnID: kv.TxnID{Time: int64(i + 1)}, Attempt: 1}
			ops := make([]msg.Op, rapid.IntRange(1, 2).Draw(t, "adds"))
			for j := range ops {
				ops[j] = msg.Op{Kind: msg.OpAdd, Seq: uint32(j), Key: it.Key, Delta: rapid.SampledFrom(deltas).Draw(t, "delta")}
			}
			x := Exec(itemView{it, txn}, ops, func(kv.Version) kv.Version { return kv.Version{Write: 3} })
			if x.Failure != nil {
				require.Equal(t, kv.KindOutOfRange, kv.Kind(x.Failure.Kind), x.Failure.Text)
				refused++
				continue
			}
			it.AddIntent(txn, &x.Effects[0])
		}
	})
	require.Positive(t, min(refused, shown))
}

// TestPendingAddsBeyond64Bits is a regression: 1 and the maximum are pending, and their sum
// saturated as if it were exact, so a third increment seemed to fit on the minimum plus 2.
func TestPendingAddsBeyond64Bits(t *testing.T) {
	s := NewStore(0)
	it := s.Acquire([]byte("n"))
	s.Install(it, Found{Value: entry.Value{Type: adt.Counter, Version: kv.Version{Write: 1},
		Payload: adt.EncodeCounter(math.MinInt64 + 2)}, CSN: 1})
	for i, delta := range []int64{1, math.MaxInt64, math.MaxInt64 - 1} {
		txn := kv.TxnRef{TxnID: kv.TxnID{Time: int64(i + 1)}, Attempt: 1}
		x := Exec(itemView{it, txn}, []msg.Op{{Kind: msg.OpAdd, Key: it.Key, Delta: delta}}, nil)
		if i == 2 {
			require.NotNil(t, x.Failure)
			require.Equal(t, kv.KindOutOfRange, kv.Kind(x.Failure.Kind))
			return
		}
		require.Nil(t, x.Failure)
		it.AddIntent(txn, &x.Effects[0])
	}
}

// TestIntermediateSumsOfAddsAreChecked is a regression found by the simulation. A transaction that
// adds much and subtracts nearly all of it needs space for its intermediate sum: if another
// transaction that adds as much were decided first, the first increment would have failed.
func TestIntermediateSumsOfAddsAreChecked(t *testing.T) {
	const much = int64(1) << 62
	for _, first := range []int64{much, -much - 1} {
		s := NewStore(0)
		it := s.Acquire([]byte("n"))
		s.Install(it, Found{Value: entry.Value{Type: adt.Counter, Version: kv.Version{Write: 1},
			Payload: adt.EncodeCounter(0)}, CSN: 1})
		add := func(time int64, deltas ...int64) *msg.Failure {
			txn := kv.TxnRef{TxnID: kv.TxnID{Time: time}, Attempt: 1}
			var ops []msg.Op
			for _, d := range deltas {
				ops = append(ops, msg.Op{Kind: msg.OpAdd, Key: it.Key, Delta: d})
			}
			x := Exec(itemView{it, txn}, ops, nil)
			if x.Failure == nil {
				it.AddIntent(txn, &x.Effects[0])
			}
			return x.Failure
		}
		require.Nil(t, add(1, first, -first+10))
		f := add(2, first)
		require.NotNil(t, f)
		require.Equal(t, kv.KindOutOfRange, kv.Kind(f.Kind))
		require.Nil(t, add(3, first/2))
	}
}
