package embed

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/metrics"
	"github.com/linchpindb/linchpin/pkg/node/groups"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// TestReplicasAreReported: by each node of a cluster, and what is missing while one of them is stopped.
func TestReplicasAreReported(t *testing.T) {
	c, err := StartCluster(ClusterOptions{Dir: t.TempDir(), Nodes: 3, Shards: 3, Replicas: 3, NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop(context.Background())) })
	eventually := func(node kv.NodeID, what string, is func(*pb.ShardStatus) bool) {
		t.Helper()
		defer func() {
			if t.Failed() {
				t.Logf("%v: %+v", node, c.member(node).Shards())
			}
		}()
		require.Eventually(t, func() bool {
			for _, sh := range c.member(node).Shards() {
				if !is(&sh) {
					return false
				}
			}
			return true
		}, 5*time.Second, 10*time.Millisecond, what)
	}
	for node := range kv.NodeID(3) {
		eventually(node+1, "all have a leader and three replicas", func(sh *pb.ShardStatus) bool {
			return sh.Up && sh.NodeId != 0 && sh.Term > 0 && sh.LeaseMs > 0 && len(sh.Replicas) == 3 && sh.Missing == 0 &&
				sh.Incarnation == sh.Term && sh.Replicas[0].Lag == 0
		})
	}
	st := c.member(2).Status()
	require.Equal(t, uint32(3), st.Replicas)
	led := 0
	for _, m := range st.Members {
		require.Equal(t, uint32(4), m.Replicas)
		led += len(m.Shards)
	}
	require.Equal(t, 4, led, "each shard is led by one node")

	require.NoError(t, c.StopNode(3))
	eventually(1, "n3 is missing", func(sh *pb.ShardStatus) bool {
		return sh.Up && sh.NodeId != 3 && sh.Missing == 1 && sh.MissingReason == "n3 is down"
	})
}

// TestWithoutReplicasNothingIsReported.
func TestWithoutReplicasNothingIsReported(t *testing.T) {
	c, err := StartCluster(ClusterOptions{Dir: t.TempDir(), Nodes: 2, Shards: 2, NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop(context.Background())) })
	require.Zero(t, c.member(1).Status().Replicas)
	for _, sh := range c.member(1).Shards() {
		require.Zero(t, sh.Term)
		require.Empty(t, sh.Replicas)
		require.Empty(t, sh.MissingReason)
	}
}

// TestReplicasHaveMetrics: each shard is led by one node, whose metrics have its followers.
func TestReplicasHaveMetrics(t *testing.T) {
	c, err := StartCluster(ClusterOptions{Dir: t.TempDir(), Nodes: 3, Shards: 3, Replicas: 3, NoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Stop(context.Background())) })
	sum := func(name string) (sum float64, series int) {
		for node := range kv.NodeID(3) {
			all, err := c.Metrics(node + 1).Registry().Gather()
			require.NoError(t, err)
			for _, f := range all {
				for _, m := range f.Metric {
					if f.GetName() == name {
						sum, series = sum+m.GetGauge().GetValue()+m.GetCounter().GetValue(), series+1
					}
				}
			}
		}
		return sum, series
	}
	require.Eventually(t, func() bool {
		led, all := sum("linchpin_shard_leads")
		_, followers := sum("linchpin_shard_follower_lag_entries")
		_, hot := sum("linchpin_hot_moved_keys")
		return led == 4 && all == 12 && followers == 8 && hot == 1
	}, 20*time.Second, 20*time.Millisecond)
	begun, _ := sum("linchpin_shard_leaderships_total")
	require.GreaterOrEqual(t, begun, 4.0)
	elections, _ := sum("linchpin_shard_elections_total")
	require.GreaterOrEqual(t, elections, begun)
	bytes, _ := sum("linchpin_raft_log_bytes_total")
	require.Positive(t, bytes)
}

// TestFollowersOfOneNodeHaveOneSeries: n3 has a damaged replica and the one that replaces it.
func TestFollowersOfOneNodeHaveOneSeries(t *testing.T) {
	st := groups.Status{Replica: 1, Members: []groups.Member{{Replica: 1, Node: 1}, {Replica: 2, Node: 2, Lag: 1},
		{Replica: 3, Node: 3, Lag: 900, Silent: time.Minute}, {Replica: 4, Node: 3, Learner: true, Lag: 5}, {Replica: 5}}}
	require.Equal(t, []metrics.FollowerStats{{Node: 2, Lag: 1}, {Node: 3, Lag: 5}}, followers(&st))
}
