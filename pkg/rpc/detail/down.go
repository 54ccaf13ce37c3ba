package detail

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Down lists the members that a node does not reach, by its status, with what cannot be
// had until they are back.
func Down(st *pb.StatusResponse) (nodes []kv.Down) {
	for i := range st.Members {
		m := &st.Members[i]
		if m.Up || m.Self || len(m.Shards) == 0 {
			continue
		}
		nodes = append(nodes, *down(&pb.NodeDown{NodeId: m.NodeId, Address: m.Address, Shards: m.Shards,
			Hot: slices.Contains(m.Shards, st.HotShard), KeyspacePercent: m.KeyspacePercent}))
	}
	return nodes
}
