package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// A gateway of several machines, as package gateway has: each transaction belongs to the machine
// that its id leads to. What concerns all machines reaches them one by one, and the first lends
// states of the whole store to the others. Between two machines nothing is lost or duplicated, but
// each runs on whatever goroutine calls it, so that a hand-over takes some time, during which
// messages arrive.

// handOver is the mean time of a hand-over between two machines. Somewhat arbitrary: it is long
// enough for messages to arrive in between.
const handOver = 20 * time.Microsecond

// lending is the token of a call of Lend.
type lending func(d txn.Done)

// machine is the one that runs a transaction.
func (n *node) machine(id kv.TxnID) *txn.Gateway {
	return n.machines[txn.Affinity(id)%uint64(len(n.machines))]
}

// deliver takes a message for the gateway.
func (n *node) deliver(env *msg.Envelope) {
	if !n.gwUp {
		return
	}
	if msg.Is[msg.HeatMap](env) {
		n.w.maps = max(n.w.maps, msg.As[msg.HeatMap](env).Number)
	}
	if msg.Is[msg.HeatMap](env) || msg.Is[msg.Announcement](env) {
		n.toAll(func(m *txn.Gateway) { m.Deliver(n.local(n.w.now), env) })
		return
	}
	n.machine(txn.Subject(env)).Deliver(n.local(n.w.now), env)
	n.flush()
}

// toAll calls all machines: the first at once, and each other one some time later.
func (n *node) toAll(f func(m *txn.Gateway)) {
	f(n.machines[0])
	n.flush()
	for _, m := range n.machines[1:] {
		n.later(func() { f(m) })
	}
}

// later has a machine called some time from now, unless the gateway dies before.
func (n *node) later(f func()) {
	life := n.life
	n.w.after(n.w.about(handOver), func() {
		if n.gwUp && n.life == life {
			f()
			n.flush()
		}
	})
}

// share does what a machine wants of the first one.
func (n *node) share(m *txn.Gateway, out *txn.Output) {
	first := n.machines[0]
	if out.Borrow {
		n.later(func() {
			first.Lend(n.local(n.w.now), lending(func(d txn.Done) {
				if d.State != nil {
					n.w.sum.Lent++
				}
				n.later(func() { m.Borrowed(n.local(n.w.now), d.State, d.Failure) })
			}))
		})
	}
	for _, s := range out.LeftOut {
		for _, other := range n.machines {
			if other != m {
				n.later(func() { other.Shards().LeaveOut(n.local(n.w.now), s) })
			}
		}
	}
	for _, name := range out.GiveBack {
		n.later(func() { first.GiveBack(n.local(n.w.now), name) })
	}
}

// quiet reports what is left in the gateway: nil if there is nothing.
func (n *node) quiet() error {
	for _, m := range n.machines {
		err := m.Quiet()
		if err != nil {
			return err
		}
	}
	return nil
}
