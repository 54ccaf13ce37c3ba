package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// respondLocks responds to all lock requests, with a pair for each range and a value for each key.
func respondLocks(g *Gateway) (done []Done) {
	out := g.Flush()
	for _, env := range out.Send {
		l := msg.As[msg.Lock](env)
		if l == nil {
			continue
		}
		r := &msg.LockResponse{Txn: l.Txn, Number: l.Number, Shard: env.Shard, Incarnation: 1}
		for _, op := range l.Ops {
			res := msg.Result{Seq: op.Seq, Found: true, Version: kv.Version{Write: 1}, Value: []byte("v")}
			if op.IsRange() {
				pair := msg.Pair{Key: []byte("k"), Version: kv.Version{Write: 1}, Value: []byte("v")}
				res = msg.Result{Seq: op.Seq, Pairs: []msg.Pair{pair}}
			}
			r.Results = append(r.Results, res)
		}
		g.Deliver(1, &msg.Envelope{Body: r})
	}
	return append(out.Done, g.Flush().Done...)
}

// TestWriteInReadOnlyTxnIsReportedByPosition: the failure names the position of the write in its
// request, whatever requests precede it.
func TestWriteInReadOnlyTxnIsReportedByPosition(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: oneHome{}, Reads: LockingReads})
	ref := kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: 1}, Attempt: 1}
	require.Nil(t, g.Begin(1, ref, true, TxnOptions{}))
	get := func(key string) msg.Op { return msg.Op{Kind: msg.OpGet, Key: []byte(key)} }
	for range 2 {
		g.Do(1, 1, ref, []msg.Op{get("a"), get("b")}, 0)
		require.Nil(t, respondLocks(g)[0].Failure)
	}
	for range 2 {
		g.Do(1, 1, ref, []msg.Op{get("a"), {Kind: msg.OpPut, Key: []byte("b")}}, 0)
		f := respondLocks(g)[0].Failure
		require.Equal(t, uint32(kv.KindInvalid), f.Kind)
		require.True(t, f.HasSeq)
		require.EqualValues(t, 1, f.Seq)
	}
}
