package simulated_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/load/app"
	"github.com/linchpindb/linchpin/test/bench/simulated"
)

// smallRetwis has so many posts in the beginning, 0 for few, and ends so many
// transactions.
func smallRetwis(seed uint64, posts, txns int) simulated.Options {
	o := smallApp("retwis")
	o.Drain, o.Seed, o.Clients = false, seed, 16
	o.WarmTxns, o.MeasureTxns = txns/7, txns
	o.App = func(e app.Env) (app.App, error) {
		return app.NewRetwis(e, app.Retwis{Scale: 8, Posts: posts, Mix: app.RetwisPostHeavy})
	}
	return o
}

// bounds are those of 64 clients, from a run of one.
func bounds(t *testing.T, o simulated.Options) (latency, cores float64) {
	o.OnlyClient = true
	r, err := simulated.Run(o)
	require.NoError(t, err)
	require.Equal(t, o.MeasureTxns, r.All.Committed)
	return r.Bounds(64)
}

// TestBoundsAreStable: where timelines are full a transaction is as dear as the
// next, and the bounds are the same however long the run is and, within a few per
// cent, whatever is drawn: the graph, too.
func TestBoundsAreStable(t *testing.T) {
	var firstLatency, firstCores float64
	for _, seed := range []uint64{1, 2, 3} {
		latency, cores := bounds(t, smallRetwis(seed, 1024, 2400))
		shortLatency, shortCores := bounds(t, smallRetwis(seed, 1024, 1200))
		t.Logf("seed %d: latency %.0f, of a short run %.0f; cores %.0f, %.0f", seed, latency, shortLatency, cores, shortCores)
		require.InEpsilon(t, latency, shortLatency, 0.05)
		require.InEpsilon(t, cores, shortCores, 0.05)
		if firstCores == 0 {
			firstLatency, firstCores = latency, cores
		}
		require.InEpsilon(t, firstLatency, latency, 0.06)
		require.InEpsilon(t, firstCores, cores, 0.06)
	}
}

// TestRetwisReachesItsBound, from empty timelines, if the bound is that of as many
// transactions. Of fewer it is higher, since timelines fill up.
func TestRetwisReachesItsBound(t *testing.T) {
	var before float64
	for _, txns := range []int{500, 4000} {
		o := smallRetwis(1, 0, txns)
		latency, cores := bounds(t, o)
		r, err := simulated.Run(o)
		require.NoError(t, err)
		bound := min(latency, cores)
		t.Logf("%d transactions: bounds %.0f and %.0f, reached %.0f; messages %.2f", txns, latency, cores, r.PerSecond,
			r.Messages)
		require.Greater(t, r.PerSecond, 0.8*bound)
		require.Less(t, r.PerSecond, 1.15*bound, "more than sharing reads explains")
		if before > 0 {
			require.Greater(t, before, 1.2*bound, "timelines do not fill up")
		}
		before = bound
	}
}
