package locktable

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// index finds locks by key, by range and by owner, and the queue of a key. It does not decide: that is the
// task of Table, which also marks what becomes dirty when locks are added or released.
//
//	keys     a ─▶ holders: T1 read #1, T3 read #4     waiters: T2 write
//	         b ─▶ holders: T1 write #2                waiters:
//	ranges   [c, f) T1 read #3
//	owners   T1 ─▶ a, b, [c, f)     T3 ─▶ a           T2 owns nothing while it waits
type index struct {
	rules
	keys map[string]*entry
	// ranges are the range locks. A table has few of them; they are searched linearly.
	ranges []*heldRange
	owners map[kv.TxnRef]*owner
}

// KeyWaiterCount is the number of waiting requests that need the key itself. Requests for a range that
// contains it are not counted.
func (t *index) KeyWaiterCount(key []byte) int {
	if e := t.keys[string(key)]; e != nil {
		return len(e.waiters)
	}
	return 0
}

// OwnerCount is the number of transactions that hold a lock.
func (t *index) OwnerCount() int { return len(t.owners) }

// Owners returns the transactions that hold locks, oldest first.
func (t *index) Owners() []kv.TxnRef {
	out := make([]kv.TxnRef, 0, len(t.owners))
	for txn := range t.owners {
		out = append(out, txn)
	}
	slices.SortFunc(out, kv.TxnRef.CompareAge)
	return out
}

// GrantsOf returns the locks of txn: points before ranges, then in key order.
//
// The order does not depend on that of the requests, so that what is made of it is the same in every replay.
func (t *index) GrantsOf(txn kv.TxnRef) []Grant {
	o := t.owners[txn]
	if o == nil {
		return nil
	}
	var out []Grant
	for _, e := range o.points {
		for _, h := range e.holders {
			if h.owner == o {
				out = append(out, Grant{kv.Point([]byte(e.key)), h.mode, h.number})
			}
		}
	}
	for _, rh := range o.ranges {
		out = append(out, Grant{rh.span, rh.mode, rh.number})
	}
	slices.SortFunc(out, func(a, b Grant) int {
		if c := cmp.Compare(boolInt(!a.Span.IsPoint()), boolInt(!b.Span.IsPoint())); c != 0 {
			return c
		}
		if c := bytes.Compare(a.Span.Start, b.Span.Start); c != 0 {
			return c
		}
		return cmp.Compare(a.Number, b.Number)
	})
	return out
}

// UserOf returns the user of a transaction that holds a lock, 0 if that is unknown or it holds none.
func (t *index) UserOf(txn kv.TxnRef) kv.Account {
	if o := t.owners[txn]; o != nil {
		return o.user
	}
	return 0
}

// Holds reports whether txn still holds this grant: the same number, with a mode that covers it.
//
// The number is necessary. A push breaks the locks of T; a delayed duplicate of T's lock request acquires
// them again; in between another transaction wrote the key. T holds the mode, but what it read is obsolete.
func (t *index) Holds(txn kv.TxnRef, g Grant) bool {
	o := t.owners[txn]
	if o == nil {
		return false
	}
	match := func(h holder) bool { return h.owner == o && t.isGrant(&h, &g) }
	if g.Span.IsPoint() {
		e := t.keys[string(g.Span.Start)]
		return e != nil && slices.ContainsFunc(e.holders, match)
	}
	return slices.ContainsFunc(o.ranges, func(rh *heldRange) bool { return match(rh.holder) })
}

// Covered reports whether txn holds the mode, or a stronger one, on the span.
//
// Package exec asks it when a call is planned again under its locks: a mode that was requested by an earlier
// piece of the transaction need not be requested again.
func (t *index) Covered(txn kv.TxnRef, n Need) bool {
	o := t.owners[txn]
	return o != nil && t.isCovered(o, n)
}

// isCovered reports whether o already holds the mode of the need, or a stronger one, on its span.
func (t *index) isCovered(o *owner, n Need) bool {
	if n.Span.IsPoint() {
		if e := t.keys[string(n.Span.Start)]; e != nil {
			for i := range e.holders {
				if h := &e.holders[i]; h.owner == o && adt.Covers(h.mode, n.Mode) {
					return true
				}
			}
		}
		return false
	}
	return slices.ContainsFunc(o.ranges, func(rh *heldRange) bool {
		return adt.Covers(rh.mode, n.Mode) && isSameSpan(rh.span, n.Span)
	})
}

// findEquivalent finds another lock of the owner that covers the range and mode of rh.
func (o *owner) findEquivalent(rh *heldRange) *heldRange {
	for _, x := range o.ranges {
		if x != rh && isSameSpan(x.span, rh.span) && adt.Covers(x.mode, rh.mode) {
			return x
		}
	}
	return nil
}

// existingGrant returns the grant that covers a need of o, and adds the methods of the need to it.
//
// For a range it counts the use: a range that two requests rely on is not shrunk by one of them (Shrink).
func (t *index) existingGrant(o *owner, n Need) Grant {
	g := Grant{Span: n.Span, Mode: n.Mode}
	if n.Span.IsPoint() {
		holders := t.keys[string(n.Span.Start)].holders
		for i := range holders {
			if h := &holders[i]; h.owner == o && adt.Covers(h.mode, n.Mode) {
				g.Number = h.number
				h.methods = h.methods.With(n.Methods)
			}
		}
		return g
	}
	for _, rh := range o.ranges {
		if adt.Covers(rh.mode, n.Mode) && isSameSpan(rh.span, n.Span) {
			g.Number = rh.number
			rh.methods = rh.methods.With(n.Methods)
			rh.uses++
			break
		}
	}
	return g
}

// findRangeConflict finds a range lock of another transaction that conflicts with the need.
func (t *index) findRangeConflict(o *owner, n *Need) *holder {
	for _, rh := range t.ranges {
		if rh.owner != o && !t.isCompatible(rh.mode, n.Mode) && rh.span.Overlaps(n.Span) {
			return &rh.holder
		}
	}
	return nil
}

// conflictingOwners returns the other owners that hold a lock incompatible with r, oldest first.
//
// The order is that of age, not of the map: it determines the order of wounds, and a run must be reproducible.
func (t *index) conflictingOwners(r *Request) []*owner {
	var out []*owner
	self := t.owners[r.Txn]
	add := func(h *holder, mode adt.Mode) {
		if h.owner != self && !t.isCompatible(h.mode, mode) && !slices.Contains(out, h.owner) {
			out = append(out, h.owner)
		}
	}
	for i := range r.Needs {
		n := &r.Needs[i]
		for _, rh := range t.ranges {
			if rh.span.Overlaps(n.Span) {
				add(&rh.holder, n.Mode)
			}
		}
		if n.Span.IsPoint() {
			if e := t.keys[string(n.Span.Start)]; e != nil {
				for j := range e.holders {
					add(&e.holders[j], n.Mode)
				}
			}
			continue
		}
		for _, e := range t.keys {
			if n.Span.Contains([]byte(e.key)) {
				for j := range e.holders {
					add(&e.holders[j], n.Mode)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b *owner) int { return a.age().Compare(b.age()) })
	return out
}

// ownerOf returns the owner of r's transaction. A new one has the begin time and the user of r.
func (t *index) ownerOf(now int64, r *Request) *owner {
	o := t.owners[r.Txn]
	if o == nil {
		o = &owner{txn: r.Txn, begun: r.Begun, user: r.User, heldSince: now}
		t.owners[r.Txn] = o
	}
	return o
}

// entryOf returns the entry of a key, a new one if there is none.
func (t *index) entryOf(key []byte) *entry {
	e := t.keys[string(key)]
	if e == nil {
		e = &entry{key: string(key)}
		t.keys[e.key] = e
	}
	return e
}

// dropIfEmpty removes an entry that is no longer used (invariant 3).
func (t *index) dropIfEmpty(e *entry) {
	if len(e.holders) == 0 && len(e.waiters) == 0 && !e.dirty {
		delete(t.keys, e.key)
	}
}
