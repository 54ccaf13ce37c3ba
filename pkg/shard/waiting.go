package shard

import (
	"cmp"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Waiter is a transaction that waits on a shard, with the reason.
type Waiter struct {
	Shard   kv.ShardID
	Txn     kv.TxnRef
	Receipt msg.Receipt
	// User and HolderUser own the waiting and the blocking transaction, 0 if unknown.
	User, HolderUser kv.Account
}

// Waiters returns at most n of the transactions that wait for locks, for readers, or, if they read,
// for decisions; longest wait first. It examines at most 3 n waits, and the prepared updates, which
// are sorted if readers hold any.
func (m *Machine) Waiters(now int64, n int) (out []Waiter) {
	now = max(now, m.Now)
	users := map[kv.TxnRef]kv.Account{}
	add := func(txn kv.TxnRef, r msg.Receipt) { out = append(out, Waiter{Shard: m.cfg.ID, Txn: txn, Receipt: r}) }
	for _, r := range m.locks.Waiters(n) {
		users[r.Txn] = r.User
		if receipt := m.locks.Receipt(now, r); receipt.Cause != msg.CauseNone {
			add(r.Txn, receipt)
		}
	}
	m.queue.VisitWaiters(now, n, add)
	userOf := func(txn kv.TxnRef) kv.Account { return cmp.Or(users[txn], m.locks.UserOf(txn)) }
	for i := range out {
		out[i].User, out[i].HolderUser = userOf(out[i].Txn), userOf(out[i].Receipt.Holder)
	}
	slices.SortStableFunc(out, func(a, b Waiter) int { return cmp.Compare(b.Receipt.WaitedNanos, a.Receipt.WaitedNanos) })
	return out[:min(n, len(out))]
}
