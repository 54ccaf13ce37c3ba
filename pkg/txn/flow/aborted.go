package flow

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// maxAbortedTxns bounds the aborted interactive transactions that are remembered. Somewhat
// arbitrary: twice the slots of a machine for interactive transactions.
const maxAbortedTxns = 2048

// abortedTxns remembers the last attempt of the interactive transactions that were aborted here,
// since their clients may begin the next one. An attempt is admitted as a retry only if its
// predecessor is remembered: the number of an attempt proves nothing, as any client can send one.
//
// Sequence: A is wounded while all slots for interactive transactions are used. Its slot goes to B. A's
// client begins attempt 2, which is found here: it gets a slot beyond the share, and keeps its age.
// Attempt 2 of an unknown id is admitted like a new transaction, and its age is that of its arrival.
type abortedTxns struct {
	last  map[kv.TxnID]abortedTxn
	order []kv.TxnID
}

// abortedTxn is the last attempt of a transaction, and its begin time. unvalidatable: the attempt
// failed, and its optimistic reads could not be validated.
type abortedTxn struct {
	attempt       uint32
	unvalidatable bool
	beginTime     int64
}

// add remembers the attempt of a flow. If there are too many, the older half is forgotten.
func (r *abortedTxns) add(f Flow) {
	ref := f.Base().Ref
	u, updates := f.(*Update)
	if r.last == nil {
		r.last = map[kv.TxnID]abortedTxn{}
	}
	if len(r.order) >= maxAbortedTxns {
		for _, id := range r.order[:maxAbortedTxns/2] {
			delete(r.last, id)
		}
		r.order = slices.Clone(r.order[maxAbortedTxns/2:])
	}
	r.last[ref.TxnID] = abortedTxn{
		attempt:       ref.Attempt,
		unvalidatable: updates && u.unvalidatable,
		beginTime:     f.Base().Begun,
	}
	r.order = append(r.order, ref.TxnID)
}

// isNextAttempt reports whether an attempt follows one that was aborted here.
func (r *abortedTxns) isNextAttempt(ref kv.TxnRef) bool {
	last, known := r.last[ref.TxnID]
	return known && ref.Attempt > last.attempt
}

func (r *abortedTxns) remove(id kv.TxnID) { delete(r.last, id) }
