package txn

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// aged is a gateway, and what its messages say about when transactions began.
type aged struct {
	*Gateway
	t   *testing.T
	now int64
}

func newAged(t *testing.T) *aged {
	return &aged{t: t, Gateway: NewGateway(Config{Node: 1, Router: oneHome{}, MaxInFlight: 8, NoOptimistic: true,
		Repeat: time.Second, Liveness: time.Second, MaxAge: time.Minute})}
}

// at is a time of day.
func at(since time.Duration) int64 { return int64(time.Hour + since) }

// locks begins an attempt of an interactive transaction at a time of day, has it lose, and tells when it
// counted as begun.
func (g *aged) locks(ref kv.TxnRef, arrived time.Duration) (begun int64) {
	g.t.Helper()
	g.now++
	require.Nil(g.t, g.Begin(g.now, ref, false, How{Arrived: at(arrived), User: 7}))
	g.Do(g.now, 1, ref, []msg.Op{{Kind: msg.OpGet, Key: []byte("k")}}, 0)
	sent := g.Flush().Send
	require.Len(g.t, sent, 1)
	l := msg.As[msg.Lock](sent[0])
	require.EqualValues(g.t, 7, l.User)
	lost := msg.ToGateway(1)
	lost.Body = &msg.LockReply{Txn: ref, Number: l.Number, Shard: sent[0].Shard, Incarnation: 1,
		Failure: &msg.Failure{Reason: msg.ReasonWounded, Kind: uint32(kv.KindAborted)}}
	g.Deliver(g.now, lost)
	done := g.Flush().Done
	require.Len(g.t, done, 1)
	require.True(g.t, done[0].Closed)
	return l.Begun
}

// TestATransactionBeginsWhenItArrives: neither an id of the past nor one of the future counts.
func TestATransactionBeginsWhenItArrives(t *testing.T) {
	for _, made := range []time.Duration{-9 * time.Minute, 0, 9 * time.Minute} {
		g := newAged(t)
		id := kv.TxnID{Time: at(made)}
		g.Execute(1, 1, id, []msg.Op{{Kind: msg.OpPut, Key: []byte("k")}}, int64(time.Minute), How{Arrived: at(0)})
		require.Equal(t, at(0), msg.As[msg.Park](g.Flush().Send[0]).Begun)
		require.Equal(t, at(time.Second), newAged(t).locks(kv.TxnRef{TxnID: id, Attempt: 1}, time.Second))
	}
}

// TestEachShardGetsTheSameAge, or the order of two transactions would differ from shard to shard.
func TestEachShardGetsTheSameAge(t *testing.T) {
	g := NewGateway(Config{Node: 1, Router: router3{}, MaxInFlight: 8})
	ops := []msg.Op{{Kind: msg.OpPut, Key: []byte("a")}, {Kind: msg.OpPut, Key: []byte("b")}}
	g.Execute(1, 1, kv.TxnID{Time: 1}, ops, int64(time.Minute), How{Arrived: at(0)})
	sent := g.Flush().Send
	require.Len(t, sent, 2)
	require.Equal(t, []int64{at(0), at(0)}, []int64{msg.As[msg.Prepare](sent[0]).Begun, msg.As[msg.Park](sent[1]).Begun})
}

// TestAttemptsKeepTheAgeOfTheFirst at one gateway, and none gets older at another one.
func TestAttemptsKeepTheAgeOfTheFirst(t *testing.T) {
	g := newAged(t)
	ref := kv.TxnRef{TxnID: kv.TxnID{Time: at(-9 * time.Minute)}}
	for _, c := range []struct{ arrived, begun time.Duration }{
		{0, 0},
		{10 * time.Second, 0},
		{kv.MaxTxnAge, 0},
		{kv.MaxTxnAge + time.Second, time.Second}, // ids are not kept for later
	} {
		ref.Attempt++
		require.Equal(t, at(c.begun), g.locks(ref, c.arrived))
		require.Equal(t, at(c.arrived), newAged(t).locks(ref, c.arrived), "it is a first attempt there")
	}
}
