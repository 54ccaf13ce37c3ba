package hotshard

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Router maps keys to shards and shards to nodes. It is immutable and safe for concurrent use.
type Router struct {
	placement kv.Placement
	shards    kv.ShardID // number of ordinary shards, and id of the hot shard
	hot       map[string]struct{}
}

// NewRouter makes a router for a number of ordinary shards (at least 1) and of nodes (at least 1) in their
// first placement, with the given keys on the hot shard.
func NewRouter(shards, nodes int, hotKeys [][]byte) (*Router, error) {
	return NewPlacedRouter(kv.FirstPlacement(shards+1, nodes), hotKeys)
}

// NewPlacedRouter makes a router for the shards of a placement, with the given keys on the hot shard.
func NewPlacedRouter(p kv.Placement, hotKeys [][]byte) (*Router, error) {
	err := p.Check()
	if err != nil {
		return nil, err
	}
	r := &Router{placement: p, shards: p.HotShard(), hot: make(map[string]struct{}, len(hotKeys))}
	for _, k := range hotKeys {
		if err := kv.CheckKey(k); err != nil {
			return nil, fmt.Errorf("hot key: %w", err)
		}
		r.hot[string(k)] = struct{}{}
	}
	return r, nil
}

// Shard returns the home shard of a key.
func (r *Router) Shard(key []byte) kv.ShardID {
	if len(r.hot) > 0 {
		if _, ok := r.hot[string(key)]; ok {
			return r.shards
		}
	}
	return kv.HomeShard(key, int(r.shards))
}

// HotShard returns the hot shard.
func (r *Router) HotShard() kv.ShardID { return r.shards }

// HotKeys returns the keys of the hot map in order.
func (r *Router) HotKeys() [][]byte {
	out := make([][]byte, 0, len(r.hot))
	for k := range r.hot {
		out = append(out, []byte(k))
	}
	slices.SortFunc(out, bytes.Compare)
	return out
}

// Shards is the number of shards including the hot shard. Their ids are 0 to Shards()-1.
func (r *Router) Shards() int { return int(r.shards) + 1 }

// Node returns the node of a shard, 0 if there is no such shard.
func (r *Router) Node(s kv.ShardID) kv.NodeID { return r.placement.Node(s) }

// ShardsOf returns the shards of a node, in order.
func (r *Router) ShardsOf(n kv.NodeID) []kv.ShardID { return r.placement.ShardsOf(n) }

// Placement returns the table of the cluster's shards.
func (r *Router) Placement() kv.Placement { return r.placement }

// Keyspace is the share of the keyspace whose home is on some shards, from 0 to 100 percent. The hot shard
// is home to no key.
func (r *Router) Keyspace(shards []kv.ShardID) float64 {
	slots := 0
	for _, s := range shards {
		if s < r.shards {
			slots += r.firstSlot(s+1) - r.firstSlot(s)
		}
	}
	return 100 * float64(slots) / kv.Slots
}

// firstSlot returns the first slot of an ordinary shard.
func (r *Router) firstSlot(s kv.ShardID) int {
	return (int(s)*kv.Slots + int(r.shards) - 1) / int(r.shards)
}

// Unavailable describes what is unavailable while a node is down.
func (r *Router) Unavailable(n kv.NodeID, address string) *kv.Down {
	return r.Describe(n, address, r.ShardsOf(n))
}

// Describe describes shards that are unavailable with a node, or without leaders (kv.Down).
func (r *Router) Describe(n kv.NodeID, address string, shards []kv.ShardID) *kv.Down {
	return &kv.Down{Node: n, Address: address, Shards: shards, Hot: slices.Contains(shards, r.shards),
		Keyspace: r.Keyspace(shards)}
}

// Nodes is the number of nodes.
func (r *Router) Nodes() int { return r.placement.Nodes }

// Hotter reports whether shard a counts as hotter than b if no heat is known.
func (r *Router) Hotter(a, b kv.ShardID) bool { return a > b }
