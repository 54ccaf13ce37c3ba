package snapshotqueue

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
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
func (q *Queue) startTimeBlocked(u *update) {
	if u.state == Held && q.now >= q.opt.SealFrom {
		u.blockedSince = min(u.blockedSince, q.now)
	}
}

// timeBlocked returns for how long readers have blocked an update, in nanoseconds: since a registered reader first
// kept it from sealing (a piece: from being decided), here or, as reported by an unseal response, at its last agent.
// It continues if the update has sealed since.
func (q *Queue) timeBlocked(u *update) int64 {
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

// isClosing reports whether an update has been blocked for so long that the queues of the keys that it
// writes are closed.
func (q *Queue) isClosing(u *update) bool {
	if u.state != Held && q.opt.Mutants.Has(mutant.ClosedWhenHeldOnly) {
		return false
	}
	return q.timeBlocked(u) > int64(q.opt.CloseAfter)
}

// CheckUndecided reports whether undecided updates or pieces do not commute with needs, so that a registration would
// hold them, and the largest time blocked of those that are held, in nanoseconds.
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
func (q *Queue) addHeldTime(u *update) {
	q.counters.HeldNanos += q.now - u.heldSince
	u.heldNanos += q.now - u.heldSince
}

// HeldTime returns how long an update or a piece has been held here, in nanoseconds, and a key whose readers held it.
// The key is nil if these were readers of an earlier incarnation.
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

func (u *update) receipt(nanos int64) msg.Receipt {
	if nanos <= 0 {
		return msg.Receipt{}
	}
	r := msg.Receipt{WaitedNanos: nanos, Key: u.heldKey, Cause: msg.CauseReaders,
		HolderMode: uint64(adt.ModeRead), HolderMethods: uint64(adt.MethodOpenView.Set())}
	switch {
	case u.heldKey == nil:
		r.Cause = msg.CauseRecovery
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
