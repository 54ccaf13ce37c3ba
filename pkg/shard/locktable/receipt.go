package locktable

import (
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// blocker is one that stands in the way of a need: who, with what, and on which
// key where that is not the need's own.
type blocker struct {
	txn     kv.TxnRef
	mode    adt.Mode
	methods adt.Methods
	short   *adt.Shortage
	cause   msg.Cause
	key     string
}

func (h *holder) blocks(cause msg.Cause) blocker {
	return blocker{txn: h.owner.txn, mode: h.mode, methods: h.methods, short: h.short, cause: cause}
}

// blocks is a waiting request in the way of a younger one's need.
func (r *Request) blocks(n *Need) blocker {
	b := blocker{txn: r.Txn, cause: msg.CauseQueue}
	for i := range r.Needs {
		if w := &r.Needs[i]; !adt.Compatible(w.Mode, n.Mode) && w.Span.Overlaps(n.Span) {
			b.mode, b.methods, b.short = w.Mode, w.Methods, w.Short
			break
		}
	}
	return b
}

// fill says in a receipt that b is in the way of a need.
func (b *blocker) fill(to *msg.Receipt, n *Need) {
	to.Key, to.Mode, to.Methods = n.Span.Start, uint64(n.Mode), uint64(n.Methods)
	if b.key != "" {
		to.Key = []byte(b.key)
	}
	to.Cause, to.Holder, to.HolderMode, to.HolderMethods = b.cause, b.txn, uint64(b.mode), uint64(b.methods)
	to.Shortage = shortage(adt.Short(n.Mode, b.mode, n.Short, b.short))
}

func shortage(s *adt.Shortage) *msg.Shortage {
	if s == nil {
		return nil
	}
	return &msg.Shortage{Left: s.Left, Requested: s.Requested}
}

// others counts those in the way whom a receipt does not name.
func others(r *msg.Receipt, inTheWay []*owner) uint16 {
	n := len(inTheWay)
	if slices.ContainsFunc(inTheWay, func(o *owner) bool { return o.txn == r.Holder }) {
		n--
	}
	return uint16(min(n, math.MaxUint16))
}

// Receipt tells for how long a request has waited so far, and what is in its
// way now. Of one that does not wait it is r.Receipt.
func (t *Table) Receipt(now int64, r *Request) msg.Receipt {
	if !r.waiting {
		return r.wait
	}
	// What was in the way first may have gone. If nothing is, Next is about to
	// grant it.
	probe := Request{}
	if t.grantable(now, r, &probe) {
		probe.wait = r.wait
	} else {
		probe.wait.Others = others(&probe.wait, t.conflicts(r))
	}
	probe.wait.WaitedNanos, probe.wait.Open = now-r.since, true
	return probe.wait
}

// wound tells the owner o what by needs of it.
func (t *Table) wound(o *owner, by *Request) msg.Receipt {
	out := msg.Receipt{Cause: msg.CauseWound, Holder: by.Txn}
	for i := range by.Needs {
		n := &by.Needs[i]
		if h, key := o.inTheWay(n); h != nil {
			out.Key, out.Mode, out.Methods = key, uint64(h.mode), uint64(h.methods)
			out.HolderMode, out.HolderMethods = uint64(n.Mode), uint64(n.Methods)
			out.Shortage = shortage(adt.Short(h.mode, n.Mode, h.short, n.Short))
			break
		}
	}
	return out
}

// inTheWay finds a lock of the owner that excludes a need, and a key where.
func (o *owner) inTheWay(n *Need) (*holder, []byte) {
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
