package shard_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// TestPreparedTransactionKeepsItsAgeAfterRestart: the begin time is in the prepared row. Otherwise the holder
// could be older than a waiter on this shard, and younger on another shard where it waits for it: a deadlock
// without a wound.
func TestPreparedTransactionKeepsItsAgeAfterRestart(t *testing.T) {
	for _, begun := range []int64{0, 20, 40} {
		for _, restarts := range []bool{false, true} {
			f := newSteps(t, 3)
			f.hold = func(e *msg.Envelope) bool { return msg.Is[msg.Vote](e) || msg.Is[msg.Wound](e) }
			holder, waiter := nthTxn(10), nthTxn(1)
			p := prepareMsg(holder, firstCommit, 1, 0, msg.Piece{Ops: []msg.Op{addOp("gk", 0)}})
			msg.As[msg.Prepare](p).Begun = begun
			f.send(p)
			if restarts {
				f.restart(1)
			}
			f.now += int64(time.Second)
			l := msg.ToShard(1)
			l.Body = &msg.Lock{Txn: waiter, Gateway: 1, Number: 1, Begun: 30,
				Ops: []msg.Op{{Kind: msg.OpGet, Key: []byte("gk"), ForUpdate: true}}}
			f.send(l)
			wounded := false
			for _, e := range f.held {
				wounded = wounded || msg.Is[msg.Wound](e) && msg.As[msg.Wound](e).Txn == holder
			}
			require.Equal(t, begun == 40, wounded, "begun at %d, restarted: %v", begun, restarts)
		}
	}
}

// TestAgeIsTheBeginTimeNotTheID: a waiter wounds a holder that began later, whatever their ids.
func TestAgeIsTheBeginTimeNotTheID(t *testing.T) {
	for _, begun := range []int64{20, 40} {
		f := newSteps(t, 3)
		f.hold = func(e *msg.Envelope) bool { return msg.Is[msg.Wound](e) }
		get := msg.Op{Kind: msg.OpGet, Key: []byte("gk"), ForUpdate: true}
		lock := func(txn kv.TxnRef, begun int64) {
			e := msg.ToShard(1)
			e.Body = &msg.Lock{Txn: txn, Gateway: 1, Number: 1, Begun: begun, Ops: []msg.Op{get}}
			f.send(e)
		}
		lock(nthTxn(1), begun)
		lock(nthTxn(2), 30)
		require.Len(t, f.held, int(begun)/40)
	}
}

// TestLaterAttemptWoundsEarlierOne, although it began later at another gateway. The client has abandoned the
// earlier one, whose gateway may not know that for seconds.
func TestLaterAttemptWoundsEarlierOne(t *testing.T) {
	for _, later := range []uint32{1, 3} {
		require.Equal(t, later == 3, len(woundsOfAttempts(newSteps(t, 3), later)) == 1)
	}
}

// woundsOfAttempts returns the wounds when the second attempt of a transaction holds a lock that another
// attempt, which began later, requests.
func woundsOfAttempts(f *steps, other uint32) []*msg.Envelope {
	f.hold = func(e *msg.Envelope) bool { return msg.Is[msg.Wound](e) }
	for _, l := range []msg.Lock{{Gateway: 1, Begun: 10}, {Gateway: 2, Begun: 20}} {
		l.Txn, l.Number, l.Ops = nthTxn(1), 1, []msg.Op{{Kind: msg.OpGet, Key: []byte("gk"), ForUpdate: true}}
		l.Txn.Attempt = 2
		if l.Gateway == 2 {
			l.Txn.Attempt = other
		}
		e := msg.ToShard(1)
		e.Body = &l
		f.send(e)
	}
	return f.held
}
