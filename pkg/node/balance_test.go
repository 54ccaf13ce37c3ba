package node_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/node/balance"
	"github.com/linchpindb/linchpin/pkg/node/groups"
)

// leads returns the shards that a member leads with a lease.
func (m *groupMember) leads() (shards []kv.ShardID) {
	for _, st := range m.Groups().Status() {
		if st.Leads && st.Lease > 0 {
			shards = append(shards, st.Shard)
		}
	}
	return shards
}

// balanced reports whether each shard is led by the first node of its placement.
func (g *group) balanced() bool {
	p := g.router.Placement()
	return !slices.ContainsFunc(g.members[:], func(m *groupMember) bool {
		return !slices.Equal(m.leads(), p.ShardsOf(m.id))
	})
}

func (g *group) returned() (n uint64) {
	for _, m := range g.members {
		n += m.Groups().Stats().Transfers[slices.Index(groups.Causes[:], "balance")]
	}
	return n
}

// TestLeadersReturnToTheirNodes under load, without a failed request: when all nodes have started, and when one is
// back; but not while one is missing, nor to a node that drains.
func TestLeadersReturnToTheirNodes(t *testing.T) {
	g := newGroupWith(t, 5, &group{hold: 800 * time.Millisecond,
		balance: balance.Config{Settle: 300 * time.Millisecond, Every: 50 * time.Millisecond}})
	await := func(what string, is func() bool) {
		t.Helper()
		require.Eventually(t, is, 20*time.Second, 5*time.Millisecond, what)
	}
	await("the first leaders", g.balanced)
	lost := g.members[2]
	g.stop(lost)
	await("others lead", func() bool { return len(g.members[0].leads())+len(g.members[1].leads()) == g.router.Shards() })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	require.Zero(t, g.members[0].Groups().TransferLeaderships(ctx))
	time.Sleep(1500 * time.Millisecond)
	require.Empty(t, g.members[0].leads(), "a replica of each shard is missing")

	g.start(lost)
	g.failures = func(err *kv.Error) { t.Errorf("a request fails: %v", err) }
	stop := make(chan struct{})
	finish := g.count(stop)
	g.logged.drop()
	await("they are back", g.balanced)
	g.requireLogged(`msg="this node does not lead the shard any more" .*reason="it transfers leadership to n3: balance"`)
	returned := g.returned()
	lost.AnnounceDraining(ctx)
	require.Empty(t, lost.leads())
	time.Sleep(1500 * time.Millisecond)
	require.Empty(t, lost.leads(), "it drains")
	require.Equal(t, returned, g.returned())
	close(stop)
	acknowledged, unknown := finish()
	require.Zero(t, unknown)
	require.Equal(t, int64(acknowledged), g.sum(g.leader(0)))
}

// TestHeartbeatsLeaveTogether: those of all groups that a node leads, and the responses to them (R7.3).
func TestHeartbeatsLeaveTogether(t *testing.T) {
	g := newGroupWith(t, 23, &group{hold: 800 * time.Millisecond})
	for s := range kv.ShardID(g.router.Shards()) {
		g.leader(s)
	}
	g.eventually("all follow", func(st *groups.Status) bool { return st.Missing == 0 })
	batches, messages := g.batches.Load(), g.messages.Load()
	time.Sleep(time.Second)
	batches, messages = g.batches.Load()-batches, g.messages.Load()-messages
	t.Logf("%d messages in %d batches", messages, batches)
	require.Greater(t, messages, int64(g.router.Shards()*2*4), "of leaders alone, at half the rate at least")
	require.Greater(t, messages, 3*batches)
}
