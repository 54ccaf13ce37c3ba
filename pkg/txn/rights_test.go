package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestReadsWithoutWriteRightTakeNoLock: reads, queries of data types, conditions and scans of keys
// that the user may not write take no lock in any attempt, even if other readers of the key mostly
// write it.
func TestReadsWithoutWriteRightTakeNoLock(t *testing.T) {
	query := adt.Lookup(adt.Set).MethodByName("len").Op([]byte("s"))
	for _, unlocked := range []bool{false, true} {
		for _, attempt := range []uint32{1, 2} {
			g := newTestGateway(t)
			g.SetHeat(0, NewHeat(&msg.HeatMap{Keys: []msg.KeyHeat{{Key: []byte("k"), Heat: 1000}}}))
			for range 4 {
				g.gw.Heat.OnCommit("k", true)
			}
			require.True(t, g.gw.Heat.LocksEarly([]byte("k")))
			ops := []msg.Op{
				{Kind: msg.OpGet, Key: []byte("k")}, {Kind: msg.OpRequire, Key: []byte("x"), Expect: msg.ExpectAbsent}, query,
				{Kind: msg.OpScan, Key: []byte("a"), End: []byte("b")},
			}
			for i := range ops {
				ops[i].Unlocked = unlocked
			}
			ref := kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: attempt}
			require.Nil(t, g.Begin(1, ref, false, TxnOptions{}))
			g.Do(1, 1, ref, ops, 0)
			sent := g.Flush().Send
			require.NotEmpty(t, sent)
			write := false
			for _, e := range sent {
				require.Equal(t, unlocked, msg.As[msg.Lock](e).Optimistic)
				for i := range msg.As[msg.Lock](e).Ops {
					write = write || msg.As[msg.Lock](e).Ops[i].ForUpdate
				}
			}
			require.Equal(t, !unlocked, write, "early locks need the right to write")
		}
	}
}
