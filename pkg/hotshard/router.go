// Package hotshard decides where keys live: slots for the many, the hot shard
// for the few that everyone wants (linchpin keys; Lam and Helt 2019), and the
// heat order that makes the hot shard the last agent of every transaction
// that touches it.
//
// A key falls into one of kv.Slots slots by a hash of its tag, which is the
// part between the first '{' and the next '}' if that is not empty, else of
// the whole key; so keys with one tag share a shard. Slots are dealt to the
// ordinary shards in equal runs. Above that lies the hot map: single keys
// that live on the hot shard, which has the highest number and holds nothing
// else.
//
// Which keys are hot is noticed by a Meter on each shard: it ranks the shard's
// keys by the waiting that they cause, and counts how often writes of them
// clash. A Survey on the hot shard puts together what the shards tell of that,
// for the gateways. These order the shards of a transaction by the heat of its
// keys there; where none is known the higher number counts as the hotter, so
// that the hot shard is the last agent of whatever touches it. The order is
// about speed only; the protocol is right for any, and for gateways that
// disagree (docs/decisions/0011-heat.md).
//
// A Planner on the hot shard decides which keys it is worth moving there, and
// home again. Which keys are written together it hears from the Pairs of the
// gateways.
package hotshard

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Router places keys on shards and shards on nodes. It does not change once
// made, so any goroutine may use it.
type Router struct {
	shards kv.ShardID // ordinary ones; the hot shard's id
	nodes  kv.NodeID
	hot    map[string]struct{}
}

// NewRouter makes a router for a number of ordinary shards (at least 1), and
// of nodes (at least 1), with the given keys on the hot shard.
func NewRouter(shards, nodes int, hotKeys [][]byte) (*Router, error) {
	if shards < 1 || shards >= kv.MaxShards {
		return nil, kv.Errorf(kv.KindInvalid, "%d shards; the range is 1 to %d", shards, kv.MaxShards-1)
	}
	if nodes < 1 || nodes > kv.MaxNodes {
		return nil, kv.Errorf(kv.KindInvalid, "%d nodes; the range is 1 to %d", nodes, kv.MaxNodes)
	}
	r := &Router{shards: kv.ShardID(shards), nodes: kv.NodeID(nodes), hot: make(map[string]struct{}, len(hotKeys))}
	for _, k := range hotKeys {
		if err := kv.CheckKey(k); err != nil {
			return nil, fmt.Errorf("hot key: %w", err)
		}
		r.hot[string(k)] = struct{}{}
	}
	return r, nil
}

// Tag is the part of a key that decides its slot.
func Tag(key []byte) []byte {
	if i := bytes.IndexByte(key, '{'); i >= 0 {
		if n := bytes.IndexByte(key[i+1:], '}'); n > 0 {
			return key[i+1 : i+1+n]
		}
	}
	return key
}

// Slot is the slot of a key, from 0 to kv.Slots-1.
func Slot(key []byte) int { return int(xxhash.Sum64(Tag(key)) % kv.Slots) }

// Shard is where a key lives.
func (r *Router) Shard(key []byte) kv.ShardID {
	if len(r.hot) > 0 {
		if _, ok := r.hot[string(key)]; ok {
			return r.shards
		}
	}
	return kv.ShardID(Slot(key) * int(r.shards) / kv.Slots)
}

// HotShard is the shard of the linchpin keys.
func (r *Router) HotShard() kv.ShardID { return r.shards }

// HotKeys lists the keys on the hot shard, in order.
func (r *Router) HotKeys() [][]byte {
	out := make([][]byte, 0, len(r.hot))
	for k := range r.hot {
		out = append(out, []byte(k))
	}
	slices.SortFunc(out, bytes.Compare)
	return out
}

// Shards is the number of shards, the hot one included. Their ids are 0 to
// Shards()-1.
func (r *Router) Shards() int { return int(r.shards) + 1 }

// Node is the node that a shard lives on: shards are dealt round.
func (r *Router) Node(s kv.ShardID) kv.NodeID { return kv.NodeID(s)%r.nodes + 1 }

// On lists the shards that live on a node, in order.
func (r *Router) On(n kv.NodeID) (shards []kv.ShardID) {
	for s := range kv.ShardID(r.Shards()) {
		if r.Node(s) == n {
			shards = append(shards, s)
		}
	}
	return shards
}

// Keyspace is how much of the keyspace has its home on some shards, from 0 to 100 per
// cent. The hot shard is home to no key.
func (r *Router) Keyspace(shards []kv.ShardID) float64 {
	slots := 0
	for _, s := range shards {
		if s < r.shards {
			slots += r.firstSlot(s+1) - r.firstSlot(s)
		}
	}
	return 100 * float64(slots) / kv.Slots
}

// firstSlot is the first slot of an ordinary shard.
func (r *Router) firstSlot(s kv.ShardID) int {
	return (int(s)*kv.Slots + int(r.shards) - 1) / int(r.shards)
}

// Down tells what cannot be had while a node is down.
func (r *Router) Down(n kv.NodeID, address string) *kv.Down {
	shards := r.On(n)
	return &kv.Down{Node: n, Address: address, Shards: shards, Hot: slices.Contains(shards, r.shards), Keyspace: r.Keyspace(shards)}
}

// Nodes is the number of nodes.
func (r *Router) Nodes() int { return int(r.nodes) }

// Hotter reports whether shard a counts as hotter than b where no key's heat is
// known.
func (r *Router) Hotter(a, b kv.ShardID) bool { return a > b }
