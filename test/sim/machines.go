package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// A gateway of several machines, as in package gateway. The id of a transaction determines its machine. Messages for
// all machines reach one after another, and the first machine lends snapshots of the whole store to the others.
// Messages between two machines are not lost or duplicated, but each machine runs in the goroutine of its caller, so a
// hand-over takes some time, in which other messages arrive.

// handOver is the mean time of a hand-over between two machines. The value is arbitrary: it is long enough for messages
// to arrive in between.
const handOver = 20 * time.Microsecond

// lendCall is the call handle of a call of Lend.
type lendCall func(d txn.Done)

// machine returns the machine that runs a transaction.
func (n *node) machine(id kv.TxnID) *txn.Gateway {
	return n.machines[txn.Affinity(id)%uint64(len(n.machines))]
}

// deliver delivers a message to the gateway.
func (n *node) deliver(env *msg.Envelope) {
	if !n.gwUp {
		return
	}
	if msg.Is[msg.HeatMap](env) {
		n.w.maxHeatMap = max(n.w.maxHeatMap, msg.As[msg.HeatMap](env).Number)
	}
	if msg.Is[msg.HeatMap](env) || msg.Is[msg.Announcement](env) {
		n.onAllMachines(func(m *txn.Gateway) { m.Deliver(n.local(n.w.now), env) })
		return
	}
	n.machine(txn.Subject(env)).Deliver(n.local(n.w.now), env)
	n.flush()
}

// onAllMachines calls all machines: the first at once, each other one some time later.
func (n *node) onAllMachines(f func(m *txn.Gateway)) {
	f(n.machines[0])
	n.flush()
	for _, m := range n.machines[1:] {
		n.later(func() { f(m) })
	}
}

// later calls a machine some time from now, unless the gateway crashes before.
func (n *node) later(f func()) {
	incarnation := n.incarnation
	n.w.after(n.w.about(handOver), func() {
		if n.gwUp && n.incarnation == incarnation {
			f()
			n.flush()
		}
	})
}

// coordinate executes a machine's requests to the other machines.
func (n *node) coordinate(m *txn.Gateway, out *txn.Output) {
	first := n.machines[0]
	if out.BorrowSnapshot {
		n.later(func() {
			first.LendSnapshot(n.local(n.w.now), lendCall(func(d txn.Done) {
				if d.Snapshot != nil {
					n.w.sum.Lent++
				}
				n.later(func() { m.OnBorrowedSnapshot(n.local(n.w.now), d.Snapshot, d.Failure) })
			}))
		})
	}
	for _, s := range out.ExcludedShards {
		for _, other := range n.machines {
			if other != m {
				n.later(func() { other.Shards().LeaveOut(n.local(n.w.now), s) })
			}
		}
	}
	for _, name := range out.ReturnSnapshots {
		n.later(func() { first.ReturnSnapshot(n.local(n.w.now), name) })
	}
}

// checkIdle returns an error if the gateway still has any transaction.
func (n *node) checkIdle() error {
	for _, m := range n.machines {
		err := m.CheckQuiescent()
		if err != nil {
			return err
		}
	}
	return nil
}
