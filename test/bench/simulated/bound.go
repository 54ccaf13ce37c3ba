package simulated

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/workload"
)

// Bound is the greatest throughput that the cores allow: what is computed
// before anything runs, from the messages and steps that the protocol needs
// for the workload's transactions when nobody waits for anybody, and from what
// each of them costs: with all cores at work all the time, and with the busiest
// one. Of a transaction's keys the one with the lowest number is the hottest.
func Bound(o Options) (all, busiest float64, err error) {
	o = o.withDefaults()
	router, err := hotshard.NewRouter(o.Shards, o.Nodes, hotKeys(o.Workload.WithDefaults().Prefix, o.HotKeys))
	if err != nil {
		return 0, 0, err
	}
	o.Workload.Homes = homes{router}
	source, err := workload.NewSource(o.Workload, "bound")
	if err != nil {
		return 0, 0, err
	}
	b := &bill{o: &o, router: router, nodes: make([]time.Duration, o.Nodes)}
	clients := make([]func() workload.Txn, o.Nodes)
	for i := range clients {
		clients[i] = source.Client(i)
	}
	const drawn = 40_000
	for i := range drawn {
		t := clients[i%o.Nodes]()
		b.charge(&t, kv.NodeID(i%o.Nodes+1))
	}
	sum := time.Duration(0)
	for _, d := range b.nodes {
		sum += d
	}
	return drawn * float64(o.Nodes) / sum.Seconds(), drawn / slices.Max(b.nodes).Seconds(), nil
}

func hotKeys(prefix string, n int) (keys [][]byte) {
	for i := range n {
		keys = append(keys, workload.RegisterKey(prefix, uint64(i)))
	}
	return keys
}

// bill is what cores have to do.
type bill struct {
	o      *Options
	router *hotshard.Router
	nodes  []time.Duration
}

func (b *bill) call(n kv.NodeID, kind string) { b.nodes[n-1] += b.o.Costs.Call(kind) }

// message charges both ends of a message, and the step that takes it.
func (b *bill) message(from, to kv.NodeID, kind string) {
	if from != to {
		b.nodes[from-1] += b.o.Costs.Message
		b.nodes[to-1] += b.o.Costs.Message
	}
	b.call(to, kind)
}

// charge adds one transaction, whose client is on a node.
func (b *bill) charge(t *workload.Txn, home kv.NodeID) {
	shards := b.shards(t)
	reads, locking := t.Kind.Reads(), b.o.Reads == txn.LockingReads
	if reads {
		b.call(home, kindRead)
	} else {
		b.call(home, kindUpdate)
	}
	switch {
	case reads && len(shards) > 1 && locking:
		b.rounds(home, shards, "Lock", "LockReply")
		b.rounds(home, shards, "Check", "CheckReply")
	case reads && len(shards) > 1:
		// The cheapest is that the gateway asks the hottest last, where the reader
		// is not registered.
		b.rounds(home, shards, "Read", "ReadReply")
		b.rounds(home, shards[:len(shards)-1], "Leave", "")
	default:
		b.commit(home, shards, reads && !locking)
	}
}

// shards are those of a transaction, the hottest last.
func (b *bill) shards(t *workload.Txn) (out []kv.ShardID) {
	keys := make([]string, len(t.Ops))
	for i := range t.Ops {
		keys[i] = string(t.Ops[i].Key)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if s := b.router.Shard([]byte(k)); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.Reverse(out)
	return out
}

// rounds are a request to each shard, and its answer.
func (b *bill) rounds(home kv.NodeID, shards []kv.ShardID, ask, answer string) {
	for _, s := range shards {
		b.message(home, b.router.Node(s), ask)
		if answer != "" {
			b.message(b.router.Node(s), home, answer)
		}
	}
}

// commit is what committing takes; the hottest shard decides.
func (b *bill) commit(home kv.NodeID, shards []kv.ShardID, snapshot bool) {
	last := b.router.Node(shards[len(shards)-1])
	park := "Park"
	if snapshot {
		park = kindSnapshot
	}
	b.message(home, last, park)
	for _, s := range shards[:len(shards)-1] {
		n := b.router.Node(s)
		b.message(home, n, "Prepare")
		b.message(n, last, "Vote")
		b.message(last, n, "Decide")
		b.message(n, last, "DecideAck")
	}
	b.message(last, home, "Answer")
}
