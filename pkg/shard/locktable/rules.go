package locktable

// The rules of the table that tests break, each with its mutant.

import (
	"math"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// rules compare transactions and their modes.
type rules struct{ opt Options }

// supersedes reports whether a is a later attempt of the transaction of b. At another gateway a later attempt
// may have a later begin time than b (kv.Age); it must not wait for locks that b has left behind.
//
//	B/1 locks a; its gateway crashes        B/1 is granted
//	the client retries as B/2               waits for B/1
//	B/2 wounds B/1, or a push finds that    B/1 is released, B/2 is granted
//	its gateway does not know it
func (t *rules) supersedes(a, b kv.TxnRef) bool {
	return a.TxnID == b.TxnID && a.Attempt > b.Attempt && !t.opt.Mutants.Has(mutant.AttemptsEqualAge)
}

// isOlder orders two ages: the older transaction has precedence.
// Ages are equal only for attempts of one transaction, which supersedes orders.
func (t *rules) isOlder(a, b kv.Age) bool {
	if t.opt.Mutants.Has(mutant.AttemptsEqualAge) && a.TxnID == b.TxnID {
		return false
	}
	return a.Older(b)
}

// isCompatible reports whether two modes of different transactions can be held on one span. It equals
// adt.Compatible, except under a mutant.
func (t *rules) isCompatible(a, b adt.Mode) bool {
	return adt.Compatible(a, b) ||
		t.opt.Mutants.Has(mutant.SizeWithAdd) && areKinds(a, b, "set.all", "set.add") ||
		t.opt.Mutants.Has(mutant.ContainsWithRemove) && areKinds(a, b, "set.present", "set.remove") ||
		t.opt.Mutants.Has(mutant.PartsIgnored) && differsOnlyByPart(a, b)
}

// areKinds reports whether two modes are of the kinds x and y, in either order.
func areKinds(a, b adt.Mode, x, y string) bool {
	return a.KindName() == x && b.KindName() == y || a.KindName() == y && b.KindName() == x
}

// differsOnlyByPart reports whether two modes are compatible if they concern different parts of a value.
func differsOnlyByPart(a, b adt.Mode) bool {
	x, typed := a.Type()
	y, too := b.Type()
	return typed && too && x == y && a.Valid() && b.Valid() && adt.Lookup(x).Relation(a.Kind(), b.Kind()) == adt.OtherPart
}

// findLockedRange finds a range lock that conflicts with a need of one key, whatever its mode and whether or not
// the key exists.
func (t *index) findLockedRange(r *Request, o *owner, n *Need) *holder {
	_, typed := n.Mode.Type()
	if t.opt.Mutants.Has(mutant.RangeLocksPresentOnly) && r.Absent != nil && r.Absent(n.Span.Start) ||
		t.opt.Mutants.Has(mutant.TypedPastRange) && typed {
		return nil
	}
	return t.findRangeConflict(o, n)
}

// isExempt reports whether a need is granted without a check: the transaction holds it already.
func (t *index) isExempt(r *Request, o *owner, n *Need) bool {
	return o != nil && t.isCovered(o, *n) || r.Instant && t.opt.Mutants.Has(mutant.HotLocksIgnored)
}

// isGrant reports whether a lock is that of a grant.
func (t *rules) isGrant(h *holder, g *Grant) bool {
	return h.number == g.Number && adt.Covers(h.mode, g.Mode) || t.opt.Mutants.Has(mutant.GrantByHolding)
}

// isPhaseFull reports whether the running phase of a key has reached one of its bounds.
func (t *rules) isPhaseFull(now int64, e *entry) bool {
	return (e.phaseCount >= t.opt.MaxPhaseCount || now-e.phaseSince >= int64(t.opt.MaxPhaseTime)) &&
		!t.opt.Mutants.Has(mutant.NoPhaseCap)
}

// findPrecedingWaiter finds the waiter of a key that a request must not pass unless it can join the phase: an
// older one. If a full phase stopped older requests, too, they would wait behind younger ones, which wait for them.
func (t *rules) findPrecedingWaiter(e *entry, r *Request, n *Need) *Request {
	w := t.findOlderWaiter(e.waiters, r, n)
	if w == nil && t.opt.Mutants.Has(mutant.CapStopsOlder) && len(e.waiters) > 0 && len(e.holders) > 0 {
		return e.waiters[0]
	}
	return w
}

// mayWound reports whether a waiting request may wound a holder. It does so again at each interval, since a wound
// may be lost.
func (t *Table) mayWound(now int64, r *Request, o *owner) bool {
	return (t.isOlder(r.age(), o.age()) || t.supersedes(r.Txn, o.txn)) &&
		!(t.opt.Mutants.Has(mutant.WoundsOnce) && t.isRepeated(now, r, o))
}

// isRepeated reports whether r has wounded o before: when it began to wait, or when the wound delay ended.
func (t *Table) isRepeated(now int64, r *Request, o *owner) bool {
	return now > r.waitingSince &&
		(o.preparedAt > r.waitingSince || now-o.preparedAt >= int64(t.woundDelay+t.opt.WoundInterval))
}

// woundOwner records a wound of o, caused by the waiting request by.
func (t *Table) woundOwner(o *owner, by *Request) {
	if t.opt.Mutants.Has(mutant.NoWound) || o.prepared && t.opt.Mutants.Has(mutant.PreparedIsSafe) {
		return
	}
	t.counters.Wounds++
	t.wounds = append(t.wounds, Wound{Holder: o.txn, By: by.Txn, Prepared: o.prepared, Conflict: t.woundReceipt(o, by)})
}

// woundPasser wounds the transaction of r if it was granted a lock ahead of an older waiter, as the joiner of a
// phase or by an upgrade.
//
// History: older T1 waits for k, held in mode add by T2. T3, younger, joins the phase. When T2 ends, T1 still
// waits for T3, which nothing has wounded: T1 wounds at fixed intervals only.
func (t *Table) woundPasser(o *owner, r *Request) {
	w := t.findPassedWaiter(r)
	if w != nil && !t.opt.Mutants.Has(mutant.NoWoundOnGrant) {
		t.woundOwner(o, w)
	}
}

// ReleaseReads releases the read locks of txn and keeps the others.
func (t *Table) ReleaseReads(txn kv.TxnRef) {
	t.releaseWhere(txn, func(h holder) bool { return h.mode == adt.ModeRead })
}

// holdBurstNanos is how long the locks of a user can block others, from a full share.
func (o *Options) holdBurstNanos() int64 {
	if o.Mutants.Has(mutant.HoldsUncounted) {
		return math.MaxInt64 / 2
	}
	return int64(kv.DefaultHoldBurst)
}
