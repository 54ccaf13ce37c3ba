package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

const oneWay = time.Millisecond

// steady returns a cluster without randomness: every message takes oneWay, and nothing else takes time.
func steady(order txn.Order) Options {
	o := quiet(3, 4, 40, oneWay, 0)
	o.Counters, o.Order, o.Far = 1, order, true
	o.Repeat, o.Liveness = 100*time.Millisecond, time.Second
	return o
}

// quiet returns a cluster without faults and clients. One register is on the hot shard.
func quiet(nodes, shards, registers int, delay, jitter time.Duration) Options {
	o := Options{Seed: 1, Shards: shards}
	o.Nodes, o.Registers, o.HotKeys, o.Learned, o.Bound, o.Mix.MaxOps = nodes, registers, 1, true, time.Hour, 1
	o.Delay, o.Jitter = delay, jitter
	return o
}

// keysOnShards returns one key on each of n different ordinary shards, then one on the hot shard.
func keysOnShards(w *sim, n int) (keys [][]byte) {
	seen := map[kv.ShardID]bool{w.Router.HotShard(): true}
	for i := 0; len(keys) < n; i++ {
		if k := regKey(i); !seen[w.Router.Shard(k)] {
			seen[w.Router.Shard(k)] = true
			keys = append(keys, k)
		}
	}
	return append(keys, regKey(0))
}

// messageDelays runs one call on an idle cluster and returns its number of message delays.
func messageDelays(t *testing.T, w *sim, call func(n *node, then func(txn.Done))) (delays float64) {
	begin, end := w.Now(), int64(-1)
	call(w.nodes[0], func(d txn.Done) {
		require.Nil(t, d.Failure)
		end = w.Now()
	})
	w.Run(w.Now()+int64(time.Minute), func() bool { return end >= 0 })
	require.NoError(t, w.Err)
	w.Run(w.Now()+int64(50*oneWay), nil) // until the decision is applied everywhere
	return float64(end-begin) / float64(oneWay)
}

// delaysOf runs a one-shot, delaysOfOpen the next call of an interactive transaction, or its commit.
func delaysOf(t *testing.T, w *sim, ops ...msg.Op) float64 {
	return messageDelays(t, w, func(n *node, then func(txn.Done)) { n.execute(txn.TxnOptions{}, then, ops...) })
}

func delaysOfOpen(t *testing.T, w *sim, ref kv.TxnRef) (do func(ops ...msg.Op) float64, commit func() float64) {
	return func(ops ...msg.Op) float64 {
			return messageDelays(t, w, func(n *node, then func(txn.Done)) { n.do(ref, then, ops...) })
		}, func() float64 {
			return messageDelays(t, w, func(n *node, then func(txn.Done)) { n.commit(ref, then) })
		}
}

// TestMessageDelays checks the message delays in section 4 of the protocol, on an idle cluster.
func TestMessageDelays(t *testing.T) {
	for _, order := range []txn.Order{txn.HotLast, txn.Parallel} {
		o := steady(order)
		o.Reads = txn.LockingReads
		w := newSim(o)
		k := keysOnShards(w, 3)
		hot := k[3]
		for _, tc := range []struct {
			name string
			want float64
			ops  []msg.Op
		}{
			{"a put on one shard", 2, []msg.Op{put(k[0])}},
			{"puts on one shard, the hot one", 2, []msg.Op{put(hot)}},
			{"a get", 2, []msg.Op{get(k[1])}},
			{"puts on two shards", 3, []msg.Op{put(k[0]), put(k[1])}},
			{"puts on four shards, the hot one among them", 3, []msg.Op{put(k[0]), put(k[1]), put(k[2]), put(hot)}},
			{"a get here and a put there", 3, []msg.Op{get(k[0]), put(hot)}},
			{"gets on three shards under locks", 4, []msg.Op{get(k[0]), get(k[1]), get(hot)}},
		} {
			t.Run(fmt.Sprint(order, " ", tc.name), func(t *testing.T) {
				require.InDelta(t, tc.want, delaysOf(t, w, tc.ops...), 0.01)
			})
		}
		t.Run(fmt.Sprint(order, " interactive"), func(t *testing.T) {
			ref, f := w.nodes[0].open(false, txn.TxnOptions{})
			require.Nil(t, f)
			do, commit := delaysOfOpen(t, w, ref)
			require.InDelta(t, 2, do(get(k[0])), 0.01)
			require.InDelta(t, 2, do(get(hot)), 0.01)
			require.InDelta(t, 0, do(put(k[0]), put(k[1])), 0.01)
			require.InDelta(t, 0, do(get(k[1])), 0.01) // its own write
			require.InDelta(t, 3, commit(), 0.01)
		})
	}
}

// TestMessageDelaysOfReaders checks the message delays in section 7.
func TestMessageDelaysOfReaders(t *testing.T) {
	for plan, want := range map[txn.Plan]float64{txn.PlanParallel: 2, txn.PlanHotLast: 3} {
		o := steady(txn.HotLast)
		o.Plan = plan
		w := newSim(o)
		k := keysOnShards(w, 3)
		for _, tc := range []struct {
			name string
			want float64
			ops  []msg.Op
		}{
			{"a get", 2, []msg.Op{get(k[1])}},
			{"a get of a hot key", 2, []msg.Op{get(k[3])}},
			{"gets on three shards", want, []msg.Op{get(k[0]), get(k[1]), get(k[2])}},
			{"gets on three shards and a hot shard", want, []msg.Op{get(k[0]), get(k[1]), get(k[2]), get(k[3])}},
		} {
			t.Run(fmt.Sprint(plan, " ", tc.name), func(t *testing.T) {
				require.InDelta(t, tc.want, delaysOf(t, w, tc.ops...), 0.01)
			})
		}
		t.Run(fmt.Sprint(plan, " open"), func(t *testing.T) {
			ref, f := w.nodes[0].open(true, txn.TxnOptions{})
			require.Nil(t, f)
			do, commit := delaysOfOpen(t, w, ref)
			require.InDelta(t, 2, do(get(k[0]), get(k[3])), 0.01)
			require.InDelta(t, 2, do(get(k[1])), 0.01)
			require.InDelta(t, 0, do(get(k[0])), 0.01) // the reader is registered there
			require.InDelta(t, 0, commit(), 0.01)
		})
		t.Run(fmt.Sprint(plan, " snapshot"), func(t *testing.T) {
			var ref kv.TxnRef
			require.InDelta(t, 3, messageDelays(t, w, func(n *node, then func(txn.Done)) {
				n.request(func(g *txn.Gateway, now int64, tok txn.CallHandle) {
					ref = g.Scan(now, tok, w.newID(), kv.Range(nil, nil), false, forever, txn.TxnOptions{})
				}, then)
			}), 0.01)
			require.InDelta(t, 2, messageDelays(t, w, func(n *node, then func(txn.Done)) {
				n.request(func(g *txn.Gateway, now int64, tok txn.CallHandle) { g.Next(now, tok, ref, 1000) }, then)
			}), 0.01)
		})
		require.NoError(t, w.Idle())
	}
}

// TestBusyShardIsReadOnceAndLast: a busy hot shard is read last, unregistered. A reader of it and of three other shards
// then costs it one message instead of four, and takes one message delay more.
func TestBusyShardIsReadOnceAndLast(t *testing.T) {
	o := steady(txn.HotLast)
	o.Plan = txn.PlanHotLast
	w := newSim(o)
	k := keysOnShards(w, 3)
	ops := []msg.Op{get(k[0]), get(k[1]), get(k[2]), get(k[3])}
	hot := w.shards[w.Router.HotShard()]
	read := func() (delays float64, messages int) {
		before := hot.messageCount
		delays = delaysOf(t, w, ops...)
		return delays, hot.messageCount - before
	}
	for _, busy := range []bool{false, true} {
		hot.fullyLoaded = busy
		read() // its response reports the load to the gateway
		delays, messages := read()
		want := map[bool]float64{false: 3, true: 4}[busy]
		require.InDelta(t, want, delays, 0.01)
		require.Equal(t, map[bool]int{false: 4, true: 1}[busy], messages)
	}
	require.NoError(t, w.Idle())
}

// TestHotLocksDoNotOutliveAStep runs contended one-shots. In hot-last order no lock outlives a step of the hot shard;
// in parallel order locks do.
func TestHotLocksDoNotOutliveAStep(t *testing.T) {
	held := func(order txn.Order) (steps, locked int) {
		o := steady(order)
		o.Jitter, o.Sync, o.Clients, o.Txns, o.Registers = oneWay, oneWay, 20, 20, 6
		o.Mix = Mix{OneShot: 1, MaxOps: 4, Ops: OpMix{Put: 1, Add: 3, Condition: 1}}
		w := newSim(o)
		w.startClients()
		hot := w.shards[w.Router.HotShard()]
		w.Run(int64(time.Hour), func() bool {
			steps++
			if hot.M.Status(0).Holders > 0 {
				locked++
			}
			return w.unfinished == 0
		})
		require.NoError(t, w.Err)
		w.settle()
		w.check()
		require.NoError(t, w.Err)
		require.Greater(t, w.sum.Committed, 200)
		return steps, locked
	}
	_, locked := held(txn.HotLast)
	require.Zero(t, locked)
	steps, locked := held(txn.Parallel)
	require.Greater(t, locked, steps/10)
}
