package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// slowNode is a cluster of three nodes with two shards each. One node fails; it has clients of its own, and the hot
// shard if hot. Clients of the other two nodes need none of its keys.
type slowNode struct {
	hot bool
	// slow is the additional time of the failing node's fsyncs. stops and cuts: it is stalled, or isolated, for 2.5 of 3
	// s.
	slow        time.Duration
	stops, cuts bool
	// both: clients of the other nodes also update keys of theirs together with keys of the failing node.
	both    bool
	mutants mutant.Set
	// seed is 1 unless it is set. While the slow disk decides updates of both kinds, how long the others wait depends
	// on the schedule.
	seed int64
}

// Kinds of clients, counted separately.
const (
	viewedUpdates = iota
	otherUpdates
	oneShots
	views
	kindsOfClients
)

// rates hold the throughput of each kind of client at the two healthy nodes, and the longest duration of a request of
// each kind.
type rates struct {
	perSecond [kindsOfClients]float64
	longest   [kindsOfClients]time.Duration
	// snapshotCount counts the snapshots that were retained.
	snapshotCount int
}

func (r *rates) String() string {
	return fmt.Sprintf("viewed updates %.0f/s, longest %v; other updates %.0f/s, longest %v; "+
		"one-shots %.0f/s, longest %v; views %.0f/s, longest call %v; %d snapshots",
		r.perSecond[0], r.longest[0], r.perSecond[1], r.longest[1], r.perSecond[2], r.longest[2], r.perSecond[3],
		r.longest[3], r.snapshotCount)
}

// slowNodeRun is a run in progress.
type slowNodeRun struct {
	*sim
	sum   rates
	count [kindsOfClients]int
	// from is when counting begins.
	from int64
	// failing is the node that fails, healthy are the others.
	failing *node
	healthy []*node
	// fast and slow are keys of the healthy nodes and of the failing one; viewed are fast keys that views read.
	viewed, fast, slow [][]byte
}

// The fault begins at faultAt, counting at warm. If updates write both kinds of keys, those in flight keep fast keys
// locked until the slow disk has decided them.
const faultAt = 250 * time.Millisecond

func (b slowNode) warm() time.Duration {
	if b.both {
		return 5 * time.Second
	}
	return 2 * faultAt
}

func (b slowNode) run(t *testing.T, length time.Duration) rates {
	o := quiet(3, 5, 400, 100*time.Microsecond, 50*time.Microsecond)
	o.Seed = max(b.seed, 1)
	o.Sync, o.Mutants, o.SnapshotEvery, o.History = time.Millisecond, b.mutants, time.Second, time.Minute
	o.Reads, o.Repeat, o.Liveness = txn.SnapshotReads, 50*time.Millisecond, time.Second
	r := &slowNodeRun{sim: newSim(o), from: int64(b.warm())}
	r.place(&b)
	r.fail(&b)
	for i := range 4 {
		r.update(viewedUpdates, r.healthy[i%2], r.viewed, r.viewed)
		r.update(otherUpdates, r.healthy[i%2], r.fast, r.fast)
		r.read(r.healthy[i%2])
		r.update(-1, r.failing, r.slow, r.slow)
	}
	for i := range 16 {
		r.After(r.UpTo(20*time.Millisecond), func() { r.view(r.healthy[i%2]) })
	}
	if b.both {
		for i := range 4 {
			r.update(-1, r.healthy[i%2], r.viewed, r.slow)
		}
	}
	end := int64(b.warm() + length)
	r.Run(end, nil)
	require.NoError(t, r.Err)
	for k := range r.sum.perSecond {
		r.sum.perSecond[k] = float64(r.count[k]) / length.Seconds()
	}
	r.sum.snapshotCount = len(r.instants)
	return r.sum
}

// place sorts the nodes, and the keys by their node.
func (r *slowNodeRun) place(b *slowNode) {
	hot := r.Router.Node(r.Router.HotShard())
	for _, n := range r.nodes {
		if r.failing == nil && (n.ID == hot) == b.hot {
			r.failing = n
		} else {
			r.healthy = append(r.healthy, n)
		}
	}
	for i := range r.opt.Registers {
		k := regKey(i)
		switch at := r.Router.Node(r.Router.Shard(k)); {
		case at == r.failing.ID:
			r.slow = append(r.slow, k)
		case len(r.viewed) < 6 && i > 0:
			r.viewed = append(r.viewed, k)
		default:
			r.fast = append(r.fast, k)
		}
	}
}

// fail injects the fault.
func (r *slowNodeRun) fail(b *slowNode) {
	n := r.failing
	r.At(int64(faultAt), func() {
		for _, d := range n.Disks {
			d.SlowBy, d.SlowUntil = b.slow, 1<<62
		}
	})
	if !b.stops && !b.cuts {
		return
	}
	var again func()
	again = func() {
		until := r.Now() + int64(2500*time.Millisecond)
		if b.stops {
			n.StoppedUntil = until
		} else {
			n.CutUntil = until
		}
		r.After(3*time.Second, again)
	}
	r.At(int64(b.warm()), again)
}

// record records a request.
func (r *slowNodeRun) record(kind int, began int64, whole bool) {
	if kind < 0 || r.Now() < r.from {
		return
	}
	r.sum.longest[kind] = max(r.sum.longest[kind], time.Duration(r.Now()-began))
	if whole {
		r.count[kind]++
	}
}

func (r *slowNodeRun) pick(from [][]byte) []byte { return from[r.Rng.IntN(len(from))] }

// update has a client put two keys, repeatedly, with a pause.
func (r *slowNodeRun) update(kind int, n *node, from, and [][]byte) {
	began := r.Now()
	a, b := r.pick(from), r.pick(and)
	ops := []msg.Op{put(a)}
	if string(a) != string(b) {
		ops = append(ops, put(b))
	}
	n.execute(txn.TxnOptions{}, func(d txn.Done) {
		r.record(kind, began, d.Failure == nil)
		r.After(r.About(2*time.Millisecond), func() { r.update(kind, n, from, and) })
	}, ops...)
}

// read has a client read three viewed keys, repeatedly.
func (r *slowNodeRun) read(n *node) {
	began := r.Now()
	var ops []msg.Op
	for _, i := range r.Rng.Perm(len(r.viewed))[:3] {
		ops = append(ops, get(r.viewed[i]))
	}
	n.execute(txn.TxnOptions{}, func(d txn.Done) {
		r.record(oneShots, began, d.Failure == nil)
		r.After(r.About(time.Millisecond), func() { r.read(n) })
	}, ops...)
}

// view has a client open one view after another, each with four calls and pauses of 5 ms.
func (r *slowNodeRun) view(n *node) {
	keys := func() []msg.Op { return []msg.Op{get(r.pick(r.viewed)), get(r.pick(r.viewed))} }
	open := n.view(4, 5*time.Millisecond, keys, func(began int64, d txn.Done) {
		r.record(views, began, d.Closed && d.Failure == nil)
		if d.Closed {
			r.After(0, func() { r.view(n) })
		}
	})
	if !open {
		r.After(time.Millisecond, func() { r.view(n) })
	}
}

// violations lists what clients lose by a fault: each kind must keep the given share of its rate, and no request may
// take 100 ms longer than without the fault.
func (r *rates) violations(alone *rates, share float64) (out []string) {
	for k := range kindsOfClients {
		if r.perSecond[k] < share*alone.perSecond[k] {
			out = append(out, fmt.Sprintf("kind %d: %.0f/s of %.0f/s", k, r.perSecond[k], alone.perSecond[k]))
		}
		if r.longest[k] > alone.longest[k]+100*time.Millisecond {
			out = append(out, fmt.Sprintf("kind %d: waits for %v", k, r.longest[k]))
		}
	}
	return out
}

// TestSlowNodeDoesNotSlowOthers: a node's disk is slow, its process is stalled, or it is isolated. Clients that need
// none of its keys keep their rates.
func TestSlowNodeDoesNotSlowOthers(t *testing.T) {
	t.Parallel()
	const length = 4 * time.Second
	alone := slowNode{}.run(t, length)
	t.Logf("no fault: %v", &alone)
	aloneBoth, aloneHot := slowNode{both: true, seed: 3}.run(t, length), slowNode{hot: true}.run(t, length)
	for _, b := range []slowNode{
		{slow: 100 * time.Millisecond}, {slow: 500 * time.Millisecond}, {slow: 1500 * time.Millisecond},
		{slow: 5 * time.Second},
		{stops: true}, {cuts: true}, {slow: 1500 * time.Millisecond, both: true, seed: 3},
		{slow: 1500 * time.Millisecond, hot: true},
		{stops: true, hot: true},
	} {
		name := fmt.Sprintf("slow=%v stops=%t cuts=%t both=%t hot=%t", b.slow, b.stops, b.cuts, b.both, b.hot)
		t.Run(name, func(t *testing.T) {
			got, base, share := b.run(t, length), &alone, 0.8
			switch {
			case b.both:
				// Updates of both kinds of keys are then far fewer. Other updates write the viewed keys instead, and conflict with
				// the readers.
				base, share = &aloneBoth, 0.5
			case b.hot:
				base = &aloneHot
			}
			t.Logf("%v", &got)
			require.Empty(t, got.violations(base, share))
		})
	}
}

// TestExcludedShardDoesNotDecide: if a snapshot round has excluded the hot shard, another participant decides, although
// the hot shard is the hottest.
func TestExcludedShardDoesNotDecide(t *testing.T) {
	hot, last := lastAgentBeside(t, mutant.Set{})
	require.NotEqual(t, hot, last)
}

// lastAgentBeside returns the last agent of an update on the hot shard and another one. The log of the hot shard has
// been slow since a round excluded it.
func lastAgentBeside(t *testing.T, broken mutant.Set) (hot, last kv.ShardID) {
	o := steady(txn.HotLast)
	o.Mutants = broken
	w := newSim(o)
	n, k := w.nodes[0], keysOnShards(w, 1)
	hot = w.Router.HotShard()
	for _, d := range w.nodes[w.Router.Node(hot)-1].Disks {
		d.SlowBy, d.SlowUntil = time.Second, w.Now()+int64(300*time.Millisecond)
	}
	n.execute(txn.TxnOptions{}, func(txn.Done) {}, put(k[1]))
	w.Run(w.Now()+int64(20*time.Millisecond), nil) // so that the log has something to write
	require.True(t, n.Machines[0].Shards().LeaveOut(n.Local(), hot))
	w.Run(w.Now()+int64(600*time.Millisecond), nil)
	ended := false
	n.execute(txn.TxnOptions{}, func(d txn.Done) {
		require.Nil(t, d.Failure)
		last, ended = d.LastAgentCSN.Shard, true
	}, put(k[0]), put(k[1]))
	w.Run(w.Now()+int64(2*time.Second), func() bool { return ended })
	require.True(t, ended)
	return hot, last
}
