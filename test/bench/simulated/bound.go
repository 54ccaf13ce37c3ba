package simulated

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/txn"
	"github.com/linchpindb/linchpin/pkg/workload"
)

// Bound is the greatest throughput that the cores allow, with all cores at work all the time, and with the busiest one.
// It is computed before anything runs, from the messages and steps that the protocol needs for transactions without
// conflicts, and from what each of them costs. Of a transaction's keys the one with the lowest number is the hottest.
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

// Bounds are the greatest throughputs of an application: of a number of clients, and of the cores. They are computed
// from the result of a run with OnlyClient, in which no transaction waits for another.
//
// A client that never waits ends a transaction in the mean latency of that run.
//
// A core has the work of its shards, for all clients, and that of its gateway, for its own clients, which do more where
// cores have time left. So the cores' bound is the throughput T at which there are shares of it, one for each node's
// clients and 1 together, that leave no core more than a second of work in a second:
//
//	T × (shards' work + nodes × share × gateway's work) <= 1
//
// where work is that of each transaction of the run, which came from all nodes' clients alike.
//
// Both hold for the transactions of that run. If these become more expensive as data grows, only a run of as many is
// comparable. Neither includes what transactions save by batching: a read that several clients share is sent once, and
// rows of several are written as one. With that a run may pass the cores' bound; Messages and Rows show by how much.
func (r *Result) Bounds(clients int) (latency, cores float64) {
	return float64(clients) / r.All.Mean.Seconds(), coresBound(r.Work, r.Gateways)
}

// coresBound finds the throughput that just fits by halving: what fits at one fits
// at less.
func coresBound(work, gateways []time.Duration) float64 {
	fits := func(perSecond float64) bool {
		room := 0.0 // the sum of the greatest shares
		for i := range work {
			left := 1/perSecond - (work[i] - gateways[i]).Seconds()
			if left < 0 {
				return false
			}
			room += left / (float64(len(work)) * max(gateways[i], 1).Seconds())
		}
		return room >= 1
	}
	least, most := 0.0, float64(len(work))*float64(time.Second) // at a nanosecond of work for each
	for range 60 {
		if mid := (least + most) / 2; fits(mid) {
			least = mid
		} else {
			most = mid
		}
	}
	return least
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
		b.rounds(home, shards, "Lock", "LockResponse")
		b.rounds(home, shards, "Check", "CheckResponse")
	case reads && len(shards) > 1:
		// The cheapest is that the gateway asks the hottest last, where the reader
		// is not registered.
		b.rounds(home, shards, "Read", "ReadResponse")
		b.rounds(home, shards[:len(shards)-1], "Deregister", "")
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
	park := "CommitRequest"
	if snapshot {
		park = kindSnapshot
	}
	b.message(home, last, park)
	for _, s := range shards[:len(shards)-1] {
		n := b.router.Node(s)
		b.message(home, n, "Prepare")
		b.message(n, last, "Vote")
		b.message(last, n, "Decision")
		b.message(n, last, "DecisionAck")
	}
	b.message(last, home, "CommitResponse")
}
