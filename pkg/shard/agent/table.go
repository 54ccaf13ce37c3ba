package agent

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// attempts is a table of those that hold, wait or have prepared on a shard.
type attempts struct {
	of map[kv.TxnRef]*attempt
	// count is by transaction, and promised is the attempt that has prepared.
	count    map[kv.TxnID]int
	promised map[kv.TxnID]kv.TxnRef
}

func newAttempts() attempts {
	return attempts{of: map[kv.TxnRef]*attempt{}, count: map[kv.TxnID]int{}, promised: map[kv.TxnID]kv.TxnRef{}}
}

// touch finds an attempt, or makes it, when its gateway was heard about it.
func (t *attempts) touch(now int64, txn kv.TxnRef, gateway kv.NodeID) *attempt {
	a := t.of[txn]
	if a == nil {
		a = &attempt{txn: txn, gateway: gateway}
		t.of[txn] = a
		t.count[txn.TxnID]++
	}
	a.touched, a.pushed = now, 0
	return a
}

// remove takes an attempt out, if it is still there.
func (t *attempts) remove(a *attempt) {
	if t.of[a.txn] != a {
		return
	}
	delete(t.of, a.txn)
	t.count[a.txn.TxnID]--
	if t.count[a.txn.TxnID] == 0 {
		delete(t.count, a.txn.TxnID)
	}
}

// sorted are all, by age.
func (t *attempts) sorted() []*attempt {
	out := make([]*attempt, 0, len(t.of))
	for _, a := range t.of {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *attempt) int { return a.txn.CompareAge(b.txn) })
	return out
}

// rivalOf reports whether another attempt of the transaction has prepared.
func (t *attempts) rivalOf(txn kv.TxnRef) bool {
	other, ok := t.promised[txn.TxnID]
	return ok && other != txn
}

// unpromise ends an attempt's promise.
func (t *attempts) unpromise(txn kv.TxnRef) {
	if t.promised[txn.TxnID] == txn {
		delete(t.promised, txn.TxnID)
	}
}

// others lists the other attempts of a transaction, by age.
func (t *attempts) others(txn kv.TxnRef) (out []*attempt) {
	n := t.count[txn.TxnID]
	if t.of[txn] != nil {
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

// idle reports whether an attempt has nothing here any more.
func (a *attempt) idle() bool {
	return len(a.reads) == 0 && len(a.replies) == 0 && a.preparing == nil && a.prepared == nil
}

// isPast reports whether a later request than this one has been answered.
func (a *attempt) isPast(number uint32) bool {
	for n := range a.replies {
		if number < n {
			return true
		}
	}
	return false
}

// isForOther reports whether an attempt prepares, or has prepared, another commit than this one.
func (a *attempt) isForOther(commit kv.CommitID) bool {
	switch {
	case a == nil:
		return false
	case a.prepared != nil:
		return a.prepared.row.CommitID != commit
	}
	return a.preparing != nil && a.preparing.Owner.(*msg.Prepare).CommitID != commit
}
