package locktable

import (
	"bytes"
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Table is a shard's lock table. The zero Table is not usable; see New.
//
// Invariants (Check tells which is broken):
//  1. no two owners hold incompatible modes on overlapping spans;
//  2. the waiters of an entry are in the order of age;
//  3. an entry without holders and waiters is not in the table;
//  4. every grant is listed with its owner, and every owner has grants;
//  5. after Next has returned nil, no waiting request is grantable.
type Table struct {
	opt    Options
	keys   map[string]*entry
	ranges []*rangeHold
	// rangeWaiters are the requests with a range among their needs, by age.
	rangeWaiters []*Request
	rangesDirty  bool
	owners       map[kv.TxnRef]*owner
	// waiters are all waiting requests in the order of arrival.
	waiters []*Request
	dirty   []*entry
	marks   []Mark
	// due is when some waiting request is to be looked at, or earlier.
	due      int64
	number   uint64
	sequence uint64
	counters Counters
	shares   shares
	// overdrawn are transactions whose locks are to be broken; released are owners that are gone, and
	// were wanted.
	overdrawn []kv.TxnRef
	released  []*owner
	// grace is how long a prepared holder is left alone.
	grace time.Duration
}

// New makes an empty table.
func New(opt Options) *Table {
	opt = opt.withDefaults()
	return &Table{opt: opt, keys: map[string]*entry{}, owners: map[kv.TxnRef]*owner{}, due: math.MaxInt64, grace: opt.Grace,
		shares: shares{of: map[kv.Account]*share{}, burst: int64(opt.HoldBurst), uncounted: opt.Mutants.Has(mutant.HoldsUncounted)}}
}

// Counters tells what the table did so far.
func (t *Table) Counters() Counters { return t.counters }

// Waiting is the number of waiting requests.
func (t *Table) Waiting() int { return len(t.waiters) }

// WaitingFor is the number of waiting requests that need a key, ranges apart.
func (t *Table) WaitingFor(key []byte) int {
	if e := t.keys[string(key)]; e != nil {
		return len(e.waiters)
	}
	return 0
}

// Waiters lists at most n of them, the first that came.
func (t *Table) Waiters(n int) []*Request { return t.waiters[:min(n, len(t.waiters))] }

// Held is the number of transactions that hold a lock.
func (t *Table) Held() int { return len(t.owners) }

// SetGrace has prepared holders left alone for so long from now on, and at least
// for a moment; never for longer than Options.Grace.
func (t *Table) SetGrace(d time.Duration) { t.grace = min(max(d, 1), t.opt.Grace) }

// Acquire asks for r.Needs, which Normalize has sorted. A request that is
// Waiting belongs to the table until Next returns it or CancelRequest or Release
// removes it.
func (t *Table) Acquire(now int64, r *Request) Decision {
	r.since, r.wait, r.grants, r.upTo = now, msg.Receipt{}, nil, 0
	if o := t.owners[r.Txn]; o != nil {
		r.Begun = o.begun
	}
	if r.Lasting && t.owners[r.Txn] == nil && !r.Admitted && t.Debt(now, r.User) > 0 {
		return Overdrawn
	}
	if t.grantable(now, r, r) {
		t.grant(now, r)
		return Granted
	}
	if r.NoWait {
		t.counters.Died++
		return Died
	}
	if d := t.bounded(r); d != Waiting {
		return d
	}
	t.counters.Waits++
	t.enqueue(r)
	t.markBlockers(now, r)
	return Waiting
}

// bounded refuses a request that is too much: the first of a transaction, which
// has nothing to lose yet.
func (t *Table) bounded(r *Request) Decision {
	if r.Admitted || t.owners[r.Txn] != nil {
		return Waiting
	}
	most := min(t.opt.MaxKeyWaiters, max(t.opt.MaxWaiters-len(t.waiters), fewWaiters))
	for i := range r.Needs {
		if n := &r.Needs[i]; n.Span.IsPoint() && t.WaitingFor(n.Span.Start) >= most {
			r.wait = msg.Receipt{Key: n.Span.Start}
			t.counters.Crowded++
			return Crowded
		}
	}
	if len(t.waiters) >= t.opt.MaxWaiters {
		t.counters.Full++
		return Full
	}
	return Waiting
}

// Next returns a waiting request that has become grantable and is granted
// now, nil when there is none. The caller runs it, which may release more,
// and calls Next again.
func (t *Table) Next(now int64) *Request {
	for _, o := range t.released {
		t.shares.unwant(now, o)
	}
	t.released = nil
	for len(t.dirty) > 0 || t.rangesDirty {
		if t.rangesDirty {
			if r := t.nextOf(now, t.rangeWaiters); r != nil {
				return r
			}
			t.rangesDirty = false
		}
		if len(t.dirty) == 0 {
			break
		}
		e := t.dirty[0]
		if r := t.nextOf(now, e.waiters); r != nil {
			return r
		}
		e.dirty = false
		t.dirty = t.dirty[1:]
		t.dropIfEmpty(e)
	}
	t.dirty = nil
	return nil
}

// nextOf grants the oldest grantable request of a queue. It stops early
// behind a waiter that excludes everything after it.
func (t *Table) nextOf(now int64, queue []*Request) *Request {
	for _, r := range queue {
		if t.grantable(now, r, nil) {
			t.unqueue(r)
			r.wait.WaitedNanos = now - r.since
			t.counters.WaitNanos += r.wait.WaitedNanos
			t.grant(now, r)
			return r
		}
	}
	return nil
}

// Release gives up everything that txn holds and waits for.
func (t *Table) Release(txn kv.TxnRef) {
	for i := 0; i < len(t.waiters); {
		if r := t.waiters[i]; r.Txn == txn {
			t.Cancel(r)
			continue
		}
		i++
	}
	t.ReleaseHeld(txn)
}

// ReleaseHeld gives up what txn holds; its waiting requests stay.
func (t *Table) ReleaseHeld(txn kv.TxnRef) {
	o := t.owners[txn]
	if o == nil {
		return
	}
	t.disown(o)
	for _, e := range o.points {
		e.holders = slices.DeleteFunc(e.holders, func(h holder) bool { return h.owner == o })
		t.touch(e)
	}
	for _, rh := range o.ranges {
		t.ranges = slices.DeleteFunc(t.ranges, func(x *rangeHold) bool { return x == rh })
		t.touchSpan(rh.span)
	}
}

// ReleaseReads gives up the read locks of txn and keeps the others.
func (t *Table) ReleaseReads(txn kv.TxnRef) {
	t.releaseIf(txn, func(h holder) bool { return h.mode == adt.ModeRead })
}

// GiveBack gives up what r was granted that its transaction had not held before.
func (t *Table) GiveBack(r *Request) {
	if r.upTo > r.after {
		t.releaseIf(r.Txn, func(h holder) bool { return h.number > r.after && h.number <= r.upTo })
	}
	r.grants, r.upTo = nil, 0
}

func (t *Table) releaseIf(txn kv.TxnRef, is func(holder) bool) {
	o := t.owners[txn]
	if o == nil {
		return
	}
	goes := func(h holder) bool { return h.owner == o && is(h) }
	for _, e := range o.points {
		if slices.ContainsFunc(e.holders, goes) {
			e.holders = slices.DeleteFunc(e.holders, goes)
			t.touch(e)
		}
	}
	for _, rh := range slices.Clone(o.ranges) {
		if goes(rh.holder) {
			t.ranges = slices.DeleteFunc(t.ranges, func(x *rangeHold) bool { return x == rh })
			t.touchSpan(rh.span)
		}
	}
	o.points = slices.DeleteFunc(o.points, func(e *entry) bool {
		return !slices.ContainsFunc(e.holders, func(h holder) bool { return h.owner == o })
	})
	o.ranges = slices.DeleteFunc(o.ranges, func(rh *rangeHold) bool { return goes(rh.holder) })
	if len(o.points)+len(o.ranges) == 0 {
		t.disown(o)
	}
}

// disown forgets an owner that holds nothing any more.
func (t *Table) disown(o *owner) {
	delete(t.owners, o.txn)
	if o.wanted {
		t.released = append(t.released, o)
	}
}

// UserOf is whose transaction holds a lock, 0 if that is not known, or none does.
func (t *Table) UserOf(txn kv.TxnRef) kv.Account {
	if o := t.owners[txn]; o != nil {
		return o.user
	}
	return 0
}

// Cancel takes a waiting request out of the queue.
func (t *Table) Cancel(r *Request) {
	if r.waiting {
		t.unqueue(r)
	}
}

// Holds reports whether txn still holds exactly this grant.
func (t *Table) Holds(txn kv.TxnRef, g Grant) bool {
	o := t.owners[txn]
	if o == nil {
		return false
	}
	byHolding := t.opt.Mutants.Has(mutant.GrantByHolding)
	match := func(h holder) bool {
		return h.owner == o && (byHolding || h.number == g.Number && adt.Covers(h.mode, g.Mode))
	}
	if g.Span.IsPoint() {
		e := t.keys[string(g.Span.Start)]
		return e != nil && slices.ContainsFunc(e.holders, match)
	}
	return slices.ContainsFunc(o.ranges, func(rh *rangeHold) bool { return match(rh.holder) })
}

// Covered reports whether txn holds the mode, or a stronger one, on span.
func (t *Table) Covered(txn kv.TxnRef, n Need) bool {
	o := t.owners[txn]
	return o != nil && t.covered(o, n)
}

// Shrink releases a range lock that r was granted except for a part that it keeps, at the beginning
// or at the end. A lock that another request of the transaction was granted too is not changed: that
// request may have read the rest. If another lock of the transaction has the kept part already, as
// when the same part is scanned again, r uses that one.
func (t *Table) Shrink(r *Request, span, keep kv.Span) {
	o := t.owners[r.Txn]
	if o == nil {
		return
	}
	for i := range r.grants {
		g := &r.grants[i]
		at := slices.IndexFunc(o.ranges, func(rh *rangeHold) bool { return rh.number == g.Number && rh.uses == 1 && sameRange(rh.span, span) })
		if at < 0 {
			continue
		}
		rh := o.ranges[at]
		if bytes.Equal(keep.Start, span.Start) {
			t.touchSpan(kv.Range(keep.End, span.End))
		} else {
			t.touchSpan(kv.Range(span.Start, keep.Start))
		}
		rh.span = keep
		if held := o.instead(rh); held != nil {
			held.uses++
			held.methods |= rh.methods
			*g = Grant{held.span, held.mode, held.number}
			o.ranges = slices.Delete(o.ranges, at, at+1)
			t.ranges = slices.DeleteFunc(t.ranges, func(x *rangeHold) bool { return x == rh })
		}
	}
}

// instead finds another lock of the owner that makes one on the same range needless.
func (o *owner) instead(rh *rangeHold) *rangeHold {
	for _, x := range o.ranges {
		if x != rh && sameRange(x.span, rh.span) && adt.Covers(x.mode, rh.mode) {
			return x
		}
	}
	return nil
}

// SetPrepared says that txn has prepared here: from now on marks are for its
// last agent, after the grace time.
func (t *Table) SetPrepared(now int64, txn kv.TxnRef) {
	if o := t.owners[txn]; o != nil {
		t.shares.unwant(now, o)
		o.prepared, o.preparedAt = true, now
	}
}

// Force gives txn, which counts as begun at a time (Request.Begun), a lock without asking: for
// locks recovered from the log.
func (t *Table) Force(txn kv.TxnRef, begun int64, n Need) {
	o := t.ownerOf(0, &Request{Txn: txn, Begun: begun})
	t.addGrant(0, o, n)
	o.prepared = true
}

// Marks drains the marks that have become due.
func (t *Table) Marks() []Mark {
	m := t.marks
	t.marks = nil
	return m
}
