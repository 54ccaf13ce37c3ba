// Package hotshard places keys on shards and measures contention: slots for most keys, the hot shard for
// the few contended ones (linchpin keys; Lam and Helt 2019), and the heat order that makes the hottest
// shard the last agent of a transaction.
//
// Placement. A key belongs to one of kv.Slots slots, by a hash of its tag. The tag is the part between the
// first '{' and the next '}' if that is not empty, else the whole key; keys with one tag share a shard.
// Slots are assigned to the ordinary shards in equal runs. The keys of the hot map are on the hot shard,
// which has the highest number and no other keys.
//
//		shard ── Meter ── load report ──┐
//		                                ├──▶ hot shard: Survey, Planner ── heat map ──▶ all gateways
//		gateway ── Pairs ─ pair report ─┘                            └── moves ──▶ gateway of the node
//
//	 1. A Meter on each shard ranks its keys by the waiting that they cause, and counts conflicting writes.
//	 2. A Survey on the hot shard merges the load reports into the heat map.
//	 3. A gateway orders the shards of a transaction by the heat of its keys there. If no heat is known, the
//	    higher number counts as hotter, so the hot shard is the last agent.
//	 4. A Planner on the hot shard decides which keys are moved there and back. The Pairs of the gateways
//	    report which keys are written together.
//
// The heat order affects speed only. The protocol is correct for any order, and for gateways that disagree
// (docs/decisions/0011-heat.md).
//
// Guarantee: each key is placed by the same rule on all nodes, which depends on the configuration of the cluster
// only. A move changes where a key is, but not its home.
//
// Example. Transactions write k1 and k2, which are hot and have homes on different shards. In each transaction the
// hotter one is decided without a lock across the network, and the other one is locked for a message delay. The
// planner moves both: from then on the hot shard decides both in one step. When they are quiet, they move home.
//
// Hazard: reports may be lost, and a planner begins anew after a restart. So a decision must be harmless if it is
// wrong, and must not be taken back too soon.
//
// Packages shard/contention and txn/heat rely on this package, on the two sides of the reports.
package hotshard

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
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

// Tag returns the part of a key that determines its slot.
func Tag(key []byte) []byte {
	if i := bytes.IndexByte(key, '{'); i >= 0 {
		if n := bytes.IndexByte(key[i+1:], '}'); n > 0 {
			return key[i+1 : i+1+n]
		}
	}
	return key
}

// Slot returns the slot of a key, from 0 to kv.Slots-1.
func Slot(key []byte) int { return int(xxhash.Sum64(Tag(key)) % kv.Slots) }

// Shard returns the home shard of a key.
func (r *Router) Shard(key []byte) kv.ShardID {
	if len(r.hot) > 0 {
		if _, ok := r.hot[string(key)]; ok {
			return r.shards
		}
	}
	return kv.ShardID(Slot(key) * int(r.shards) / kv.Slots)
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
	shards := r.ShardsOf(n)
	return &kv.Down{Node: n, Address: address, Shards: shards, Hot: slices.Contains(shards, r.shards),
		Keyspace: r.Keyspace(shards)}
}

// Nodes is the number of nodes.
func (r *Router) Nodes() int { return r.placement.Nodes }

// Hotter reports whether shard a counts as hotter than b if no heat is known.
func (r *Router) Hotter(a, b kv.ShardID) bool { return a > b }
