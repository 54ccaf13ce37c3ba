package locktable

import (
	"bytes"
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Table is the lock table of a shard. New creates one. It is not safe for concurrent use.
//
// Invariants, which Check verifies as far as they are state:
//  1. No two owners hold incompatible modes on overlapping spans.
//  2. The waiters of an entry are ordered by age.
//  3. An entry without holders and waiters is not in the table.
//  4. Each grant is listed at its owner, and each owner has a grant.
//  5. After Next has returned nil, no waiting request is grantable.
type Table struct {
	index
	// rangeWaiters are the waiting requests with a range among their needs, ordered by age.
	rangeWaiters []*Request
	// rangesDirty requests that Next retries rangeWaiters.
	rangesDirty bool
	// waiters are all waiting requests in order of arrival.
	waiters []*Request
	// dirty are the entries whose waiters Next retries, in the order in which they became dirty.
	dirty  []*entry
	wounds []Wound
	// tickDue is a lower bound of the time at which a waiting request needs a wound or a push.
	tickDue int64
	// number is the number of the last grant. It never repeats, so it identifies one grant.
	number uint64
	// sequence is the number of the last request that was queued.
	sequence uint64
	counters Counters
	shares   shares
	// exhausted are transactions whose locks are to be broken because their user's share is used up.
	// releasedBlockers are owners that released their locks while they were charged; Next ends the charge.
	exhausted        []kv.TxnRef
	releasedBlockers []*owner
	// woundDelay is for how long a prepared holder is not wounded.
	woundDelay time.Duration
}

// New returns an empty table.
func New(opt Options) *Table {
	opt = opt.withDefaults()
	return &Table{
		index:      index{rules: rules{opt}, keys: map[string]*entry{}, owners: map[kv.TxnRef]*owner{}},
		tickDue:    math.MaxInt64,
		woundDelay: opt.WoundDelay,
		shares:     shares{byUser: map[kv.Account]*share{}, burst: opt.holdBurstNanos()},
	}
}

// Counters returns the counters of the table.
func (t *Table) Counters() Counters { return t.counters }

// WaiterCount is the number of waiting requests.
func (t *Table) WaiterCount() int { return len(t.waiters) }

// Waiters returns the first n waiting requests in order of arrival, or all if there are fewer.
func (t *Table) Waiters(n int) []*Request { return t.waiters[:min(n, len(t.waiters))] }

// SetWoundDelay sets for how long a prepared holder is not wounded: at least 1 ns, at most
// Options.WoundDelay.
//
// The shard sets it to what a decision usually takes: longer would let cycles last, shorter would wound for nothing.
func (t *Table) SetWoundDelay(d time.Duration) { t.woundDelay = min(max(d, 1), t.opt.WoundDelay) }

// Acquire requests r.Needs, which Normalize has sorted. If the decision is Waiting, the table owns r until
// Next returns it, or Cancel or Release removes it.
//
// A transaction keeps the begin time of its first lock in this table: its age is then the same for all of its
// requests, even if a later one names another time.
//
// Example. T2 and T3 are younger than T1, and T2 holds k in mode add.
//
//	T3: acquire k add      granted: joins the phase of T2
//	T1: acquire k write    waits, and wounds T2 and T3
//	T4: acquire k add      waits behind T1 if the phase is full, else joins; then T4 is wounded at once
//	release T2, T3         k is dirty: Next grants T1
func (t *Table) Acquire(now int64, r *Request) Decision {
	// A caller may use a Request again; what an earlier Acquire has left in it does not count.
	r.waitingSince, r.receipt, r.grants, r.newUpTo = now, msg.Receipt{}, nil, 0
	if o := t.owners[r.Txn]; o != nil {
		r.Begun = o.begun
	}
	// Only the first lasting lock of a transaction is rejected for the share of its user: a transaction that
	// holds locks may be about to commit and release them.
	if r.Lasting && t.owners[r.Txn] == nil && !r.Admitted && t.Debt(now, r.User) > 0 {
		return ShareExhausted
	}
	if t.isGrantable(now, r, r) {
		t.grant(now, r)
		return Granted
	}
	// The transaction is wounded: if it waited, an older transaction would wait for it, perhaps in a cycle.
	if r.NoWait {
		t.counters.Aborted++
		return Aborted
	}
	if d := t.checkBounds(r); d != Waiting {
		return d
	}
	t.counters.Waits++
	// The request is queued before it wounds: the receipt of a wound describes a request that waits.
	t.enqueue(r)
	t.woundBlockers(now, r)
	return Waiting
}

// checkBounds rejects a request that exceeds the bounds of the queues. The first request of a transaction is
// subject to them; a transaction that holds a lock here has work to lose and is never rejected.
//
// Example, with 4,096 places of which 3,700 are taken: a key can have 396 waiters now. The queue of a hot key with
// 1,000 is full, while a request for another key is queued.
func (t *Table) checkBounds(r *Request) Decision {
	if r.Admitted || t.owners[r.Txn] != nil {
		return Waiting
	}
	// The last places of the table go to keys with few waiters. Otherwise one hot key could fill the table and
	// make the shard unavailable for all other keys.
	most := min(t.opt.MaxKeyWaiters, max(t.opt.MaxWaiters-len(t.waiters), minKeyWaiters))
	for i := range r.Needs {
		if n := &r.Needs[i]; n.Span.IsPoint() && t.KeyWaiterCount(n.Span.Start) >= most {
			r.receipt = msg.Receipt{Key: n.Span.Start}
			t.counters.KeyQueueFull++
			return KeyQueueFull
		}
	}
	if len(t.waiters) >= t.opt.MaxWaiters {
		t.counters.QueueFull++
		return QueueFull
	}
	return Waiting
}

// Next grants and returns a waiting request that has become grantable, or returns nil. The caller executes
// the request, which may release more locks, and calls Next again until it returns nil.
//
// Only dirty entries are examined. An entry becomes dirty when a lock is released, when a waiter leaves that may
// have been in front of others, and when a grant opens a phase or makes a waiting request an upgrade.
func (t *Table) Next(now int64) *Request {
	for _, o := range t.releasedBlockers {
		// A charge ends here, not on release: only Next has the time.
		t.shares.stopCharge(now, o)
	}
	t.releasedBlockers = nil
	for len(t.dirty) > 0 || t.rangesDirty {
		// Ranges first: a range request waits for many keys, and each of them could otherwise be granted to younger
		// requests again and again.
		if t.rangesDirty {
			if r := t.grantFirst(now, t.rangeWaiters); r != nil {
				return r
			}
			t.rangesDirty = false
		}
		// A grant above may have released nothing, so that only ranges were dirty.
		if len(t.dirty) == 0 {
			break
		}
		e := t.dirty[0]
		if r := t.grantFirst(now, e.waiters); r != nil {
			return r
		}
		// None of its waiters is grantable now. A later release or grant makes the entry dirty again.
		e.dirty = false
		t.dirty = t.dirty[1:]
		t.dropIfEmpty(e)
	}
	t.dirty = nil
	return nil
}

// grantFirst grants the first grantable request of a queue, which is the oldest, and removes it from the
// queues.
func (t *Table) grantFirst(now int64, queue []*Request) *Request {
	for _, r := range queue {
		if t.isGrantable(now, r, nil) {
			t.unqueue(r)
			r.receipt.WaitedNanos = now - r.waitingSince
			t.counters.WaitNanos += r.receipt.WaitedNanos
			t.grant(now, r)
			return r
		}
	}
	return nil
}

// Release releases all locks of txn and cancels its waiting requests.
func (t *Table) Release(txn kv.TxnRef) {
	// An attempt may have several requests here: each piece that its gateway has sent is one.
	for i := 0; i < len(t.waiters); {
		if r := t.waiters[i]; r.Txn == txn {
			t.Cancel(r)
			continue
		}
		i++
	}
	t.ReleaseHeld(txn)
}

// ReleaseHeld releases all locks of txn. Its waiting requests remain.
//
// The caller ends each of these with a response of its own: a lock request fails, a prepare request votes no.
func (t *Table) ReleaseHeld(txn kv.TxnRef) {
	o := t.owners[txn]
	if o == nil {
		return
	}
	t.removeOwner(o)
	for _, e := range o.points {
		e.holders = slices.DeleteFunc(e.holders, func(h holder) bool { return h.owner == o })
		t.setDirty(e)
	}
	for _, rh := range o.ranges {
		t.ranges = slices.DeleteFunc(t.ranges, func(x *heldRange) bool { return x == rh })
		t.setSpanDirty(rh.span)
	}
}

// ReleaseNew releases the locks that r was granted and that its transaction did not hold before.
//
// Example. An interactive transaction holds k for a read, and its commit, decided here, locks the range [a, m)
// to count it. A reader registers before the decision: the piece waits without the range lock, and keeps k.
func (t *Table) ReleaseNew(r *Request) {
	// The transaction may have held some of the locks before; earlier requests rely on those.
	if r.newUpTo > r.newAfter {
		t.releaseWhere(r.Txn, func(h holder) bool { return h.number > r.newAfter && h.number <= r.newUpTo })
	}
	r.grants, r.newUpTo = nil, 0
}

// releaseWhere releases the locks of txn that satisfy a condition.
//
// All entries of the owner become dirty at once, and Next grants the oldest waiters of each.
func (t *Table) releaseWhere(txn kv.TxnRef, condition func(holder) bool) {
	o := t.owners[txn]
	if o == nil {
		return
	}
	released := func(h holder) bool { return h.owner == o && condition(h) }
	for _, e := range o.points {
		if slices.ContainsFunc(e.holders, released) {
			e.holders = slices.DeleteFunc(e.holders, released)
			t.setDirty(e)
		}
	}
	// A clone, since o.ranges is reduced below by the same condition.
	for _, rh := range slices.Clone(o.ranges) {
		if released(rh.holder) {
			t.ranges = slices.DeleteFunc(t.ranges, func(x *heldRange) bool { return x == rh })
			t.setSpanDirty(rh.span)
		}
	}
	// The owner keeps a key as long as it holds another mode on it.
	o.points = slices.DeleteFunc(o.points, func(e *entry) bool {
		return !slices.ContainsFunc(e.holders, func(h holder) bool { return h.owner == o })
	})
	o.ranges = slices.DeleteFunc(o.ranges, func(rh *heldRange) bool { return released(rh.holder) })
	if len(o.points)+len(o.ranges) == 0 {
		t.removeOwner(o)
	}
}

// removeOwner removes an owner without locks.
func (t *Table) removeOwner(o *owner) {
	delete(t.owners, o.txn)
	if o.blocksOthers {
		t.releasedBlockers = append(t.releasedBlockers, o)
	}
}

// Cancel removes a waiting request from the queues.
//
// Younger requests that waited behind it may be grantable now, so the caller calls Next afterwards.
func (t *Table) Cancel(r *Request) {
	if r.waiting {
		t.unqueue(r)
	}
}

// Shrink releases a range lock of r except for the part keep, which is at one of its ends: a scan that
// stopped at its limit releases the rest of its range.
//
// A lock that was granted to several requests of the transaction does not change: another request may have
// read the rest. If another lock of the transaction already covers keep, r uses that one. Otherwise a
// consumer that scans the same part repeatedly would add one range lock per scan, and each request searches
// all of them.
func (t *Table) Shrink(r *Request, span, keep kv.Span) {
	o := t.owners[r.Txn]
	if o == nil {
		return
	}
	for i := range r.grants {
		g := &r.grants[i]
		at := slices.IndexFunc(o.ranges, func(rh *heldRange) bool {
			return rh.number == g.Number && rh.uses == 1 && isSameSpan(rh.span, span)
		})
		if at < 0 {
			continue
		}
		rh := o.ranges[at]
		// Requests that wait for a key in the released part are retried.
		if bytes.Equal(keep.Start, span.Start) {
			t.setSpanDirty(kv.Range(keep.End, span.End))
		} else {
			t.setSpanDirty(kv.Range(span.Start, keep.Start))
		}
		rh.span = keep
		if held := o.findEquivalent(rh); held != nil {
			held.uses++
			held.methods |= rh.methods
			*g = Grant{held.span, held.mode, held.number}
			o.ranges = slices.Delete(o.ranges, at, at+1)
			t.ranges = slices.DeleteFunc(t.ranges, func(x *heldRange) bool { return x == rh })
		}
	}
}

// SetPrepared records that txn has prepared here. Its later wounds are sent to its last agent, after the
// wound delay; its locks are not charged to its user, since only the last agent can end them.
//
// A wound sent immediately would abort most transactions for nothing: the decision is usually in flight, and
// ends the wait within a message delay.
func (t *Table) SetPrepared(now int64, txn kv.TxnRef) {
	if o := t.owners[txn]; o != nil {
		t.shares.stopCharge(now, o)
		o.prepared, o.preparedAt = true, now
	}
}

// Restore adds a lock of a prepared transaction that was recovered from the log, without a check. begun is
// the begin time of the transaction (Request.Begun).
//
// The locks of prepared transactions were compatible when they were granted, and those released since have no
// rows. So no check can fail; a check that depended on the order of recovery could.
func (t *Table) Restore(txn kv.TxnRef, begun int64, n Need) {
	// The time of a restored lock is 0: its owner is prepared, so neither the wound delay nor the share counts.
	o := t.ownerOf(0, &Request{Txn: txn, Begun: begun})
	t.addGrant(0, o, n)
	o.prepared = true
}

// TakeWounds returns the wounds that have become due since the last call.
func (t *Table) TakeWounds() []Wound {
	m := t.wounds
	t.wounds = nil
	return m
}
