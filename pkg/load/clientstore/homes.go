package clientstore

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/client/admin"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/load/workload"
)

// homes is where a cluster's keys live. The cluster reports its shards and their nodes; the rule of
// package hotshard gives the shard of a key. Keys that were moved to the hot shard are not known: they
// count as keys of their home shard.
type homes struct {
	router *hotshard.Router
	nodes  []kv.NodeID // by ordinary shard
	// at has the connections, which clients use in turn.
	at []at
}

// at is a connection and the node that it leads to.
type at struct {
	store *Store
	node  kv.NodeID
}

// Homes queries the cluster where keys live. Client i uses connection i modulo their number, and its
// home is the node that the connection leads to now. The home stays the same if the connection fails
// over to another node.
func (s *Store) Homes(ctx context.Context) (workload.Homes, error) {
	h := &homes{}
	for _, c := range s.connections {
		status, err := admin.New(c.db).Status(ctx)
		if err != nil {
			return nil, err
		}
		h.at = append(h.at, at{&Store{connections: []*connection{c}}, kv.NodeID(status.Node)})
	}
	shards, err := admin.New(s.connections[0].db).Shards(ctx)
	if err != nil {
		return nil, err
	}
	byShard := map[int]kv.NodeID{}
	for _, shard := range shards {
		if !shard.Hot {
			byShard[shard.Shard] = kv.NodeID(shard.Node)
		}
	}
	for i := range len(byShard) {
		node, known := byShard[i]
		if !known {
			return nil, kv.Errorf(kv.KindInternal, "the cluster reports %d shards, and not number %d", len(byShard), i)
		}
		h.nodes = append(h.nodes, node)
	}
	// A router needs the number of nodes only for what is not used here.
	h.router, err = hotshard.NewRouter(len(h.nodes), 1, nil)
	return h, err
}

func (h *homes) Client(i int) (workload.Store, kv.NodeID) {
	c := h.at[i%len(h.at)]
	return c.store, c.node
}

func (h *homes) Key(key []byte) kv.NodeID { return h.nodes[h.router.Shard(key)] }
