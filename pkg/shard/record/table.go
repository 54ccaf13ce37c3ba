package record

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/mutant"
)

// Table has the unfinished records of a shard.
type Table struct {
	// byID has the newest record of each transaction; the others follow by Record.previous. Nearly
	// every transaction has one.
	byID    map[kv.TxnID]*Record
	mutants mutant.Set
	count   int
}

// NewTable returns an empty table, whose records break the rules of a set.
func NewTable(m mutant.Set) *Table {
	return &Table{byID: map[kv.TxnID]*Record{}, mutants: m}
}

// Get returns the record of an attempt, nil if there is none.
func (t *Table) Get(txn kv.TxnRef) *Record {
	r := t.byID[txn.TxnID]
	for r != nil && r.Txn != txn {
		r = r.previous
	}
	return r
}

// Of returns a copy of the list of a transaction's records, oldest first.
func (t *Table) Of(id kv.TxnID) (out []*Record) {
	for r := t.byID[id]; r != nil; r = r.previous {
		out = append(out, r)
	}
	slices.Reverse(out)
	return out
}

// Add creates a record.
func (t *Table) Add(now int64, txn kv.TxnRef, commit kv.CommitID, s State) *Record {
	r := &Record{Txn: txn, CommitID: commit, State: s, CreatedAt: now}
	t.Insert(r)
	return r
}

// Insert adds a record that the caller has allocated. The attempt must not have one.
func (t *Table) Insert(r *Record) {
	r.previous, r.mutants = t.byID[r.Txn.TxnID], t.mutants
	t.byID[r.Txn.TxnID] = r
	t.count++
}

// Remove deletes a record. It does nothing if that has been deleted already.
func (t *Table) Remove(r *Record) {
	id := r.Txn.TxnID
	switch first := t.byID[id]; {
	case first == r && r.previous == nil:
		delete(t.byID, id)
	case first == r:
		t.byID[id] = r.previous
	default:
		for first != nil && first.previous != r {
			first = first.previous
		}
		if first == nil {
			return
		}
		first.previous = r.previous
	}
	r.previous = nil
	t.count--
}

// Len returns the number of records.
func (t *Table) Len() int { return t.count }

// Undecided returns the number of records that are not committed.
func (t *Table) Undecided() (n int) {
	for _, r := range t.byID {
		for ; r != nil; r = r.previous {
			if r.State != Committed {
				n++
			}
		}
	}
	return n
}

// All returns all records in the order of age, so that iteration is deterministic.
func (t *Table) All() []*Record {
	out := make([]*Record, 0, t.count)
	for _, r := range t.byID {
		for ; r != nil; r = r.previous {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *Record) int { return a.Txn.CompareAge(b.Txn) })
	return out
}

// Check verifies the invariants, for tests: at most one attempt of an id is committed, a committed
// record has an unacknowledged participant, a pending one has its request, and none is aborted.
func (t *Table) Check() error {
	committed := map[kv.TxnID]kv.TxnRef{}
	for _, r := range t.All() {
		switch r.State {
		case Committed:
			if o, ok := committed[r.Txn.TxnID]; ok {
				return fmt.Errorf("record: %v and %v are both committed", o, r.Txn)
			}
			committed[r.Txn.TxnID] = r.Txn
			if len(r.Unacknowledged) == 0 {
				return fmt.Errorf("record: %v is committed, acknowledged by all, and kept", r.Txn)
			}
		case Pending, Ready:
			if r.Request == nil {
				return fmt.Errorf("record: %v is %v without a piece", r.Txn, r.State)
			}
		case Aborted:
			return fmt.Errorf("record: %v is aborted and not in the memory", r.Txn)
		}
	}
	return nil
}
