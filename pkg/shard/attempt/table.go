package attempt

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Table is the table of the attempts that hold locks, wait or are prepared on a shard.
type Table struct {
	byRef map[kv.TxnRef]*Attempt
	// count is the number of attempts of a transaction in byRef. prepared is the one attempt of a
	// transaction that has voted yes and is undecided.
	count    map[kv.TxnID]int
	prepared map[kv.TxnID]kv.TxnRef
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{byRef: map[kv.TxnRef]*Attempt{}, count: map[kv.TxnID]int{}, prepared: map[kv.TxnID]kv.TxnRef{}}
}

// Get returns an attempt, nil if it is not in the table.
func (t *Table) Get(txn kv.TxnRef) *Attempt { return t.byRef[txn] }

// Len returns the number of attempts.
func (t *Table) Len() int { return len(t.byRef) }

// Touch returns the entry of an attempt, creating it if needed, and records that its gateway is
// alive: a pending push is answered by that.
func (t *Table) Touch(now int64, txn kv.TxnRef, gateway kv.NodeID) *Attempt {
	a := t.byRef[txn]
	if a == nil {
		a = &Attempt{Txn: txn, Gateway: gateway}
		t.byRef[txn] = a
		t.count[txn.TxnID]++
	}
	a.LastContact, a.PushedAt = now, 0
	return a
}

// Remove deletes an attempt. It does nothing if the table has no entry, or another one, for the
// attempt.
func (t *Table) Remove(a *Attempt) {
	if t.byRef[a.Txn] != a {
		return
	}
	delete(t.byRef, a.Txn)
	t.count[a.Txn.TxnID]--
	if t.count[a.Txn.TxnID] == 0 {
		delete(t.count, a.Txn.TxnID)
	}
}

// Sorted returns all attempts in the order of age, so that iteration is deterministic.
func (t *Table) Sorted() []*Attempt {
	out := make([]*Attempt, 0, len(t.byRef))
	for _, a := range t.byRef {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *Attempt) int { return a.Txn.CompareAge(b.Txn) })
	return out
}

// HasLockHolders reports whether an attempt has been granted locks and is not prepared.
func (t *Table) HasLockHolders() bool {
	for _, a := range t.byRef {
		if a.LockResponse != nil {
			return true
		}
	}
	return false
}

// HasOtherPrepared reports whether another attempt of the transaction is prepared.
func (t *Table) HasOtherPrepared(txn kv.TxnRef) bool {
	other, ok := t.prepared[txn.TxnID]
	return ok && other != txn
}

// SetPrepared records that an attempt has voted yes, and ends its lock requests.
func (t *Table) SetPrepared(a *Attempt, pr *Prepared) {
	a.Preparing, a.Prepared, a.LockTasks, a.LockResponse = nil, pr, nil, nil
	t.prepared[a.Txn.TxnID] = a.Txn
}

// ClearPrepared records that an attempt is decided.
func (t *Table) ClearPrepared(a *Attempt) {
	a.Prepared = nil
	if t.prepared[a.Txn.TxnID] == a.Txn {
		delete(t.prepared, a.Txn.TxnID)
	}
}

// Others returns the other attempts of a transaction in the order of age. The count avoids sorting
// the table in the usual case that there are none.
func (t *Table) Others(txn kv.TxnRef) (out []*Attempt) {
	n := t.count[txn.TxnID]
	if t.byRef[txn] != nil {
		n--
	}
	if n == 0 {
		return nil
	}
	for _, a := range t.Sorted() {
		if a.Txn.TxnID == txn.TxnID && a.Txn != txn {
			out = append(out, a)
		}
	}
	return out
}
