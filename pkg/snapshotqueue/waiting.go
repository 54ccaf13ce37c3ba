package snapshotqueue

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Waiter is an update that is held, or a reader that waits for updates to be
// decided.
type Waiter struct {
	Txn     kv.TxnRef
	Receipt msg.Receipt
}

// Waiters lists at most n of those that are held, the oldest, and at most n of those
// that wait to read, the first that came.
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
	for _, r := range q.reads[:min(n, len(q.reads))] {
		if told := r.Receipt(now); told.Open {
			out = append(out, Waiter{r.Reader, told})
		}
	}
	return out
}
