package flow

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// mostReturning bounds the interactive transactions that are remembered because their client may
// begin the next attempt. Somewhat arbitrary: half of the places of a machine, twice.
const maxAbortedTxns = 2048

// returning remembers the interactive transactions that were aborted here, by their last attempt. A
// further attempt of one that is not remembered is admitted as a new transaction is: anyone can
// send a number.
type abortedTxns struct {
	last  map[kv.TxnID]abortedTxn
	order []kv.TxnID
}

// aborted is a transaction's last attempt, and when the transaction counts as begun (Call.Begun).
// unproven: it failed, and what it had read without locks could not be validated.
type abortedTxn struct {
	attempt  uint32
	unvalidatable bool
	beginTime    int64
}

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
	r.last[ref.TxnID] = abortedTxn{attempt: ref.Attempt, unvalidatable: updates && u.unvalidatable, beginTime: f.Base().Begun}
	r.order = append(r.order, ref.TxnID)
}

// follows reports whether an attempt follows one that was aborted here.
func (r *abortedTxns) isNextAttempt(ref kv.TxnRef) bool {
	last, known := r.last[ref.TxnID]
	return known && ref.Attempt > last.attempt
}

func (r *abortedTxns) remove(id kv.TxnID) { delete(r.last, id) }
