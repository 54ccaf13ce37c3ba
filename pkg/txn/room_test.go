package txn

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// answerLocks has the shards answer all that they have been asked, with a pair for each
// range and a value for each key.
func answerLocks(g *Gateway) (done []Done) {
	out := g.Flush()
	for _, env := range out.Send {
		l := env.Lock
		if l == nil {
			continue
		}
		r := &msg.LockReply{Txn: l.Txn, Number: l.Number, Shard: env.Shard, Incarnation: 1}
		for _, op := range l.Ops {
			res := msg.Result{Seq: op.Seq, Found: true, Version: kv.Version{Write: 1}, Value: []byte("v")}
			if op.IsRange() {
				res = msg.Result{Seq: op.Seq, Pairs: []msg.Pair{{Key: []byte("k"), Version: kv.Version{Write: 1}, Value: []byte("v")}}}
			}
			r.Results = append(r.Results, res)
		}
		g.Deliver(1, &msg.Envelope{LockReply: r})
	}
	return append(out.Done, g.Flush().Done...)
}

// TestWhatACallThatFailedHasReadTakesNoRoom: a transaction may try for as long as it
// lives, and its calls are not executed again.
func TestWhatACallThatFailedHasReadTakesNoRoom(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: oneHome{}, Reads: LockingReads})
	ref, set := kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: 1}, Attempt: 1}, adt.Lookup(adt.Set)
	require.Nil(t, g.Begin(1, ref, false))
	g.Do(1, 1, ref, []msg.Op{set.MethodByName("add").Op([]byte("c"), adt.Bytes([]byte("m")))})
	require.Nil(t, answerLocks(g)[0].Failure)
	s := g.find(ref).session
	for range 10 {
		g.Do(1, 1, ref, []msg.Op{
			{Kind: msg.OpScan, Key: []byte("a"), End: []byte("z")},
			set.MethodByName("size").Op([]byte("d")),
			{Kind: msg.OpGet, Key: []byte("c")},
			{Kind: msg.OpRequire, Key: []byte("b"), Expect: msg.ExpectAbsent},
		})
		done := answerLocks(g)
		require.Len(t, done, 1)
		require.NotNil(t, done[0].Failure)
		require.Equal(t, uint32(kv.KindCondition), done[0].Failure.Kind, "%v", done[0].Failure)
		require.EqualValues(t, 3, done[0].Failure.Seq)
		require.Empty(t, s.rows)
		require.Empty(t, s.after)
		require.Empty(t, s.answers)
	}
}

// TestAWriteInAReaderIsNamedByItsPlaceInTheCall: not by one that depends on the calls
// before.
func TestAWriteInAReaderIsNamedByItsPlaceInTheCall(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: oneHome{}, Reads: LockingReads})
	ref := kv.TxnRef{TxnID: kv.TxnID{Time: 1, Rand: 1}, Attempt: 1}
	require.Nil(t, g.Begin(1, ref, true))
	get := func(key string) msg.Op { return msg.Op{Kind: msg.OpGet, Key: []byte(key)} }
	for range 2 {
		g.Do(1, 1, ref, []msg.Op{get("a"), get("b")})
		require.Nil(t, answerLocks(g)[0].Failure)
	}
	for range 2 {
		g.Do(1, 1, ref, []msg.Op{get("a"), {Kind: msg.OpPut, Key: []byte("b")}})
		f := answerLocks(g)[0].Failure
		require.Equal(t, uint32(kv.KindInvalid), f.Kind)
		require.True(t, f.HasSeq)
		require.EqualValues(t, 1, f.Seq)
	}
}
