package shard

import (
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Waiter is a transaction that waits on the shard, and for what.
type Waiter struct {
	Txn     kv.TxnRef
	Receipt msg.Receipt
}

// Waiters lists at most n of the transactions that wait now: for locks, for
// readers, or, if they read, for updates to be decided. Those that have waited
// longest come first. It looks at 3 n at most, but for the prepared updates, which
// are sorted if readers hold any.
func (m *Machine) Waiters(now int64, n int) (out []Waiter) {
	now = max(now, m.Now)
	for _, r := range m.locks.Waiters(n) {
		if told := m.locks.Receipt(now, r); told.Cause != msg.CauseNone {
			out = append(out, Waiter{r.Txn, told})
		}
	}
	for _, w := range m.queue.Waiters(now, n) {
		out = append(out, Waiter(w))
	}
	slices.SortStableFunc(out, func(a, b Waiter) int { return cmp.Compare(b.Receipt.WaitedNanos, a.Receipt.WaitedNanos) })
	return out[:min(n, len(out))]
}
