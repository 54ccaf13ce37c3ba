package embed

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/kv"
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
