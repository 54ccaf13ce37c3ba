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
	return Options{Seed: 1, Nodes: 3, Shards: 4, Registers: 40, Counters: 1, HotKeys: 1, Order: order, Learned: true,
		Far: true, Delay: oneWay,
		Repeat: 100 * time.Millisecond, Liveness: time.Second, Bound: time.Hour, Mix: Mix{MaxOps: 1}}
}

// keysOnShards returns one key on each of n different ordinary shards, then one on the hot shard.
func keysOnShards(w *world, n int) (keys [][]byte) {
	seen := map[kv.ShardID]bool{w.router.HotShard(): true}
	for i := 0; len(keys) < n; i++ {
		if k := regKey(i); !seen[w.router.Shard(k)] {
			seen[w.router.Shard(k)] = true
			keys = append(keys, k)
		}
	}
	return append(keys, regKey(0))
}

// messageDelays runs one call on an idle cluster and returns its number of message delays.
func messageDelays(t *testing.T, w *world, f func(g *txn.Gateway, now int64, tok txn.CallHandle)) (delays float64) {
	begin, end := w.now, int64(-1)
	n := w.nodes[0]
	w.call(n, func(now int64, tok txn.CallHandle) { f(n.machines[0], now, tok) }, func(d txn.Done, lost bool) {
		require.False(t, lost)
		require.Nil(t, d.Failure)
		end = w.now
	})
	w.run(w.now+int64(time.Minute), func() bool { return end >= 0 })
	require.NoError(t, w.err)
	w.run(w.now+int64(50*oneWay), func() bool { return false }) // until the decision is applied everywhere
	return float64(end-begin) / float64(oneWay)
}

func put(k []byte) msg.Op { return msg.Op{Kind: msg.OpPut, Key: k, Value: []byte("v")} }
func get(k []byte) msg.Op { return msg.Op{Kind: msg.OpGet, Key: k} }

const forever = int64(1) << 60

// TestMessageDelays checks the message delays in section 4 of the protocol, on an idle cluster.
func TestMessageDelays(t *testing.T) {
	for _, order := range []txn.Order{txn.HotLast, txn.Parallel} {
		o := steady(order)
		o.Reads = txn.LockingReads
		w := newWorld(o)
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
				w.sum.Txns++
				id := kv.TxnID{Time: wallBase + w.now, Rand: uint64(w.sum.Txns)}
				got := messageDelays(t, w, func(g *txn.Gateway, now int64,
					tok txn.CallHandle) {
					g.Execute(now, tok, id, tc.ops, forever, txn.TxnOptions{})
				})
				require.InDelta(t, tc.want, got, 0.01)
			})
		}
		t.Run(fmt.Sprint(order, " interactive"), func(t *testing.T) {
			n := w.nodes[0]
			ref := kv.TxnRef{TxnID: kv.TxnID{Time: wallBase + w.now, Rand: 99}, Attempt: 1}
			require.Nil(t, n.machines[0].Begin(n.local(w.now), ref, false, txn.TxnOptions{}))
			do := func(ops ...msg.Op) float64 {
				return messageDelays(t, w, func(g *txn.Gateway, now int64, tok txn.CallHandle) { g.Do(now, tok, ref, ops, 0) })
			}
			require.InDelta(t, 2, do(get(k[0])), 0.01)
			require.InDelta(t, 2, do(get(hot)), 0.01)
			require.InDelta(t, 0, do(put(k[0]), put(k[1])), 0.01)
			require.InDelta(t, 0, do(get(k[1])), 0.01) // its own write
			require.InDelta(t, 3, messageDelays(t, w, func(g *txn.Gateway, now int64,
				tok txn.CallHandle) {
				g.Commit(now, tok, ref, forever)
			}), 0.01)
		})
	}
}

// TestMessageDelaysOfReaders checks the message delays in section 7.
func TestMessageDelaysOfReaders(t *testing.T) {
	for plan, want := range map[txn.Plan]float64{txn.PlanParallel: 2, txn.PlanHotLast: 3} {
		o := steady(txn.HotLast)
		o.Plan = plan
		w := newWorld(o)
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
				w.sum.Txns++
				id := kv.TxnID{Time: wallBase + w.now, Rand: uint64(w.sum.Txns)}
				require.InDelta(t, tc.want, messageDelays(t, w, func(g *txn.Gateway, now int64,
					tok txn.CallHandle) {
					g.Execute(now, tok, id, tc.ops, forever, txn.TxnOptions{})
				}), 0.01)
			})
		}
		t.Run(fmt.Sprint(plan, " open"), func(t *testing.T) {
			n := w.nodes[0]
			ref := kv.TxnRef{TxnID: kv.TxnID{Time: wallBase + w.now, Rand: 99}, Attempt: 1}
			require.Nil(t, n.machines[0].Begin(n.local(w.now), ref, true, txn.TxnOptions{}))
			do := func(ops ...msg.Op) float64 {
				return messageDelays(t, w, func(g *txn.Gateway, now int64, tok txn.CallHandle) { g.Do(now, tok, ref, ops, 0) })
			}
			require.InDelta(t, 2, do(get(k[0]), get(k[3])), 0.01)
			require.InDelta(t, 2, do(get(k[1])), 0.01)
			require.InDelta(t, 0, do(get(k[0])), 0.01) // the reader is registered there
			require.InDelta(t, 0, messageDelays(t, w, func(g *txn.Gateway, now int64,
				tok txn.CallHandle) {
				g.Commit(now, tok, ref, forever)
			}), 0.01)
		})
		t.Run(fmt.Sprint(plan, " snapshot"), func(t *testing.T) {
			id := kv.TxnID{Time: wallBase + w.now, Rand: 100}
			var ref kv.TxnRef
			require.InDelta(t, 3, messageDelays(t, w, func(g *txn.Gateway, now int64, tok txn.CallHandle) {
				ref = g.Scan(now, tok, id, kv.Range(nil, nil), false, forever, txn.TxnOptions{})
			}), 0.01)
			require.InDelta(t, 2, messageDelays(t, w, func(g *txn.Gateway, now int64,
				tok txn.CallHandle) {
				g.Next(now, tok, ref, 1000)
			}), 0.01)
		})
		for _, s := range w.shards {
			require.NoError(t, s.m.CheckIdle())
		}
	}
}

// TestBusyShardIsReadOnceAndLast: a busy hot shard is read last, unregistered. A reader of it and of three other shards
// then costs it one message instead of four, and takes one message delay more.
func TestBusyShardIsReadOnceAndLast(t *testing.T) {
	o := steady(txn.HotLast)
	o.Plan = txn.PlanHotLast
	w := newWorld(o)
	k := keysOnShards(w, 3)
	ops := []msg.Op{get(k[0]), get(k[1]), get(k[2]), get(k[3])}
	hot := w.shards[w.shardAt(w.router.HotShard())]
	read := func() (delays float64, messages int) {
		w.sum.Txns++
		before := hot.messageCount
		id := kv.TxnID{Time: wallBase + w.now, Rand: uint64(w.sum.Txns)}
		delays = messageDelays(t, w, func(g *txn.Gateway, now int64,
			tok txn.CallHandle) {
			g.Execute(now, tok, id, ops, forever, txn.TxnOptions{})
		})
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
	for _, s := range w.shards {
		require.NoError(t, s.m.CheckIdle())
	}
}

// TestHotLocksDoNotOutliveAStep runs contended one-shots. In hot-last order no lock outlives a step of the hot shard;
// in parallel order locks do.
func TestHotLocksDoNotOutliveAStep(t *testing.T) {
	held := func(order txn.Order) (steps, locked int) {
		o := steady(order)
		o.Jitter, o.Sync, o.Clients, o.Txns, o.Registers = oneWay, oneWay, 20, 20, 6
		o.Mix = Mix{OneShot: 1, MaxOps: 4, Ops: OpMix{Put: 1, Add: 3, Condition: 1}}
		w := newWorld(o)
		w.startClients()
		hot := w.shards[w.shardAt(w.router.HotShard())]
		w.run(int64(time.Hour), func() bool {
			steps++
			if hot.m.Status(0).Holders > 0 {
				locked++
			}
			return w.unfinished == 0
		})
		require.NoError(t, w.err)
		w.settle()
		w.check()
		require.NoError(t, w.err)
		require.Greater(t, w.sum.Committed, 200)
		return steps, locked
	}
	_, locked := held(txn.HotLast)
	require.Zero(t, locked)
	steps, locked := held(txn.Parallel)
	require.Greater(t, locked, steps/10)
}
