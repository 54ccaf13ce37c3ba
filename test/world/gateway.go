package world

import (
	"math"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// A gateway of several machines, as in package gateway. Messages for all machines reach one after another, and the
// first machine lends snapshots of the whole store to the others. Messages between two machines are not lost or
// duplicated, but each machine runs in the goroutine of its caller, so a hand-over takes some time, in which other
// messages arrive.

// handOver is the mean time of a hand-over between two machines. The value is arbitrary: it is long enough for messages
// to arrive in between.
const handOver = 20 * time.Microsecond

// lendCall is the call handle of a call of LendSnapshot.
type lendCall func(d txn.Done)

func (n *Node) startGateway() {
	n.incarnation++
	n.GatewayUp, n.next, n.Torn = true, math.MaxInt64, false
	n.Machines = n.Machines[:0:0]
	known := make(env.OwnIncarnations, n.w.Router.Shards())
	for i := range max(n.w.Machines, 1) {
		c := n.w.user.GatewayConfig(n)
		c.Node, c.Incarnation, c.Epoch, c.Router = n.ID, uint32(n.incarnation), n.TrueWall()-n.Local(), n.w.Router
		c.Stripe, c.Stripes, c.Borrows, c.Mutants = i, n.w.Machines, i > 0, n.w.Mutants
		c.Incarnations, c.Replicated, c.NoLeases = known, n.w.Replicas > 0, n.w.NoLeases
		n.Machines = append(n.Machines, txn.NewGateway(c))
	}
	n.learnIncarnations()
}

// learnIncarnations gives the gateway the shards' incarnations that a handshake would.
func (n *Node) learnIncarnations() {
	if n.w.Replicas > 0 {
		for s := range n.w.Shards {
			for _, m := range n.Machines {
				_, term := n.leaders.Of(kv.ShardID(s))
				m.Shards().Learn(kv.ShardID(s), kv.Incarnation(term))
			}
		}
		return
	}
	for _, s := range n.w.Shards {
		if n.w.Learned && s.M != nil {
			for _, m := range n.Machines {
				m.Shards().Learn(s.ID, s.M.Incarnation())
			}
		}
	}
}

// Machine returns the machine that runs a transaction.
func (n *Node) Machine(id kv.TxnID) *txn.Gateway {
	return n.Machines[txn.Affinity(id)%uint64(len(n.Machines))]
}

// FlushSoon is Flush, possibly some time later, together with what other calls cause within Batch.
func (n *Node) FlushSoon() {
	if n.w.Batch == 0 {
		n.Flush()
		return
	}
	n.ifRunning(n.w.UpTo(n.w.Batch), n.Flush)
}

// ifRunning calls f some time from now, unless the gateway crashes before.
func (n *Node) ifRunning(after time.Duration, f func()) {
	incarnation := n.incarnation
	n.w.After(after, func() {
		if n.GatewayUp && n.incarnation == incarnation {
			f()
		}
	})
}

// Flush sends the messages of the gateway and completes its calls.
func (n *Node) Flush() {
	w, next := n.w, int64(math.MaxInt64)
	for _, m := range n.Machines {
		out := m.Flush()
		if n.Torn && len(out.Send) > 0 {
			for _, env := range out.Send {
				if w.OneIn(2) {
					w.Send(Source{n, false}, env)
				}
			}
			n.CrashGateway()
			return
		}
		for _, env := range out.Send {
			w.Send(Source{n, false}, env)
		}
		for i := range out.Done {
			if lend, ok := out.Done[i].Handle.(lendCall); ok {
				lend(out.Done[i])
			} else {
				w.user.OnDone(n, out.Done[i])
			}
		}
		n.coordinate(m, &out)
		next = min(next, out.Next)
	}
	n.schedule(next)
}

func (n *Node) schedule(next int64) {
	if next == math.MaxInt64 {
		return
	}
	at := max(n.instant(next), n.w.now+1)
	if at >= n.next {
		return
	}
	n.next = at
	incarnation := n.incarnation
	n.w.At(at+int64(n.w.UpTo(n.w.TickLate)), func() { n.WhenAwake(func() { n.tick(incarnation, at) }) })
}

// tick runs a timer of a gateway, unless the gateway has crashed or was called since.
func (n *Node) tick(incarnation int, at int64) {
	if n.incarnation != incarnation || !n.GatewayUp || n.next != at {
		return
	}
	n.next = math.MaxInt64
	for _, m := range n.Machines {
		m.Tick(n.Local())
	}
	n.Flush()
}

// deliver delivers a message to the gateway.
func (n *Node) deliver(env *msg.Envelope) {
	if !n.GatewayUp {
		return
	}
	n.w.user.OnDeliver(n, env)
	if msg.Is[msg.HeatMap](env) || msg.Is[msg.Announcement](env) {
		n.OnAllMachines(func(m *txn.Gateway) { m.Deliver(n.Local(), env) })
		return
	}
	n.Machine(txn.Subject(env)).Deliver(n.Local(), env)
	n.Flush()
}

// OnAllMachines calls all machines: the first at once, each other one some time later.
func (n *Node) OnAllMachines(f func(m *txn.Gateway)) {
	f(n.Machines[0])
	n.Flush()
	for _, m := range n.Machines[1:] {
		n.later(func() { f(m) })
	}
}

// later calls a machine some time from now, unless the gateway crashes before.
func (n *Node) later(f func()) {
	n.ifRunning(n.w.About(handOver), func() {
		f()
		n.Flush()
	})
}

// coordinate executes a machine's requests to the other machines.
func (n *Node) coordinate(m *txn.Gateway, out *txn.Output) {
	first := n.Machines[0]
	if out.BorrowSnapshot {
		n.later(func() {
			first.LendSnapshot(n.Local(), lendCall(func(d txn.Done) {
				if d.Snapshot != nil {
					n.w.Counts.Lent++
				}
				n.later(func() { m.OnBorrowedSnapshot(n.Local(), d.Snapshot, d.Failure) })
			}))
		})
	}
	for _, s := range out.ExcludedShards {
		for _, other := range n.Machines {
			if other != m {
				n.later(func() { other.Shards().LeaveOut(n.Local(), s) })
			}
		}
	}
	for _, name := range out.ReturnSnapshots {
		n.later(func() { first.ReturnSnapshot(n.Local(), name) })
	}
}

// CrashGateway stops the gateway, which starts again some time later. Its calls are lost.
func (n *Node) CrashGateway() {
	if !n.GatewayUp {
		return
	}
	w := n.w
	w.Counts.Crashes++
	w.Trace("%v gateway CRASH", n.ID)
	n.GatewayUp = false
	n.incarnation++
	w.user.OnGatewayCrash(n)
	incarnation := n.incarnation
	w.After(w.UpTo(w.Down), func() {
		if n.incarnation == incarnation && !n.GatewayUp {
			w.Trace("%v gateway starts", n.ID)
			n.startGateway()
			n.AnnounceDown(false)
		}
	})
}

// idle returns an error if the gateway still has any transaction.
func (n *Node) idle() error {
	for _, m := range n.Machines {
		err := m.CheckQuiescent()
		if err != nil {
			return err
		}
	}
	return nil
}
