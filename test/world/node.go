package world

import (
	"math"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/node/groups"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Node is a gateway, some shards and their logs, in one process with one clock.
type Node struct {
	w  *World
	ID kv.NodeID
	// rate and base are of its clock, skew is of its time of day.
	rate       float64
	base, skew int64
	// Clocks are what it measures of the clocks of the other nodes.
	Clocks consensus.Clocks
	// Jump is the error of its time of day.
	Jump int64
	// CutUntil: the node is isolated until then. StoppedUntil: its process is stalled until then.
	CutUntil, StoppedUntil int64
	// Torn: the gateway crashes in the middle of its next flush.
	Torn bool

	// Machines are the machines of the gateway. The id of a transaction determines its machine.
	Machines []*txn.Gateway
	// GatewayUp: the gateway runs.
	GatewayUp bool
	// incarnation counts the gateway's starts and crashes; events scheduled by an earlier one are dropped.
	incarnation int
	next        int64 // when Tick is scheduled

	Shards []*Shard
	Disks  []*Disk
	// leaders are those of shards with several replicas.
	leaders groups.Leaders
}

// WallBase is the time of day at the start of every run, so that ids look like those of real transactions.
const WallBase = int64(1_700_000_000_000_000_000)

// newNode makes a node. Without randomness, its clock runs at rate 1, and shows other times than those of other nodes.
func newNode(w *World, id kv.NodeID) *Node {
	n := &Node{w: w, ID: id, rate: 1, base: int64(id) * int64(time.Hour),
		leaders: make(groups.Leaders, w.Router.Shards())}
	if w.Rng != nil {
		spread := math.Round(1e6*(w.Rates[1]-w.Rates[0])) / 1e6 // 0.1 and not 0.10000000000000009: seeds stay
		n.rate, n.base = w.Rates[0]+spread*w.Rng.Float64(), w.Rng.Int64N(1_000_000_000_000)
		n.skew = int64(w.UpTo(w.Skew))
	}
	return n
}

// addShard makes a shard, or a replica of one, with a log of its own or the node's.
func (n *Node) addShard(id kv.ShardID) *Shard {
	w := n.w
	if len(n.Disks) == 0 || w.LogPerShard {
		n.Disks = append(n.Disks, newDisk(n))
		w.Disks = append(w.Disks, n.Disks[len(n.Disks)-1])
	}
	d := n.Disks[len(n.Disks)-1]
	s := &Shard{w: w, Node: n, Disk: d, ID: id}
	d.Shards, n.Shards = append(d.Shards, s), append(n.Shards, s)
	return s
}

// shard returns the node's shard of a number; with replicas, the place of one. It is nil without either.
func (n *Node) shard(id kv.ShardID) *Shard {
	for _, s := range n.Shards {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// replica returns the node's replica of a shard, nil for none.
func (n *Node) replica(id kv.ShardID) *Replica { return n.shard(id).replica }

// SetRate sets the rate of the node's clock, before the machines start.
func (n *Node) SetRate(r float64) { n.rate = r }

// Local returns the time of the node's clock.
func (n *Node) Local() int64 { return n.base + int64(float64(n.w.now)*n.rate) }

// instant returns the first instant at which the node's clock shows at least local.
func (n *Node) instant(local int64) int64 {
	if local == math.MaxInt64 {
		return local
	}
	return int64(math.Ceil(float64(local-n.base)/n.rate)) + 1
}

// TrueWall returns the node's time of day without the error of Jump, WallClock with it.
func (n *Node) TrueWall() int64 { return WallBase + n.w.now + n.skew }

// WallClock returns the time of day that the node's clock shows.
func (n *Node) WallClock() int64 { return n.TrueWall() + n.Jump }

// WhenAwake runs f in the node's process: now, or when the process is no longer stalled.
func (n *Node) WhenAwake(f func()) {
	if n.StoppedUntil <= n.w.now || n.w.Calm {
		f()
		return
	}
	n.w.At(n.StoppedUntil, func() { n.WhenAwake(f) })
}

// Up reports whether the gateway and all shards run.
func (n *Node) Up() bool {
	return n.GatewayUp && !slices.ContainsFunc(n.Disks, func(d *Disk) bool { return !d.Up })
}

// AnnounceDown informs some of the other gateways, some time later, that the node is down, or all that it is up again.
func (n *Node) AnnounceDown(down bool) {
	w := n.w
	for _, o := range w.Nodes {
		if o == n || down && w.OneIn(2) {
			continue
		}
		w.After(w.About(time.Millisecond), func() {
			if o.GatewayUp && down != n.Up() {
				o.OnAllMachines(func(m *txn.Gateway) { m.SetDown(w.now, n.ID, down) })
			}
		})
	}
}

// Crash stops the node, which starts again some time later.
func (n *Node) Crash() {
	n.CrashGateway()
	for _, d := range n.Disks {
		d.Crash()
	}
	n.AnnounceDown(true)
}

// repair ends all faults and starts everything that is down.
func (n *Node) repair() {
	n.Torn = false
	for _, d := range n.Disks {
		d.Level = shard.DiskEnough
	}
	if !n.GatewayUp {
		n.startGateway()
	}
	for _, d := range n.Disks {
		if !d.Up {
			d.start()
		}
	}
	for _, o := range n.w.Nodes {
		if o.GatewayUp { // otherwise it starts anew, and unsent messages of its machines are lost
			o.OnAllMachines(func(m *txn.Gateway) { m.SetDown(n.w.now, n.ID, false) })
		}
	}
}
