package sim

import (
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// node is a gateway, some shards and their logs, with one clock.
type node struct {
	w    *world
	id   kv.NodeID
	rate float64 // of its clock
	base int64   // of its clock
	skew int64   // of its time of day
	jump int64   // the error of its time of day
	clk  *clock.Hybrid
	cut  int64 // it is isolated until then
	// stopped is the instant until which its process is stalled.
	stopped int64

	// machines are the machines of the gateway.
	machines []*txn.Gateway
	// incarnation counts the gateway's restarts; events scheduled by an earlier one are dropped.
	incarnation int
	gwUp        bool
	gwNext      int64 // when Tick is scheduled
	// calls are the calls without a response.
	calls []*openCall
	// torn: the gateway crashes in the middle of its next flush.
	torn bool
	// lastRead are the operations of the last one-shot read, for other clients to repeat.
	lastRead []msg.Op

	shards []*shell
	disks  []*disk
}

func newNode(w *world, id kv.NodeID) *node {
	n := &node{w: w, id: id, rate: slowest + (fastest-slowest)*w.rng.Float64(), base: w.rng.Int64N(1_000_000_000_000),
		skew: int64(w.upTo(w.opt.Skew))}
	n.clk = newClock(n)
	n.startGateway()
	return n
}

// slowest and fastest bound the rates of the nodes' clocks.
const slowest, fastest = 0.95, 1.05

// local returns the time of the node's clock at an instant.
func (n *node) local(now int64) int64 { return n.base + int64(float64(now)*n.rate) }

// global returns the first instant at which the node's clock shows at least local.
func (n *node) global(local int64) int64 {
	if local == math.MaxInt64 {
		return local
	}
	return int64(math.Ceil(float64(local-n.base)/n.rate)) + 1
}

func (n *node) wall() int64 { return wallBase + n.w.now + n.skew }

func (n *node) startGateway() {
	o := &n.w.opt
	n.incarnation++
	n.gwUp, n.gwNext, n.torn = true, math.MaxInt64, false
	n.machines = n.machines[:0:0]
	for i := range max(o.Machines, 1) {
		n.machines = append(n.machines, txn.NewGateway(txn.Config{Node: n.id, Incarnation: uint32(n.incarnation), Stripe: i,
			Stripes: o.Machines, Borrows: i > 0,
			Epoch: n.wall() - n.local(n.w.now), Router: n.w.router, Order: o.Order, NoOptimistic: o.NoOptimistic,
			NoEarlyLocks: o.NoEarlyLocks, Reads: o.Reads, NoSharing: bool(o.Sharing.Combining), Plan: o.Plan, Lease: o.Lease,
			OpenBudget: o.OpenBudget, SnapshotFirstFor: o.EarlySnapshotsFor, Repeat: o.Repeat, Liveness: o.Liveness,
			IdleTimeout: o.IdleGrace,
			MaxAge:      o.MaxAge, MaxInFlight: o.Slots, Admission: o.admission(), RoundGap: kv.MinRoundPause(o.Nodes),
			Round:   o.Round,
			Mutants: o.Mutants}))
	}
	n.learnIncarnations()
}

// learnIncarnations gives the gateway the shards' incarnations that a handshake would.
func (n *node) learnIncarnations() {
	for _, s := range n.w.shards {
		if n.w.opt.Learned && s.m != nil {
			for _, m := range n.machines {
				m.Shards().Learn(s.id, s.m.Incarnation())
			}
		}
	}
}

// addShard makes a shard, with a log of its own or the node's.
func (n *node) addShard(id kv.ShardID) {
	if len(n.disks) == 0 || n.w.opt.LogPerShard {
		n.disks = append(n.disks, newDisk(n))
		n.w.disks = append(n.w.disks, n.disks[len(n.disks)-1])
	}
	d := n.disks[len(n.disks)-1]
	s := &shell{w: n.w, n: n, disk: d, id: id}
	d.shards = append(d.shards, s)
	n.shards = append(n.shards, s)
	n.w.shards = append(n.w.shards, s)
}

// flushSoon flushes after all other calls of this instant.
func (n *node) flushSoon() {
	if n.w.opt.Batch == 0 {
		n.flush()
		return
	}
	incarnation := n.incarnation
	n.w.after(n.w.upTo(n.w.opt.Batch), func() {
		if n.gwUp && n.incarnation == incarnation {
			n.flush()
		}
	})
}

// flush sends the messages of the gateway and completes its calls.
func (n *node) flush() {
	w, next := n.w, int64(math.MaxInt64)
	for _, m := range n.machines {
		out := m.Flush()
		if n.torn && len(out.Send) > 0 {
			for _, env := range out.Send {
				if w.rng.IntN(2) == 0 {
					w.send(n, env)
				}
			}
			n.crashGateway()
			return
		}
		for _, env := range out.Send {
			w.send(n, env)
		}
		for i := range out.Done {
			n.onDone(out.Done[i])
		}
		n.coordinate(m, &out)
		next = min(next, out.Next)
	}
	n.schedule(next)
}

func (n *node) schedule(next int64) {
	if next == math.MaxInt64 {
		return
	}
	at := max(n.global(next), n.w.now+1)
	if at >= n.gwNext {
		return
	}
	n.gwNext = at
	incarnation := n.incarnation
	n.w.at(at+int64(n.w.upTo(n.w.opt.TickLate)), func() { n.whenAwake(func() { n.tick(incarnation, at) }) })
}

// tick runs a timer of a gateway, unless the gateway has crashed or was called since.
func (n *node) tick(incarnation int, at int64) {
	if n.incarnation != incarnation || !n.gwUp || n.gwNext != at {
		return
	}
	n.gwNext = math.MaxInt64
	for _, m := range n.machines {
		m.Tick(n.local(n.w.now))
	}
	n.flush()
}

// announceDown informs some of the other gateways, some time later, that the node is down, or up again.
func (n *node) announceDown(down bool) {
	w := n.w
	for _, o := range w.nodes {
		if o == n || down && w.rng.IntN(2) == 0 {
			continue
		}
		w.after(w.about(time.Millisecond), func() {
			up := n.gwUp && !slices.ContainsFunc(n.disks, func(d *disk) bool { return !d.up })
			if o.gwUp && down != up {
				o.onAllMachines(func(m *txn.Gateway) { m.SetDown(w.now, n.id, down) })
			}
		})
	}
}

func (n *node) crashGateway() {
	if !n.gwUp {
		return
	}
	w := n.w
	w.sum.Crashes++
	w.trace("%v gateway CRASH", n.id)
	n.gwUp = false
	n.incarnation++
	calls := n.calls
	n.calls = nil
	for _, c := range calls {
		c.finish(txn.Done{}, true)
	}
	incarnation := n.incarnation
	w.after(w.upTo(w.opt.Down), func() {
		if n.incarnation == incarnation && !n.gwUp {
			w.trace("%v gateway starts", n.id)
			n.startGateway()
			n.announceDown(false)
		}
	})
}

// repair starts everything that is down.
func (n *node) repair() {
	n.torn = false
	for _, d := range n.disks {
		d.level = shard.DiskEnough
	}
	if !n.gwUp {
		n.startGateway()
	}
	for _, d := range n.disks {
		if !d.up {
			d.start()
		}
	}
	for _, o := range n.w.nodes {
		if o.gwUp { // otherwise it starts anew, and unsent messages of its machines are lost
			o.onAllMachines(func(m *txn.Gateway) { m.SetDown(n.w.now, n.id, false) })
		}
	}
}

// config returns a shard's configuration.
func (s *shell) config() shard.Config {
	o := &s.w.opt
	c := shard.Config{ID: s.id, Node: s.n.id, Sharing: o.Sharing, Paging: o.Paging, CacheBytes: o.CacheBytes,
		Memory: o.Memory, Retention: o.Retention, Repeat: o.Repeat,
		Liveness: o.Liveness, GarbageBatch: o.GarbageBatch, Mutants: o.Mutants,
		Lease: o.Lease, UnsealAfter: o.UnsealAfter, HoldBound: o.HoldBound,
		Snapshots: s.w.snapshotConfig(), Heat: s.w.heat(), ExpiryInterval: dueEvery, ExpiryRetry: dueRetry,
		Trace: shard.Trace{Committed: s.onCommitted, Visible: s.onVisible, SnapshotRetained: s.onRetained}}
	if o.AbortsReported {
		c.Nodes = len(s.w.nodes)
	}
	if s.id == s.w.router.HotShard() {
		c.Home = s.w.router.Shard
	}
	c.Lock.MaxWaiters, c.Lock.MaxPhaseCount = o.MaxWaiters, o.PhaseCount
	c.Lock.MaxKeyWaiters, c.MaxKeyReferences = o.KeyWaiters, o.KeyReferences
	return c
}
