package locktable

import (
	"math"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// woundBlockers wounds the younger holders that block r, except for those within their wound delay, and sets
// the time of the next wound. mayWound (rules.go) decides between two transactions.
//
// An earlier attempt of the same transaction is wounded whatever its age: the client has abandoned it.
// Example: the gateway of the first attempt crashes and leaves a lock behind. The client retries at a gateway
// whose clock is ahead, so the second attempt counts as younger. It must not wait for the lock of the first.
func (t *Table) woundBlockers(now int64, r *Request) {
	r.nextWound = now + int64(t.opt.WoundInterval)
	blockers := t.conflictingOwners(r)
	// The first call: the request starts to wait.
	if r.nextPush == 0 {
		r.nextPush = now + int64(t.opt.PushInterval)
		r.receipt.Others = otherCount(&r.receipt, blockers)
	}
	// The charge and the break of an exhausted share do not depend on age: an older idle transaction blocks
	// other users just as well.
	for _, o := range blockers {
		t.shares.startCharge(now, o, r)
		if t.shares.isExhausted(now, o, r) {
			t.shares.stopCharge(now, o)
			t.exhausted = append(t.exhausted, o.txn)
		}
		delayed := o.preparedAt + int64(t.woundDelay)
		switch {
		case !t.mayWound(now, r, o):
		case o.prepared && now < delayed:
			r.nextWound = min(r.nextWound, delayed)
		default:
			t.woundOwner(o, r)
		}
	}
	t.tickDue = min(t.tickDue, r.nextWound, r.nextPush)
}

// Tick repeats the wounds that are due. It returns the unprepared holders that have blocked a request for
// longer than the push interval, oldest first, each once: the shard sends a push to their gateways. Prepared
// holders are not pushed, since only their last agents can end them.
//
//	request waits   wound   wound   wound  ...  push (and each interval after)
//	├───────────────┼───────┼───────┼──────────┼──────▶
//	0               50 ms   100 ms  150 ms     1 s
func (t *Table) Tick(now int64) (push []kv.TxnRef) {
	if now < t.tickDue {
		return nil
	}
	// The next due time is computed after the wounds below have set theirs.
	defer func() {
		t.tickDue = math.MaxInt64
		for _, r := range t.waiters {
			t.tickDue = min(t.tickDue, r.nextWound, r.nextPush)
		}
	}()
	for _, r := range t.waiters {
		if now >= r.nextWound {
			t.woundBlockers(now, r)
		}
		if now < r.nextPush {
			continue
		}
		r.nextPush = now + int64(t.opt.PushInterval)
		for _, o := range t.conflictingOwners(r) {
			// Several requests may wait for the same holder.
			if !o.prepared && !slices.Contains(push, o.txn) {
				push = append(push, o.txn)
			}
		}
	}
	slices.SortFunc(push, kv.TxnRef.CompareAge)
	return push
}

// NextTick returns when Tick may have something to do, math.MaxInt64 if no request waits. It may be too
// early, if requests have left the queues since the last Tick, but never too late.
func (t *Table) NextTick() int64 {
	if len(t.waiters) == 0 {
		return math.MaxInt64
	}
	return t.tickDue
}

// AbortWaiter cancels a waiting request whose transaction has been wounded. It reports whether r was waiting;
// if so, the receipt of r contains the blocker at this time.
//
// Example. T2 holds a, for which older T1 waits, and waits for b itself. The wound arrives: T2 gives up its wait
// and releases a. If b was granted in the meantime, T2 does not wait, and continues in spite of the wound.
func (t *Table) AbortWaiter(now int64, r *Request) bool {
	if !r.waiting {
		return false
	}
	t.counters.Aborted++
	// The blocker is looked up now: the one that was recorded when r arrived may have released its locks.
	r.receipt = t.Receipt(now, r)
	r.receipt.Open = false
	t.Cancel(r)
	return true
}

// EachWaiter visits the waiting requests in order of arrival.
func (t *Table) EachWaiter(visit func(*Request)) {
	for _, r := range t.waiters {
		visit(r)
	}
}
