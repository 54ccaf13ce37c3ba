package snapshotqueue

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Waiter is an update that is held, or a reader that waits for updates to be decided.
type Waiter struct {
	Txn     kv.TxnRef
	Receipt msg.Receipt
}

// Waiters lists at most n held updates, the oldest ones, and at most n waiting reads, the earliest ones.
//
// It is for operators, who see them in the wait-for graph beside the waits for locks.
func (q *Queue) Waiters(now int64, n int) (out []Waiter) {
	if q.held > 0 {
		for _, u := range q.sortedUpdates() {
			if len(out) == n {
				break
			}
			if r := q.Receipt(now, u.txn); r.Open {
				out = append(out, Waiter{u.txn, r})
			}
		}
	}
	for _, r := range q.waitingReads[:min(n, len(q.waitingReads))] {
		if receipt := r.Receipt(now); receipt.Open {
			out = append(out, Waiter{r.Reader, receipt})
		}
	}
	return out
}
