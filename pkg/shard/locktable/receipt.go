package locktable

import (
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// blocker is a transaction that blocks a need, with the mode and methods of its conflicting lock or request.
//
// A receipt reports it to the client: which key, which transaction, which operations conflict, and, for a
// bounded counter, how much is left. So the client can see why it waited, and which operations would commute.
type blocker struct {
	txn     kv.TxnRef
	mode    adt.Mode
	methods adt.Methods
	short   *adt.Shortage
	cause   msg.Cause
	// key is the key of the conflict if it differs from the start of the need: the need is a range.
	key string
}

// asBlocker describes a lock as the blocker of a request.
func (h *holder) asBlocker(cause msg.Cause) blocker {
	return blocker{txn: h.owner.txn, mode: h.mode, methods: h.methods, short: h.short, cause: cause}
}

// asBlocker describes a waiting request as the blocker of a younger request for n.
func (r *Request) asBlocker(n *Need) blocker {
	b := blocker{txn: r.Txn, cause: msg.CauseQueue}
	for i := range r.Needs {
		if w := &r.Needs[i]; !adt.Compatible(w.Mode, n.Mode) && w.Span.Overlaps(n.Span) {
			b.mode, b.methods, b.short = w.Mode, w.Methods, w.Short
			break
		}
	}
	return b
}

// fillReceipt records in a receipt that b blocks the need n.
func (b *blocker) fillReceipt(to *msg.Receipt, n *Need) {
	to.Key, to.Mode, to.Methods = n.Span.Start, uint64(n.Mode), uint64(n.Methods)
	if b.key != "" {
		to.Key = []byte(b.key)
	}
	to.Cause, to.Holder, to.HolderMode, to.HolderMethods = b.cause, b.txn, uint64(b.mode), uint64(b.methods)
	to.Shortage = shortageMsg(adt.ShortageOf(n.Mode, b.mode, n.Short, b.short))
}

// shortageMsg is the message form of a shortage.
func shortageMsg(s *adt.Shortage) *msg.Shortage {
	if s == nil {
		return nil
	}
	return &msg.Shortage{Left: s.Left, Requested: s.Requested}
}

// otherCount is the number of blocking owners without the one that the receipt names.
//
// With it the client learns that other transactions hold the lock as well: waiting for the named one alone does not
// suffice.
func otherCount(r *msg.Receipt, blockers []*owner) uint16 {
	n := len(blockers)
	if slices.ContainsFunc(blockers, func(o *owner) bool { return o.txn == r.Holder }) {
		n--
	}
	return uint16(min(n, math.MaxUint16))
}

// Receipt returns for how long r has waited so far, with its current blocker. If r does not wait, it returns
// r.Receipt.
//
// The client of a request whose deadline passes gets it: which transaction it waited for at last, and not at first.
func (t *Table) Receipt(now int64, r *Request) msg.Receipt {
	if !r.waiting {
		return r.receipt
	}
	// The first blocker may be gone. If there is no blocker now, the next call of Next grants r; the receipt
	// keeps the first one.
	probe := Request{}
	if t.isGrantable(now, r, &probe) {
		probe.receipt = r.receipt
	} else {
		probe.receipt.Others = otherCount(&probe.receipt, t.conflictingOwners(r))
	}
	probe.receipt.WaitedNanos, probe.receipt.Open = now-r.waitingSince, true
	return probe.receipt
}

// woundReceipt describes the conflict from the view of the wounded owner: its lock, and what by requests.
//
// The mode is that of the wounded owner's lock, and the holder is the transaction for which it has to make way:
// from the owner's point of view, the other one has taken the key.
func (t *Table) woundReceipt(o *owner, by *Request) msg.Receipt {
	out := msg.Receipt{Cause: msg.CauseWound, Holder: by.Txn}
	for i := range by.Needs {
		n := &by.Needs[i]
		if h, key := o.findConflict(n); h != nil {
			out.Key, out.Mode, out.Methods = key, uint64(h.mode), uint64(h.methods)
			out.HolderMode, out.HolderMethods = uint64(n.Mode), uint64(n.Methods)
			out.Shortage = shortageMsg(adt.ShortageOf(h.mode, n.Mode, h.short, n.Short))
			break
		}
	}
	return out
}

// findConflict finds a lock of the owner that conflicts with a need, and the key of the conflict.
func (o *owner) findConflict(n *Need) (*holder, []byte) {
	for _, rh := range o.ranges {
		if !adt.Compatible(rh.mode, n.Mode) && rh.span.Overlaps(n.Span) {
			return &rh.holder, n.Span.Start
		}
	}
	for _, e := range o.points {
		if !n.Span.Contains([]byte(e.key)) {
			continue
		}
		for i := range e.holders {
			if h := &e.holders[i]; h.owner == o && !adt.Compatible(h.mode, n.Mode) {
				return h, []byte(e.key)
			}
		}
	}
	return nil, nil
}
