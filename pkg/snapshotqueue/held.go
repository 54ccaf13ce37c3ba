package snapshotqueue

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Freed is a piece that was held for so long, for the sake of readers of a
// key, which is nil if they were those of an earlier life.
type Freed struct {
	Txn   kv.TxnRef
	Nanos int64
	Key   []byte
	// Receipt tells the same, and what the piece does.
	Receipt msg.Receipt
}

// isHeld notes that an update is held from now on, and a key for which it is: one with a registered reader
// if there is one, else one of a snapshot round, which registers on all keys.
func (q *Queue) isHeld(u *update) {
	q.counters.Holds++
	q.ages(u)
	for _, butRounds := range []bool{true, false} {
		for i := range u.needs {
			if q.anyReader(u.needs[i:i+1], butRounds) {
				u.heldKey, u.heldByRound = u.needs[i].Span.Start, !butRounds
				return
			}
		}
	}
}

// ages has the age of a held update begin, unless it has, or it is held for want of
// a reader's leave alone: what may not seal yet in a new life is nobody's fault.
func (q *Queue) ages(u *update) {
	if u.state == Held && q.now >= q.opt.SealFrom {
		u.aged = min(u.aged, q.now)
	}
}

// age is an update's held age: for how long it has been that a registered reader
// first kept it from sealing, or a piece from being decided, here or, as the answer to
// Unseal has told, at its last agent, whether or not it has sealed since.
func (q *Queue) age(u *update) int64 {
	if u.aged == never || q.now < q.opt.SealFrom {
		return 0
	}
	return q.now - u.aged
}

// HeldAge is the held age of an update, or of a piece, that is here, 0 for none.
func (q *Queue) HeldAge(now int64, txn kv.TxnRef) int64 {
	q.now = max(q.now, now)
	if u := q.updates[txn]; u != nil {
		return q.age(u)
	}
	return 0
}

// closes reports whether an update has been held for so long that nobody may
// register any more on the keys that it writes.
func (q *Queue) closes(u *update) bool {
	if u.state != Held && q.opt.Mutants.Has(mutant.ClosedWhenHeldOnly) {
		return false
	}
	return q.age(u) > int64(q.opt.HoldBound)
}

// Passes tells of the updates, and pieces, that do not commute with needs and are
// undecided: whether there are any, so that a registration would hold them back, and
// the greatest held age of those that are held now.
func (q *Queue) Passes(now int64, needs []Need) (parked bool, age int64) {
	q.now = max(q.now, now)
	all := q.conflicting(needs)
	for _, u := range all {
		if u.state == Held {
			age = max(age, q.age(u))
		}
	}
	return len(all) > 0, age
}

// freed notes that an update is held no more.
func (q *Queue) freed(u *update) {
	q.counters.HeldNanos += q.now - u.heldSince
	u.held += q.now - u.heldSince
}

// HeldFor is how long an update, or a piece, has been held here, and a key for
// which readers did; nil if they were those of an earlier life.
func (q *Queue) HeldFor(now int64, txn kv.TxnRef) (nanos int64, key []byte) {
	u := q.updates[txn]
	if u == nil {
		return 0, nil
	}
	if u.state == Held {
		return u.held + max(q.now, now) - u.heldSince, u.heldKey
	}
	return u.held, u.heldKey
}

// Receipt tells how long an update, or a piece, has been held, and for whom.
func (q *Queue) Receipt(now int64, txn kv.TxnRef) msg.Receipt {
	u := q.updates[txn]
	if u == nil {
		return msg.Receipt{}
	}
	nanos, _ := q.HeldFor(now, txn)
	r := u.receipt(nanos)
	r.Open = u.state == Held && nanos > 0
	return r
}

func (u *update) receipt(nanos int64) msg.Receipt {
	if nanos <= 0 {
		return msg.Receipt{}
	}
	r := msg.Receipt{WaitedNanos: nanos, Key: u.heldKey, Cause: msg.CauseReaders, HolderMode: uint64(adt.ModeRead), HolderMethods: uint64(adt.MethodOpenView.Set())}
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
