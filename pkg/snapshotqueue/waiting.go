package snapshotqueue

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// VisitWaiters visits at most n held updates, the oldest ones, and at most n reads that wait for updates to be
// decided, the earliest ones.
//
// It is for operators, who see them in the wait-for graph beside the waits for locks.
func (q *Queue) VisitWaiters(now int64, n int, visit func(kv.TxnRef, msg.Receipt)) {
	if q.held > 0 {
		held := 0
		for _, u := range q.sortedUpdates() {
			if held == n {
				break
			}
			if r := q.Receipt(now, u.txn); r.Open {
				held++
				visit(u.txn, r)
			}
		}
	}
	for _, r := range q.waitingReads[:min(n, len(q.waitingReads))] {
		if receipt := r.Receipt(now); receipt.Open {
			visit(r.Reader, receipt)
		}
	}
}
