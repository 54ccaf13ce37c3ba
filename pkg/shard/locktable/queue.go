package locktable

import (
	"cmp"
	"slices"
	"strings"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// isGrantable reports whether no lock and no older waiter blocks r. If note is set and has no cause yet, the
// first blocker is recorded in its receipt.
//
// A lock that the transaction already holds needs no check: it was granted, and what waits for it waits longer
// whether or not it is granted twice.
func (t *Table) isGrantable(now int64, r, note *Request) bool {
	o := t.owners[r.Txn]
	for i := range r.Needs {
		n := &r.Needs[i]
		if t.isExempt(r, o, n) {
			continue
		}
		by, ok := t.findBlocker(now, r, o, n)
		if ok {
			continue
		}
		if note != nil && note.receipt.Cause == msg.CauseNone {
			by.fillReceipt(&note.receipt, n)
		}
		return false
	}
	return true
}

// findBlocker finds a transaction that blocks one need of r; ok is returned as free if there is none. The
// conditions are those of the package comment, in this order: range locks, locks of the key, older waiters of
// the key, older waiters for ranges.
//
// An Instant request is not blocked by older waiters: it holds nothing afterwards, so it cannot delay them.
func (t *Table) findBlocker(now int64, r *Request, o *owner, n *Need) (by blocker, free bool) {
	if !n.Span.IsPoint() {
		return t.findRangeBlocker(r, o, n)
	}
	// Range locks first: they also lock keys that do not exist, and so have no entry.
	if h := t.findLockedRange(r, o, n); h != nil {
		return h.asBlocker(msg.CauseRange), false
	}
	// upgrade: the transaction holds a lock on this key. If its request queued behind an older writer, and that
	// writer waited for the lock which the transaction holds, both would wait for each other.
	upgrade := false
	if e := t.keys[string(n.Span.Start)]; e != nil {
		for i := range e.holders {
			h := &e.holders[i]
			if h.owner == o {
				upgrade = true
			} else if !t.isCompatible(h.mode, n.Mode) {
				return h.asBlocker(msg.CauseLock), false
			}
		}
		if r.Instant || upgrade {
			return by, true
		}
		if w := t.findPrecedingWaiter(e, r, n); w != nil && !t.canJoin(now, e) {
			return w.asBlocker(n), false
		}
	}
	if r.Instant || upgrade {
		return by, true
	}
	if w := t.findOlderWaiter(t.rangeWaiters, r, n); w != nil {
		return w.asBlocker(n), false
	}
	return by, true
}

// canJoin reports whether the running phase of a key admits requests that are younger than its oldest waiter.
//
//	phase of adds on k:   T1 T2 T3 ... 64 members, or 2 ms      then it drains
//	waiting on k:         W (older than the later members)      W opens the next phase
//
// Without the bounds W would wait as long as adds arrive. Without joining, each add that is younger than W
// would wait for W, and W for the adds before it: a queue of one.
func (t *Table) canJoin(now int64, e *entry) bool {
	return len(e.holders) > 0 && !t.opt.NoPhasing && !t.isPhaseFull(now, e)
}

// findOlderWaiter finds a request in the queue that is older than r and waits for an incompatible mode. A
// queue is ordered by age, so the search ends at the first request that is not older.
//
// It compares all needs of a waiter, not only the one that has put it into this queue: a waiter for a range is in the
// queue of ranges once.
func (t *rules) findOlderWaiter(queue []*Request, r *Request, n *Need) *Request {
	for _, w := range queue {
		if w == r || !t.isOlder(w.age(), r.age()) {
			return nil
		}
		// Two pieces of one attempt do not wait for each other: they would be a deadlock that no wound ends.
		if w.Txn == r.Txn {
			continue
		}
		for i := range w.Needs {
			if !t.isCompatible(w.Needs[i].Mode, n.Mode) && w.Needs[i].Span.Overlaps(n.Span) {
				return w
			}
		}
	}
	return nil
}

// findRangeBlocker is findBlocker for a range. It examines all keys in the range.
//
// Its cost is proportional to the number of locked keys of the shard. Ranges are rare, and locked keys few: an
// index by order would cost every point lock more than it saves.
func (t *Table) findRangeBlocker(r *Request, o *owner, n *Need) (by blocker, free bool) {
	if h := t.findRangeConflict(o, n); h != nil {
		return h.asBlocker(msg.CauseRange), false
	}
	free = true
	choose := func(b blocker, e *entry) {
		// Map order is random. The youngest blocker with its first key is a deterministic choice.
		if free || by.txn.CompareAge(b.txn) < 0 || by.txn == b.txn && e.key < by.key {
			by, free = b, false
			by.key = e.key
		}
	}
	for _, e := range t.keys {
		if !n.Span.Contains([]byte(e.key)) {
			continue
		}
		for i := range e.holders {
			if h := &e.holders[i]; h.owner != o && !t.isCompatible(h.mode, n.Mode) {
				choose(h.asBlocker(msg.CauseLock), e)
			}
		}
		if w := t.findOlderWaiter(e.waiters, r, n); w != nil && !r.Instant {
			choose(w.asBlocker(n), e)
		}
	}
	if w := t.findOlderWaiter(t.rangeWaiters, r, n); free && w != nil && !r.Instant {
		return w.asBlocker(n), false
	}
	return by, free
}

// grant adds the locks of r, and wounds its transaction if an older request waits for one of them. Without
// this wound the older request would wait until its next repeated wound.
func (t *Table) grant(now int64, r *Request) {
	t.counters.Granted++
	if r.Instant || len(r.Needs) == 0 {
		return
	}
	// All needs are granted together: a partial grant could wait for the rest while it blocks others.
	o := t.ownerOf(now, r)
	r.grants, r.newAfter = make([]Grant, 0, len(r.Needs)), t.number
	for _, n := range r.Needs {
		// The mode is held: no lock is added, so that the release of this request does not release the earlier one.
		if t.isCovered(o, n) {
			r.grants = append(r.grants, t.existingGrant(o, n))
			continue
		}
		r.grants = append(r.grants, t.addGrant(now, o, n))
	}
	r.newUpTo = t.number
	if r.Lasting && r.User != 0 {
		t.shares.chargeGranted(t, now, o, r)
	}
	t.woundPasser(o, r)
}

// findPassedWaiter finds an older request that waits for a lock that r was just granted.
func (t *Table) findPassedWaiter(r *Request) *Request {
	for i := range r.Needs {
		n := &r.Needs[i]
		if w := t.findOlderWaiter(t.rangeWaiters, r, n); w != nil {
			return w
		}
		if n.Span.IsPoint() {
			if e := t.keys[string(n.Span.Start)]; e != nil {
				if w := t.findOlderWaiter(e.waiters, r, n); w != nil {
					return w
				}
			}
			continue
		}
		// A range may block any waiting request; there is no index of these by range.
		for _, w := range t.waiters {
			if w.Txn != r.Txn && t.isOlder(w.age(), r.age()) && slices.ContainsFunc(w.Needs, func(m Need) bool {
				return !t.isCompatible(m.Mode, n.Mode) && m.Span.Overlaps(n.Span)
			}) {
				return w
			}
		}
	}
	return nil
}

// addGrant adds a lock of o to the table.
//
// The first lock of a key opens a phase; further ones join it. The phase ends when its last lock is released.
func (t *Table) addGrant(now int64, o *owner, n Need) Grant {
	t.number++
	h := holder{owner: o, mode: n.Mode, methods: n.Methods, short: n.Short, number: t.number}
	if !n.Span.IsPoint() {
		rh := &heldRange{span: n.Span, holder: h, uses: 1}
		t.ranges = append(t.ranges, rh)
		o.ranges = append(o.ranges, rh)
		return Grant{n.Span, n.Mode, t.number}
	}
	e := t.entryOf(n.Span.Start)
	// Several locks of one owner on a key are members of the phase as well; the bound is not exact.
	opens := len(e.holders) == 0
	if opens {
		e.phaseSince, e.phaseCount = now, 0
		t.counters.Phases++
	} else {
		t.counters.Joins++
	}
	// Two kinds of waiters may become grantable by a grant: requests that can join the phase which this grant
	// opens, ahead of an older waiter; and a request of the same transaction, which is an upgrade from now on.
	if len(e.waiters) > 0 && (opens || hasWaiter(e.waiters, o.age())) {
		t.setDirty(e)
	}
	e.phaseCount++
	if !slices.ContainsFunc(e.holders, func(x holder) bool { return x.owner == o }) {
		o.points = append(o.points, e)
	}
	e.holders = append(e.holders, h)
	return Grant{n.Span, n.Mode, t.number}
}

// byAge orders queues: by age, then by arrival.
func byAge(a, b *Request) int {
	if c := a.age().Compare(b.age()); c != 0 {
		return c
	}
	return cmp.Compare(a.sequence, b.sequence)
}

// insertByAge inserts a request into a queue by its age.
func insertByAge(queue []*Request, r *Request) []*Request {
	i, _ := slices.BinarySearchFunc(queue, r, byAge)
	return slices.Insert(queue, i, r)
}

// hasWaiter reports whether the queue contains a request of the transaction with this age.
func hasWaiter(queue []*Request, age kv.Age) bool {
	_, found := slices.BinarySearchFunc(queue, age, func(r *Request, age kv.Age) int { return r.age().Compare(age) })
	return found
}

// removeRequest removes a request from a queue. The request is mostly the first: it was the oldest.
func removeRequest(queue []*Request, r *Request) []*Request {
	if len(queue) > 0 && queue[0] == r {
		queue[0] = nil
		return queue[1:]
	}
	if i := slices.Index(queue, r); i >= 0 {
		return slices.Delete(queue, i, i+1)
	}
	return queue
}

// enqueue adds r to the queues: of its keys, of ranges, and of the table.
func (t *Table) enqueue(r *Request) {
	t.sequence++
	r.sequence, r.waiting = t.sequence, true
	t.waiters = append(t.waiters, r)
	hasRange := false
	for i, n := range r.Needs {
		if n.Span.IsPoint() {
			if r.repeatsKey(i) {
				continue
			}
			// The entry exists while a request waits for it, also without holders.
			e := t.entryOf(n.Span.Start)
			e.waiters = insertByAge(e.waiters, r)
		} else {
			hasRange = true
		}
	}
	if hasRange {
		t.rangeWaiters = insertByAge(t.rangeWaiters, r)
	}
}

// repeatsKey reports whether need i is another mode on the key of the need before it. A request is in the
// queue of a key once.
func (r *Request) repeatsKey(i int) bool {
	return i > 0 && r.Needs[i-1].Span.IsPoint() && string(r.Needs[i-1].Span.Start) == string(r.Needs[i].Span.Start)
}

// unqueue removes r from all queues. Its keys become dirty: r may have blocked younger waiters.
func (t *Table) unqueue(r *Request) {
	r.waiting = false
	t.waiters = removeRequest(t.waiters, r)
	for i, n := range r.Needs {
		if n.Span.IsPoint() {
			if r.repeatsKey(i) {
				continue
			}
			if e := t.keys[string(n.Span.Start)]; e != nil {
				e.waiters = removeRequest(e.waiters, r)
				t.setDirty(e)
			}
		} else {
			// Requests for keys of the range may have waited behind this one.
			t.setSpanDirty(n.Span)
		}
	}
	t.rangeWaiters = removeRequest(t.rangeWaiters, r)
}

// setDirty requests that Next retries the waiters of an entry.
func (t *Table) setDirty(e *entry) {
	if len(t.rangeWaiters) > 0 {
		t.rangesDirty = true
	}
	if !e.dirty {
		e.dirty = true
		t.dirty = append(t.dirty, e)
	}
}

// setSpanDirty requests that Next retries the waiters of all keys in a span, in key order.
func (t *Table) setSpanDirty(span kv.Span) {
	if len(t.rangeWaiters) > 0 {
		t.rangesDirty = true
	}
	var hit []*entry
	for _, e := range t.keys {
		if len(e.waiters) > 0 && span.Contains([]byte(e.key)) {
			hit = append(hit, e)
		}
	}
	slices.SortFunc(hit, func(a, b *entry) int { return strings.Compare(a.key, b.key) })
	for _, e := range hit {
		t.setDirty(e)
	}
}
