package sim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// TestUntrustedClocks runs random clusters whose shards have three replicas, without leases, and whose clocks run at
// half the right rate to twice of it.
func TestUntrustedClocks(t *testing.T) { runSeeds(t, *timeFlag/4, DrawClocks) }

// TestMessageDelaysWithoutLeases checks what it costs to rely on no clock (R3.14): two delays for each response that
// reports the present. A heartbeat is sent for it immediately: without that, it would wait for the next one, up to
// 100 ms, which is 1,000 delays.
func TestMessageDelaysWithoutLeases(t *testing.T) {
	o := replicated(steady(txn.HotLast))
	o.NoLeases = true
	w := led(t, o)
	k := keysOnShards(w, 3)
	hot := k[3]
	for _, tc := range []struct {
		name string
		want float64
		ops  []msg.Op
	}{
		{"a put on one shard", 4, []msg.Op{put(k[0])}},
		{"puts on four shards, the hot one among them", 7, []msg.Op{put(k[0]), put(k[1]), put(k[2]), put(hot)}},
		{"a get", 4, []msg.Op{get(k[1])}},
		{"a get of a hot key", 4, []msg.Op{get(hot)}},
		{"gets on two shards: locks, and their check", 8, []msg.Op{get(k[0]), get(k[1])}},
	} {
		t.Run(tc.name, func(t *testing.T) { require.InDelta(t, tc.want, delaysOf(t, w, tc.ops...), 0.01) })
	}
	t.Run("snapshot", func(t *testing.T) { // registered 3, notice 1, fixed 3, confirmed 4
		require.InDelta(t, 11, messageDelays(t, w, func(n *node, then func(txn.Done)) {
			n.request(func(g *txn.Gateway, now int64, tok txn.CallHandle) {
				g.Scan(now, tok, w.newID(), kv.Range(nil, nil), false, forever, txn.TxnOptions{})
			}, then)
		}), 0.01)
	})
}

// withFastClock runs three nodes that measure each other's clocks for a time, under load. The clock of the last one
// runs at a rate. It returns how many shards that node leads at the end.
func withFastClock(t *testing.T, rate float64, broken mutant.Set) (w *sim, leads int) {
	o := replicated(steady(txn.HotLast))
	o.ClocksMeasured, o.Rates, o.Shards, o.Mutants = true, [2]float64{1, 1}, 5, broken
	o.Clients, o.Txns = 3, 100
	o.Mix = Mix{OneShot: 1, Ops: OpMix{Put: 1, Get: 1}, MaxOps: 2, Think: 200 * time.Millisecond}
	w = newSim(o)
	w.Nodes[2].SetRate(rate)
	w.startClients()
	w.Run(int64(15*time.Second), nil)
	require.NoError(t, w.Err)
	for _, s := range w.Shards {
		require.NotNil(t, s.M)
		if s.Node == w.nodes[2].Node {
			leads++
		}
	}
	w.Run(int64(time.Minute), func() bool { return w.unfinished == 0 })
	require.NoError(t, w.Err)
	require.Zero(t, w.unfinished)
	return w, leads
}

// TestNodeWithFastClockLeadsNothing: its peers find it 5 % too fast, it finds that all of them are too slow, and the
// others lead its shards (R10.8). Clients go on.
func TestNodeWithFastClockLeadsNothing(t *testing.T) {
	w, leads := withFastClock(t, 1.05, mutant.Set{})
	require.Zero(t, leads)
	for _, n := range []kv.NodeID{1, 2} {
		faster, isOff := w.Nodes[n-1].Clocks.Rate(3)
		require.True(t, isOff)
		require.InDelta(t, 0.05, faster, 0.002)
		_, isOff = w.Nodes[n-1].Clocks.Rate(3 - n)
		require.False(t, isOff, "the clocks of the others agree")
		_, isOff = w.Nodes[2].Clocks.Rate(n)
		require.True(t, isOff)
	}
	_, leads = withFastClock(t, 1.01, mutant.Set{})
	require.NotZero(t, leads, "1 % is within what is tolerated")
}
