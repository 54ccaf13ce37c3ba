package clientstore

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	client "github.com/linchpindb/linchpin/pkg/oldclient"
	"github.com/linchpindb/linchpin/pkg/workload"
)

// homes is where a cluster's keys live. Which shards there are, and on which
// nodes, the cluster tells; from a key to its shard leads the rule of package
// hotshard. Not told is which keys were named for the hot shard: those are
// taken for keys of the shard that the rule gives them.
type homes struct {
	router *hotshard.Router
	nodes  []kv.NodeID // by ordinary shard
	// at has the connections, clients being dealt over them in turn.
	at []connection
}

type connection struct {
	store *Store
	node  kv.NodeID
}

// Homes asks the cluster where keys live. Client i uses connection i modulo
// their number, and is at home on the node that the connection leads to now:
// if it moves to another node because that one fails, the client moves with
// it, and its home stays where it was.
func (s *Store) Homes(ctx context.Context) (workload.Homes, error) {
	h := &homes{}
	for _, db := range s.dbs {
		status, err := db.Status(ctx)
		if err != nil {
			return nil, err
		}
		h.at = append(h.at, connection{&Store{dbs: []*client.DB{db}}, kv.NodeID(status.NodeId)})
	}
	answer, err := s.dbs[0].Shards(ctx)
	if err != nil {
		return nil, err
	}
	byShard := map[uint32]kv.NodeID{}
	for _, shard := range answer.Shards {
		if !shard.Hot {
			byShard[shard.Shard] = kv.NodeID(shard.NodeId)
		}
	}
	for i := range len(byShard) {
		node, known := byShard[uint32(i)]
		if !known {
			return nil, kv.Errorf(kv.KindInternal, "the cluster reports %d shards, and not number %d", len(byShard), i)
		}
		h.nodes = append(h.nodes, node)
	}
	// How many nodes there are matters to a router only for what is not asked.
	h.router, err = hotshard.NewRouter(len(h.nodes), 1, nil)
	return h, err
}

func (h *homes) Client(i int) (workload.Store, kv.NodeID) {
	c := h.at[i%len(h.at)]
	return c.store, c.node
}

func (h *homes) Key(key []byte) kv.NodeID { return h.nodes[h.router.Shard(key)] }
