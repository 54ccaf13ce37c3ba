package snapshotqueue

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// FreedPiece is a piece that was held for Nanos by readers of Key. Key is nil if these were readers of an earlier
// incarnation.
type FreedPiece struct {
	Txn   kv.TxnRef
	Nanos int64
	Key   []byte
	// Receipt reports the same with the operations of the piece.
	Receipt msg.Receipt
}

// onHeld starts a period in which an update is held, and chooses heldKey: a key with a registered reader if there is
// one, else a key of a snapshot round, which registers for all keys.
func (q *Queue) onHeld(u *update) {
	q.counters.Holds++
	q.startTimeBlocked(u)
	// A round registers for the whole shard for a few milliseconds. If it was named first, it would hide the reader that
	// blocks the update for longer, and about which the client can do something.
	for _, ignoreRounds := range []bool{true, false} {
		for i := range u.needs {
			if q.hasReader(u.needs[i:i+1], ignoreRounds) {
				u.heldKey, u.heldByRound = u.needs[i].Span.Start, !ignoreRounds
				return
			}
		}
	}
}

// startTimeBlocked starts the time blocked of a held update unless it runs already. It does not run while a restarted
// shard may not seal: readers do not cause that wait, and closing the queues would not shorten it.
func (q *clock) startTimeBlocked(u *update) {
	if u.state == Held && q.now >= q.opt.SealFrom {
		u.blockedSince = min(u.blockedSince, q.now)
	}
}

// timeBlocked returns for how long readers have blocked an update, in nanoseconds: since a registered reader first
// kept it from sealing (a piece: from being decided), here or, as reported by an unseal response, at its last agent.
// It continues if the update has sealed since.
//
// Example, with queues that close after 20 ms. Without this rule A could be held forever by readers that overlap:
//
//	 0 ms   A is held by R
//	10 ms   R deregisters: A seals. S arrives before the decision, and waits for A.
//	13 ms   A is unsealed for S, and held by it
//	21 ms   A has been blocked for 21 ms, although by no reader for 20: the queues of its keys close
func (q *clock) timeBlocked(u *update) int64 {
	if u.blockedSince == never || q.now < q.opt.SealFrom {
		return 0
	}
	return q.now - u.blockedSince
}

// TimeBlocked is the time blocked of an update or a piece, in nanoseconds; 0 if it is unknown or was not blocked.
func (q *Queue) TimeBlocked(now int64, txn kv.TxnRef) int64 {
	q.now = max(q.now, now)
	if u := q.updates[txn]; u != nil {
		return q.timeBlocked(u)
	}
	return 0
}

// isDecidable reports whether the last agent, on another shard, may have decided the update or may do so at
// any time.
func (u *update) isDecidable() bool { return u.state == Sealed || u.state == Recovered }

// CheckUndecided reports whether undecided updates or pieces do not commute with needs, so that a registration would
// hold them, and the largest time blocked of those that are held, in nanoseconds.
//
// The response to a read reports both. The gateway reads a contended shard last (the plan hot-last) by the first, and
// requests a snapshot round for an open reader by the second.
func (q *Queue) CheckUndecided(now int64, needs []Need) (undecided bool, blocked int64) {
	q.now = max(q.now, now)
	all := q.conflictingUpdates(needs)
	for _, u := range all {
		if u.state == Held {
			blocked = max(blocked, q.timeBlocked(u))
		}
	}
	return len(all) > 0, blocked
}

// addHeldTime adds the period that ends now to the held times.
//
// A period ends when the update seals, becomes unheld, or is decided.
func (q *Queue) addHeldTime(u *update) {
	q.counters.HeldNanos += q.now - u.heldSince
	u.heldNanos += q.now - u.heldSince
}

// HeldTime returns how long an update or a piece has been held here, in nanoseconds, and a key whose readers held it.
// The key is nil if these were readers of an earlier incarnation.
//
// It counts as contention of the key: a key whose updates readers hold for long is worth a move to the hot shard.
func (q *Queue) HeldTime(now int64, txn kv.TxnRef) (nanos int64, key []byte) {
	u := q.updates[txn]
	if u == nil {
		return 0, nil
	}
	if u.state == Held {
		return u.heldNanos + max(q.now, now) - u.heldSince, u.heldKey
	}
	return u.heldNanos, u.heldKey
}

// Receipt reports how long an update or a piece has been held, and by what.
//
// The cause is readers, a snapshot round, or the recovery of the shard, in which leases of an earlier incarnation end.
func (q *Queue) Receipt(now int64, txn kv.TxnRef) msg.Receipt {
	u := q.updates[txn]
	if u == nil {
		return msg.Receipt{}
	}
	nanos, _ := q.HeldTime(now, txn)
	r := u.receipt(nanos)
	r.Open = u.state == Held && nanos > 0
	return r
}

// receipt reports what has held an update for some time.
func (u *update) receipt(nanos int64) msg.Receipt {
	if nanos <= 0 {
		return msg.Receipt{}
	}
	r := msg.Receipt{WaitedNanos: nanos, Key: u.heldKey, Cause: msg.CauseReaders,
		HolderMode: uint64(adt.ModeRead), HolderMethods: uint64(adt.MethodOpenView.Set())}
	switch {
	// A restarted shard does not seal while leases of earlier incarnations may be valid. No reader is known.
	case u.heldKey == nil:
		r.Cause = msg.CauseRecovery
	// A round is not an operation of a client that could be replaced by another one.
	case u.heldByRound:
		r.Cause, r.HolderMode, r.HolderMethods = msg.CauseSnapshot, 0, 0
	}
	for i := range u.needs {
		if n := &u.needs[i]; u.heldKey == nil || n.Span.Contains(u.heldKey) {
			r.Mode, r.Methods = uint64(n.Mode), uint64(n.Methods)
			break
		}
	}
	return r
}
