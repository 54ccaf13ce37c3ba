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
	// User is whose transaction it is, and HolderUser whose it waits for; 0 if that is not known.
	User, HolderUser kv.Account
}

// Waiters lists at most n of the transactions that wait now: for locks, for
// readers, or, if they read, for updates to be decided. Those that have waited
// longest come first. It looks at 3 n at most, but for the prepared updates, which
// are sorted if readers hold any.
func (m *Machine) Waiters(now int64, n int) (out []Waiter) {
	now = max(now, m.Now)
	users := map[kv.TxnRef]kv.Account{}
	for _, r := range m.locks.Waiters(n) {
		users[r.Txn] = r.User
		if told := m.locks.Receipt(now, r); told.Cause != msg.CauseNone {
			out = append(out, Waiter{Txn: r.Txn, Receipt: told})
		}
	}
	for _, w := range m.queue.Waiters(now, n) {
		out = append(out, Waiter{Txn: w.Txn, Receipt: w.Receipt})
	}
	userOf := func(txn kv.TxnRef) kv.Account { return cmp.Or(users[txn], m.locks.UserOf(txn)) }
	for i := range out {
		out[i].User, out[i].HolderUser = userOf(out[i].Txn), userOf(out[i].Receipt.Holder)
	}
	slices.SortStableFunc(out, func(a, b Waiter) int { return cmp.Compare(b.Receipt.WaitedNanos, a.Receipt.WaitedNanos) })
	return out[:min(n, len(out))]
}
