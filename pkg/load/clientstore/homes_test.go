package clientstore_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/server/servertest"
)

// placed is a node of a cluster that has its shards where the test says.
type placed struct {
	server.Backend
	node   kv.NodeID
	shards []pb.ShardStatus
}

func (p placed) Status() *pb.StatusResponse {
	s := p.Backend.Status()
	s.NodeId = uint32(p.node)
	return s
}

func (p placed) Shards() []pb.ShardStatus { return p.shards }

func TestHomesAreThoseThatTheClusterReports(t *testing.T) {
	router, err := hotshard.NewRouter(7, 3, nil)
	require.NoError(t, err)
	shards := []pb.ShardStatus{{Shard: uint32(router.HotShard()), NodeId: uint32(router.Node(router.HotShard())),
		Hot: true}}
	for i := range kv.ShardID(7) {
		shards = append(shards, pb.ShardStatus{Shard: uint32(i), NodeId: uint32(router.Node(i))})
	}
	var addrs []string
	for node := range kv.NodeID(3) {
		addrs = append(addrs, serve(t, placed{servertest.New(), node + 1, shards}))
	}
	s := open(t, 0, addrs...)
	homes, err := s.Homes(t.Context())
	require.NoError(t, err)
	for i := range 300 {
		key := workload.RegisterKey(fmt.Sprint("p", i), uint64(i))
		require.Equal(t, router.Node(router.Shard(key)), homes.Key(key))
	}
	for i := range 6 {
		store, node := homes.Client(i)
		require.Equal(t, kv.NodeID(i%3+1), node)
		_, err := store.Execute(t.Context(), []workload.Op{op(workload.Add, "n", "", 1)})
		require.NoError(t, err)
	}
	for i := range 3 {
		one := open(t, 1, addrs[i])
		r, err := one.Execute(t.Context(), []workload.Op{op(workload.Read, "n", "", 0)})
		require.NoError(t, err)
		require.Equal(t, int64(2), r.Results[0].Number, "each node was asked by its own clients")
	}
}

func TestAPlacementWithAGapIsRefused(t *testing.T) {
	s := open(t, 1, serve(t, placed{servertest.New(), 1, []pb.ShardStatus{{Shard: 0, NodeId: 1}, {Shard: 2, NodeId: 1}}}))
	_, err := s.Homes(t.Context())
	require.ErrorContains(t, err, "not number 1")
}
