package agent

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// attempts is the table of the attempts that hold locks, wait or are prepared on a shard.
type attempts struct {
	byRef map[kv.TxnRef]*attempt
	// count is the number of attempts of a transaction in byRef. prepared is the one attempt of a
	// transaction that has voted yes and is undecided.
	count    map[kv.TxnID]int
	prepared map[kv.TxnID]kv.TxnRef
}

func newAttempts() attempts {
	return attempts{byRef: map[kv.TxnRef]*attempt{}, count: map[kv.TxnID]int{}, prepared: map[kv.TxnID]kv.TxnRef{}}
}

// touch returns the entry of an attempt, creating it if needed, and records that its gateway is
// alive: a pending push is answered by that.
func (t *attempts) touch(now int64, txn kv.TxnRef, gateway kv.NodeID) *attempt {
	a := t.byRef[txn]
	if a == nil {
		a = &attempt{txn: txn, gateway: gateway}
		t.byRef[txn] = a
		t.count[txn.TxnID]++
	}
	a.lastContact, a.pushedAt = now, 0
	return a
}

// remove deletes an attempt. It does nothing if the table has no entry, or another one, for the
// attempt.
func (t *attempts) remove(a *attempt) {
	if t.byRef[a.txn] != a {
		return
	}
	delete(t.byRef, a.txn)
	t.count[a.txn.TxnID]--
	if t.count[a.txn.TxnID] == 0 {
		delete(t.count, a.txn.TxnID)
	}
}

// sorted returns all attempts in the order of age, so that iteration is deterministic.
func (t *attempts) sorted() []*attempt {
	out := make([]*attempt, 0, len(t.byRef))
	for _, a := range t.byRef {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *attempt) int { return a.txn.CompareAge(b.txn) })
	return out
}

// hasOtherPrepared reports whether another attempt of the transaction is prepared.
func (t *attempts) hasOtherPrepared(txn kv.TxnRef) bool {
	other, ok := t.prepared[txn.TxnID]
	return ok && other != txn
}

// removePrepared records that an attempt is not prepared any more.
func (t *attempts) removePrepared(txn kv.TxnRef) {
	if t.prepared[txn.TxnID] == txn {
		delete(t.prepared, txn.TxnID)
	}
}

// others returns the other attempts of a transaction in the order of age. The count avoids sorting
// the table in the usual case that there are none.
func (t *attempts) others(txn kv.TxnRef) (out []*attempt) {
	n := t.count[txn.TxnID]
	if t.byRef[txn] != nil {
		n--
	}
	if n == 0 {
		return nil
	}
	for _, a := range t.sorted() {
		if a.txn.TxnID == txn.TxnID && a.txn != txn {
			out = append(out, a)
		}
	}
	return out
}

// isIdle reports whether an attempt neither holds, waits for nor has prepared anything here.
func (a *attempt) isIdle() bool {
	return len(a.lockTasks) == 0 && len(a.lockResponses) == 0 && a.preparing == nil && a.prepared == nil
}

// hasLaterResponse reports whether a lock request with a higher number has been answered. The
// request is then a late copy: the gateway sends a request only after the response to the previous
// one.
func (a *attempt) hasLaterResponse(number uint32) bool {
	for n := range a.lockResponses {
		if number < n {
			return true
		}
	}
	return false
}

// isOtherCommit reports whether the attempt, which may be nil, is prepared or preparing for another
// commit than this one.
func (a *attempt) isOtherCommit(commit kv.CommitID) bool {
	switch {
	case a == nil:
		return false
	case a.prepared != nil:
		return a.prepared.row.CommitID != commit
	}
	return a.preparing != nil && a.preparing.Owner.(*msg.Prepare).CommitID != commit
}
