package flow

import (
	"fmt"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/commitreq"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/lockreq"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
)

// Move moves a key between its home shard and the hot shard (docs/protocol.md, section 9):
//
//	gateway            home shard                  hot shard, the last agent
//	  ├─ lock k ────────────▶│                          │
//	  │◀─ value, grant ──────┤                          │
//	  ├─ prepare: move-out ─▶│  move tombstone          │
//	  ├─ commit request: move-in ──────────────────────▶│
//	  │                      ├─ vote ──────────────────▶│  F: value and row
//
// It is an ordinary transaction with one difference: the last agent is always the hot shard.
type Move struct {
	Call
	key      []byte
	from, to kv.ShardID
	locks    *locks
	commit   commitreq.Commit
}

// NewMove makes the move of a key.
func NewMove(gw *Gateway, handle CallHandle, ref kv.TxnRef, key []byte, from, to kv.ShardID, deadline int64) *Move {
	m := &Move{Call: newInternalCall(gw, MoveKind, handle, ref.TxnID, deadline), key: key, from: from, to: to}
	m.Ref, m.ReadOnly = ref, false
	return m
}

// Start write-locks the key on its current shard.
//
// The move is older than everything that waits for the key, so it gets the lock next, and is not wounded.
func (m *Move) Start(gw *Gateway) Outcome {
	f := gw.Shards.WhyUnavailable([]kv.ShardID{m.from, m.to})
	if f != nil {
		return Failed(f)
	}
	m.locks = newLocks()
	m.Phase = Locking
	m.locks.requestLock(gw, &m.Call, m.from, m.lockRequest(gw))
	return Continue
}

// moveOut leaves a move tombstone on the home shard. On the hot shard it removes the key without
// one: a key of which the hot shard knows nothing is at home.
func (m *Move) moveOut() msg.Op {
	return msg.Op{Kind: msg.OpMoveOut, Key: m.key, To: m.to, Type: uint32(entry.TypeMoved)}
}

// Requests returns the lock requests.
func (m *Move) Requests() *lockreq.Requests { return &m.locks.requests }

// OnLocks commits the move, with the value under the granted lock. A value that is too large stays
// at home.
func (m *Move) OnLocks(gw *Gateway, _ *msg.Lock, r *msg.LockResponse) Outcome {
	if !m.locks.addGrants(r) {
		return Aborted(locksLost())
	}
	// The grant is listed in the commit, so the value cannot change before the commit point.
	held := &r.Results[0]
	fromHome := gw.Router.Shard(m.key) == m.from
	// A step of the hot shard with a large value would delay all linchpin keys. A value that has grown
	// there may move home.
	if len(held.Value) > kv.MaxMovedBytes && fromHome {
		m.Release(gw)
		text := fmt.Sprintf("the key holds %d bytes; keys of more than %d bytes are not moved",
			len(held.Value), kv.MaxMovedBytes)
		return Failed(env.Failure(msg.ReasonRequest, kv.KindOutOfRange, text))
	}
	out := m.moveOut()
	if !m.leavesTombstone(gw) {
		out.Type = uint32(entry.TypeDeleted)
	}
	t := m.locks.session.Part(m.from)
	var ps piece.Pieces
	p := ps.At(m.from)
	p.Ops, p.ReadSet, p.Incarnation = []msg.Op{out}, msg.ReadSetOf(t.Grants, nil), t.Incarnation
	ps.At(m.to).Ops = []msg.Op{m.moveIn(gw, held)}
	return gw.sendCommit(m, ps, commitreq.Request{})
}

// OnFailure: the key is not on the shard that the move names.
// Another move was faster, or the planner's report was old.
func (m *Move) OnFailure(_ *Gateway, f *msg.Failure) Outcome { return Aborted(f) }

// Commit returns the current commit.
func (m *Move) Commit() *commitreq.Commit { return &m.commit }

// IsReadOnly reports false.
func (m *Move) IsReadOnly() bool { return false }

// OnCommitResponse handles the decision.
func (m *Move) OnCommitResponse(gw *Gateway, a *msg.CommitResponse) Outcome {
	if !a.Committed {
		// If the prepare request was lost, the source still holds the lock.
		m.Release(gw)
		return AbortConfirmed(a.Failure)
	}
	return Finished(Done{Committed: true, ResultsLost: a.ResultsLost,
		LastAgentCSN: msg.ShardCSN{Shard: a.Shard, CSN: a.CSN}})
}

// PendingShards lists the shards that have not responded.
func (m *Move) PendingShards() []kv.ShardID {
	if m.Phase == Locking {
		return m.locks.requests.PendingShards()
	}
	return nil
}

// Shards lists the shards that may hold its lock.
func (m *Move) Shards() []kv.ShardID {
	if m.locks == nil {
		return nil
	}
	return m.locks.session.Shards()
}

// Retry retries the lock request.
func (m *Move) Retry(gw *Gateway) Outcome {
	if m.Phase == Locking {
		m.locks.retry(gw, &m.Call)
	}
	return Continue
}

// Release releases the lock.
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
