package flow

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/commitreq"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/lockreq"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// Move moves a key between its home and the hot shard (Hot or Not, section 5). It is an ordinary
// transaction: it locks the key where it is, and reads it; then the one shard leaves a
// forwarding tombstone, or removes it, and the other takes it in. The hot shard decides.
type Move struct {
	Call
	key      []byte
	from, to kv.ShardID
	locks    *locks
	commit   commitreq.Commit
}

// NewMove makes a move of a key.
func NewMove(gw *Gateway, token Token, ref kv.TxnRef, key []byte, from, to kv.ShardID, deadline int64) *Move {
	m := &Move{Call: newInternalCall(gw, MoveKind, token, ref.TxnID, deadline), key: key, from: from, to: to}
	m.Ref, m.ReadOnly = ref, false
	return m
}

// Start locks the key where it is.
func (m *Move) Start(gw *Gateway) Outcome {
	f := gw.Shards.Refusing([]kv.ShardID{m.from, m.to})
	if f != nil {
		return Failed(f)
	}
	m.locks = newLocks()
	m.Phase = Locking
	unlocked := gw.Mutants.Has(mutant.MoveUnlocked)
	m.locks.requestLock(gw, &m.Call, m.from, &msg.Lock{Ops: []msg.Op{m.moveOut()}, Optimistic: unlocked})
	return Continue
}

// out leaves a forwarding tombstone at home, and nothing at the hot shard: what that knows
// nothing of is at home.
func (m *Move) moveOut() msg.Op {
	return msg.Op{Kind: msg.OpMoveOut, Key: m.key, To: m.to, Type: uint32(entry.TypeMoved)}
}

// Requests are the lock requests.
func (m *Move) Requests() *lockreq.Requests { return &m.locks.requests }

// Locked: the key is locked, and the answer is what it holds.
func (m *Move) OnLocks(gw *Gateway, _ *msg.Lock, r *msg.LockResponse) Outcome {
	if !m.locks.addGrants(r) {
		return Aborted(locksLost())
	}
	held := &r.Results[0]
	fromHome := gw.Router.Shard(m.key) == m.from
	if len(held.Value) > kv.MaxMovedBytes && fromHome {
		m.Release(gw)
		text := fmt.Sprintf("the key holds %d bytes; keys of more than %d bytes are not moved", len(held.Value), kv.MaxMovedBytes)
		return Failed(env.Failure(msg.ReasonRequest, kv.KindOutOfRange, text))
	}
	out := m.moveOut()
	if !fromHome || gw.Mutants.Has(mutant.MoveLeavesNoMark) {
		out.Type = uint32(entry.TypeDeleted)
	}
	in := msg.Op{Kind: msg.OpMoveIn, Seq: 1, Key: m.key, Type: held.Type, Value: held.Value}
	in.Version, in.Expiry = held.Version, held.Expires
	if gw.Mutants.Has(mutant.MoveCopiesTooLittle) {
		in.Type, in.Value = uint32(entry.TypeDeleted), nil
	}
	t := m.locks.session.At(m.from)
	var ps piece.Pieces
	p := ps.At(m.from)
	p.Ops, p.ReadSet, p.Incarnation = []msg.Op{out}, msg.ReadSetOf(t.Grants, nil), t.Inc
	ps.At(m.to).Ops = []msg.Op{in}
	return gw.sendCommit(m, ps, commitreq.Request{})
}

// Refused: the key cannot be locked where it is said to be.
func (m *Move) OnFailure(_ *Gateway, f *msg.Failure) Outcome { return Aborted(f) }

// Commit is the commit under way.
func (m *Move) Commit() *commitreq.Commit { return &m.commit }

// OnlyReads reports whether the commit applies nothing.
func (m *Move) IsReadOnly() bool { return false }

// Answered takes the decision of the last agent.
func (m *Move) OnCommitResponse(gw *Gateway, a *msg.CommitResponse) Outcome {
	if !a.Committed {
		m.Release(gw)
		return AbortConfirmed(a.Failure)
	}
	return Finished(Done{Committed: true, ResultsLost: a.ResultsLost, Index: msg.ShardCSN{Shard: a.Shard, Index: a.Index}})
}

// Awaits lists the shards that have not answered.
func (m *Move) PendingShards() []kv.ShardID {
	if m.Phase == Locking {
		return m.locks.requests.Awaits()
	}
	return nil
}

// Shards lists the shards that it has locked on.
func (m *Move) Shards() []kv.ShardID {
	if m.locks == nil {
		return nil
	}
	return m.locks.session.Shards()
}

// Repeat asks again for the lock.
func (m *Move) Retry(gw *Gateway) Outcome {
	if m.Phase == Locking {
		m.locks.retry(gw, &m.Call)
	}
	return Continue
}

// Release gives up the lock.
func (m *Move) Release(gw *Gateway) {
	if m.locks != nil {
		m.locks.release(gw, m.Ref)
	}
}

// Reset forgets the attempt.
func (m *Move) Reset() {
	m.locks = nil
	m.commit = commitreq.Commit{}
}
