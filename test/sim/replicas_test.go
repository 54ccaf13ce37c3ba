package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// TestReplicas runs random clusters whose shards have three replicas.
func TestReplicas(t *testing.T) { runSeeds(t, *timeFlag/2, DrawReplicas) }

// TestMembers runs random clusters whose replicas change, and whose disks get lost.
func TestMembers(t *testing.T) { runSeeds(t, *timeFlag/4, DrawMembers) }

// replicated gives the shards of a cluster three replicas.
func replicated(o Options) Options {
	o.Nodes, o.Replicas, o.Hold = 3, 3, 800*time.Millisecond
	return o
}

// led starts a cluster and waits until all shards have leaders that gateways know.
func led(t *testing.T, o Options) *sim {
	w := newSim(o)
	w.Run(int64(10*o.Hold), func() bool {
		for _, s := range w.Shards {
			if s.M == nil {
				return false
			}
		}
		return true
	})
	w.Run(w.Now()+int64(o.Hold), nil)
	require.NoError(t, w.Err)
	for _, s := range w.Shards {
		require.NotNil(t, s.M)
	}
	return w
}

// TestMessageDelaysOfReplicas checks what three replicas cost (R2.8): two message delays for each shard in sequence,
// and none for reads.
func TestMessageDelaysOfReplicas(t *testing.T) {
	w := led(t, replicated(steady(txn.HotLast)))
	k := keysOnShards(w, 3)
	hot := k[3]
	for _, tc := range []struct {
		name string
		want float64
		ops  []msg.Op
	}{
		{"a put on one shard", 4, []msg.Op{put(k[0])}},
		{"puts on one shard, the hot one", 4, []msg.Op{put(hot)}},
		{"puts on two shards", 7, []msg.Op{put(k[0]), put(k[1])}},
		{"puts on four shards, the hot one among them", 7, []msg.Op{put(k[0]), put(k[1]), put(k[2]), put(hot)}},
		{"a get", 2, []msg.Op{get(k[1])}},
		{"a get of a hot key", 2, []msg.Op{get(hot)}},
	} {
		t.Run(tc.name, func(t *testing.T) { require.InDelta(t, tc.want, delaysOf(t, w, tc.ops...), 0.01) })
	}
	t.Run("snapshot", func(t *testing.T) {
		require.InDelta(t, 3, messageDelays(t, w, func(n *node, then func(txn.Done)) {
			n.request(func(g *txn.Gateway, now int64, tok txn.CallHandle) {
				g.Scan(now, tok, w.newID(), kv.Range(nil, nil), false, forever, txn.TxnOptions{})
			}, then)
		}), 0.01)
	})
	for plan, want := range map[txn.Plan]float64{txn.PlanParallel: 2, txn.PlanHotLast: 3} {
		o := replicated(steady(txn.HotLast))
		o.Plan = plan
		w := led(t, o)
		k := keysOnShards(w, 3)
		require.InDelta(t, want, delaysOf(t, w, get(k[0]), get(k[1]), get(k[2]), get(k[3])), 0.01, "plan %v", plan)
	}
}

// contended is a cluster with many writers of few keys.
func contended() Options {
	o := steady(txn.HotLast)
	o.Jitter, o.Sync, o.Clients, o.Txns, o.Registers = oneWay, oneWay, 20, 20, 6
	o.Mix = Mix{OneShot: 1, MaxOps: 4, Ops: OpMix{Put: 1, Add: 3, Condition: 1}}
	return o
}

// TestHotLocksDoNotOutliveAStepOfALeader: a hot key is locked for no message delay, whatever the replication of what is
// written takes (R2.7).
func TestHotLocksDoNotOutliveAStepOfALeader(t *testing.T) {
	w := led(t, replicated(contended()))
	w.startClients()
	w.Run(int64(time.Hour), func() bool {
		require.Zero(t, w.Shards[w.Router.HotShard()].M.Status(0).Holders)
		return w.unfinished == 0
	})
	w.settle()
	w.check()
	require.NoError(t, w.Err)
	require.Greater(t, w.sum.Committed, 200)
}

// TestReplicasSyncNoMoreOften: what costs an fsync on the node of a shard with one replica costs one fsync on each node
// with three, and no more if there are as many commits at once. With twice the message delays that takes twice the
// clients.
func TestReplicasSyncNoMoreOften(t *testing.T) {
	start := func(o Options) (w *sim, copies float64) {
		if o.Replicas > 0 {
			return led(t, o), 3
		}
		return newSim(o), 1
	}
	idle := func(o Options, keys int) float64 {
		w, copies := start(o)
		k := keysOnShards(w, 3)
		var ops []msg.Op
		for i := range keys {
			ops = append(ops, put(k[i]))
		}
		delaysOf(t, w, ops...) // the CSNs in reserve are written
		before := w.Counts.Syncs
		for range 10 {
			delaysOf(t, w, ops...)
		}
		return float64(w.Counts.Syncs-before) / 10 / copies
	}
	o := steady(txn.HotLast)
	o.Sync = oneWay / 10
	for keys := 1; keys <= 3; keys++ {
		one, three := idle(o, keys), idle(replicated(o), keys)
		t.Logf("%d shards: %.2f fsyncs per commit with one replica, %.2f with three", keys, one, three)
		require.LessOrEqual(t, three, one, "%d shards", keys)
	}
	loaded := func(o Options) float64 {
		w, copies := start(o)
		before := w.Counts.Syncs
		w.startClients()
		w.Run(int64(time.Hour), func() bool { return w.unfinished == 0 })
		require.NoError(t, w.Err)
		w.settle()
		w.check()
		require.NoError(t, w.Err)
		return float64(w.Counts.Syncs-before) / float64(w.sum.Committed) / copies
	}
	more := replicated(contended())
	more.Clients *= 2
	one, three := loaded(contended()), loaded(more)
	t.Logf("under load: %.2f fsyncs per commit with one replica, %.2f with three and twice the clients", one, three)
	require.LessOrEqual(t, three, one)
}

// TestHotKeyRateIsThatOfItsSteps: the time that replication takes is in each response and in no wait, so with enough
// clients the rate of a hot key is the same whatever the delay between replicas is (R2.7).
func TestHotKeyRateIsThatOfItsSteps(t *testing.T) {
	const cost = 100 * time.Microsecond
	rate := func(delay time.Duration) float64 {
		o := replicated(quiet(3, 1, 1, delay, 0))
		o.Registers, o.Counters, o.Far, o.StepCost, o.Sync = 1, 1, true, cost, 100*time.Microsecond
		o.Mix = Mix{OneShot: 1, MaxOps: 1, Ops: OpMix{AddGet: 1}}
		o.Clients, o.Txns, o.Repeat = 40+int(4*delay/cost), 60, time.Second
		w := led(t, o)
		w.startClients()
		w.Run(w.Now()+int64(time.Minute), func() bool { return w.unfinished == 0 })
		require.NoError(t, w.Err)
		var decided []int64
		for _, e := range w.log.events {
			if e.decided != nil {
				decided = append(decided, e.decided.at)
			}
		}
		n := len(decided) // the first and the last quarter are not steady
		return float64(n/2) / time.Duration(decided[3*n/4]-decided[n/4]).Seconds()
	}
	base := rate(200 * time.Microsecond)
	for _, delay := range []time.Duration{time.Millisecond, 5 * time.Millisecond} {
		r := rate(delay)
		t.Logf("%.0f increments/s with 200us between replicas, %.0f with %v", base, r, delay)
		require.InEpsilon(t, base, r, 0.05)
	}
	require.Greater(t, base, 0.8*float64(time.Second/cost))
}

// TestTransfersFailNothing has leaders transfer leadership under one-shots, readers, views and scans: each call
// succeeds (R14.3). Keys hold values only, so that no request fails by itself.
func TestTransfersFailNothing(t *testing.T) {
	t.Parallel()
	sum := Summary{}
	for seed := int64(20); seed < 30; seed++ {
		w, failures := failedByTransfers(t, seed)
		require.Empty(t, failures, "seed %d", seed)
		w.sum.Counts = w.Counts
		sum.add(w.sum)
	}
	t.Logf("%d transfers, %d transactions, %d readers", sum.Transfers, sum.Txns, sum.Readers)
	require.Greater(t, sum.Transfers, 100)
}

// failedByTransfers returns the calls that fail although nothing but leaders changes.
func failedByTransfers(t *testing.T, seed int64) (w *sim, failures []string) {
	w = led(t, betweenTransfers(seed))
	w.startClients()
	w.startLeaderFaults()
	w.Run(int64(time.Hour), func() bool { return w.unfinished == 0 })
	require.NoError(t, w.Err)
	for _, x := range w.log.txns {
		switch {
		case x.failure != nil:
			failures = append(failures, name(x.ref)+": "+x.failure.Text)
		case x.outcome != committed && x.kind != scan && !x.rolledBack: // their clients may end them before
			failures = append(failures, name(x.ref))
		}
	}
	return w, failures
}

// betweenTransfers is a cluster without faults whose leaders transfer leadership all the time. Rounds wait for the next
// leader, so that no snapshot is partial.
func betweenTransfers(seed int64) Options {
	o := replicated(drawUpdates(seed))
	o.Reads, o.Order, o.Lease, o.Retention = txn.SnapshotReads, txn.HotLast, time.Second, 0
	o.Shards, o.Registers, o.Counters, o.HotKeys, o.Clients, o.Txns = 3, 6, 2, 2, 16, 60
	o.Crashes, o.Cuts, o.Loss, o.Dup, o.Straggle, o.ReadErrors, o.MaxWaiters = 0, 0, 0, 0, 0, 0, 0
	o.Hold, o.Transfers, o.Jitter, o.Sync = 100*time.Millisecond, 20, time.Millisecond, time.Millisecond
	o.Round = txn.RoundTimes{Wait: 300 * time.Millisecond, Lease: time.Second}
	o.Mix = Mix{OneShot: 10, OneShotRead: 6, InteractiveRead: 20, Scan: 2, MaxOps: 3, Think: 2 * time.Millisecond,
		Ops: OpMix{Get: 6, Put: 8, Scan: 2}}
	return o
}
