package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// beginScan begins a transaction that scans a range, and returns its lock requests.
func (g *testGateway) beginScan(ref kv.TxnRef, limit uint32, unlocked bool) []*msg.Envelope {
	g.t.Helper()
	g.now++
	require.Nil(g.t, g.Begin(g.now, ref, false, TxnOptions{}))
	scan := msg.Op{Kind: msg.OpScan, Key: []byte("a"), End: []byte("b"), Limit: limit, Unlocked: unlocked}
	g.Do(g.now, 1, ref, []msg.Op{scan}, 0)
	return g.Flush().Send
}

// respondLocks responds to lock requests with a row each, and returns the messages that follow.
func (g *testGateway) respondLocks(sent []*msg.Envelope) []*msg.Envelope {
	g.t.Helper()
	for _, e := range sent {
		q, p := msg.As[msg.Lock](e), msg.ToGateway(1)
		p.Body = &msg.LockResponse{Txn: q.Txn, Number: q.Number, Shard: e.Shard, Incarnation: 1,
			Results: []msg.Result{{Seq: q.Ops[0].Seq, Pairs: []msg.Pair{{Key: []byte{'a', byte('0' + e.Shard)}}}}},
			Grants:  []msg.Grant{{Start: []byte("a"), End: []byte("b"), IsRange: true, Number: 1}}}
		g.Deliver(g.now, p)
	}
	return g.Flush().Send
}

// TestQueueConsumersWaitOnOneShard: if readers of a range have lost attempts over keys in it that
// they were about to write, the next readers write-lock the range on one shard first.
func TestQueueConsumersWaitOnOneShard(t *testing.T) {
	g := newTestGateway(t)
	ref := kv.TxnRef{TxnID: kv.TxnID{Time: 1}, Attempt: 1}
	sent := g.beginScan(ref, 1, false)
	require.Len(t, sent, 3, "no attempt was lost")
	require.Empty(t, g.respondLocks(sent))
	g.Do(g.now, 2, ref, []msg.Op{{Kind: msg.OpDelete, Key: []byte("a0")}}, 0)
	g.Commit(g.now, 3, ref, g.now+1e9)
	for _, e := range g.Flush().Send {
		if msg.Is[msg.CommitRequest](e) {
			lost := msg.ToGateway(1)
			id := msg.As[msg.CommitRequest](e).CommitID
			lost.Body = &msg.CommitResponse{Txn: ref, CommitID: id, Shard: e.Shard, Incarnation: 1,
				Failure: &msg.Failure{Reason: msg.ReasonWounded, Kind: uint32(kv.KindAborted), Key: []byte("a0")}}
			g.Deliver(g.now, lost)
		}
	}
	g.Flush()

	ref.Time++
	first := g.beginScan(ref, 1, false)
	require.Len(t, first, 1)
	require.True(t, msg.As[msg.Lock](first[0]).Ops[0].ForUpdate)
	others := g.respondLocks(first)
	require.Len(t, others, 2)
	for _, e := range others {
		require.NotEqual(t, first[0].Shard, e.Shard)
		require.False(t, msg.As[msg.Lock](e).Ops[0].ForUpdate, "consumers wait on the first shard only")
	}
	require.Empty(t, g.respondLocks(others))

	ref.Time++
	require.Len(t, g.beginScan(ref, 2, false), 1, "the range is the same with another limit")
	ref.Time++
	sent = g.beginScan(ref, 1, true)
	require.Len(t, sent, 3, "the reads take no lock")
	require.False(t, msg.As[msg.Lock](sent[0]).Ops[0].ForUpdate)
}
