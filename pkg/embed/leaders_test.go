package embed_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/linchpindb/linchpin/pkg/embed"
	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// TestResponsesNameTheLeader: of reads and writes of one key, whichever node is asked. None is named for a hot key.
func TestResponsesNameTheLeader(t *testing.T) {
	t.Parallel()
	c, err := embed.StartCluster(embed.ClusterOptions{Dir: t.TempDir(), Replicas: 3, Shards: 3, Listen: true,
		HotKeys: [][]byte{[]byte("hot")}})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Stop(t.Context())) }()
	named := map[uint32]bool{}
	for i, addr := range c.Addrs() {
		conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		defer conn.Close()
		stream, err := pb.NewKVClient(conn).Pipeline(t.Context())
		require.NoError(t, err)
		_, err = stream.Recv() // the welcome
		require.NoError(t, err)
		at := c.Node(kv.NodeID(i + 1))
		for k := range 10 {
			key := fmt.Append(nil, "k", k)
			if k == 0 {
				key = []byte("hot")
			}
			untilServed(t, at.Gateway(), put(string(key), "v"))
			for _, op := range []pb.Op{{Op: &pb.Op_Put{Put: &pb.PutOp{Key: key, Value: key}}},
				{Op: &pb.Op_Get{Get: &pb.GetOp{Key: key}}}} {
				require.NoError(t, stream.Send(&pb.PipelineRequest{Calls: []pb.Call{{Handle: 1,
					Request: pb.ExecuteRequest{Ops: []pb.Op{op}}}}}))
				in, err := stream.Recv()
				require.NoError(t, err)
				require.Nil(t, in.Responses[0].Error)
				want := uint32(at.Leader(c.Router().Shard(key)))
				if k == 0 {
					want = 0
				}
				require.Equal(t, want, in.Responses[0].Leader, "%s at %v", key, i+1)
				named[want] = true
			}
		}
	}
	require.Greater(t, len(named), 1)
}
