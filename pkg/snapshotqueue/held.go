package snapshotqueue

import (
	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
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

// isHeld notes that an update is held from now on, and for which key.
func (q *Queue) isHeld(u *update) {
	q.counters.Holds++
	for i := range u.needs {
		if q.anyReader(u.needs[i : i+1]) {
			u.heldKey = u.needs[i].Span.Start
			return
		}
	}
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
	if u.heldKey == nil {
		r.Cause = msg.CauseForgotten
	}
	for i := range u.needs {
		if n := &u.needs[i]; u.heldKey == nil || n.Span.Contains(u.heldKey) {
			r.Mode, r.Methods = uint64(n.Mode), uint64(n.Methods)
			break
		}
	}
	return r
}
