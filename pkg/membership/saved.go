package membership

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// Config are the flags of a node.
type Config struct {
	// Address is where other nodes call this one, normalized.
	Address string
	// List is the sorted list of initial members including Address (see JoinList). For an existing member it
	// is a list of addresses to try.
	List []string
	// Shards is the number of shards of a new cluster, including the hot shard.
	Shards int
	// Replicas is the number of replicas of each shard of a new cluster: 1, 3, 5 or 7, or 0 for 1. With fewer nodes there
	// are fewer (kv.ReplicasOn).
	Replicas int
	// NoLeases: the leaders of a new cluster have no leases, because clocks cannot be trusted (R3.14).
	NoLeases bool
	// HotKeys are the keys placed on the hot shard when the cluster is formed.
	HotKeys [][]byte
	// NewID is the id of the cluster if this node is the founder. The default is random.
	NewID string
	// NewStamp returns stamps, none of them 0. The default is random.
	NewStamp func() uint64
}

func (c Config) check() error {
	switch {
	case c.Address == "":
		return kv.Errorf(kv.KindInvalid, "a node needs an address")
	case !slices.IsSorted(c.List) || !slices.Contains(c.List, c.Address) ||
		len(slices.Compact(slices.Clone(c.List))) != len(c.List):
		return kv.Errorf(kv.KindInvalid, "the list of members %v is unsorted, or does not contain %s exactly once", c.List,
			c.Address)
	case len(c.List) > kv.MaxNodes:
		return kv.Errorf(kv.KindInvalid, "a cluster has at most %d members; the list has %d", kv.MaxNodes, len(c.List))
	case c.Shards < 1 || c.Shards > kv.MaxShards:
		return kv.Errorf(kv.KindInvalid, "a cluster has 1 to %d shards, not %d", kv.MaxShards, c.Shards)
	case c.Replicas != 0 && kv.CheckReplicas(c.Replicas) != nil:
		return kv.CheckReplicas(c.Replicas)
	case c.NewID == "":
		return kv.Errorf(kv.KindInternal, "a node needs an id to form a cluster")
	case c.NewStamp == nil:
		return kv.Errorf(kv.KindInternal, "a node needs stamps for its store")
	}
	for _, k := range c.HotKeys {
		if err := kv.CheckKey(k); err != nil {
			return fmt.Errorf("in the list of hot keys: %w", err)
		}
	}
	return nil
}

// Placement is the table of the shards of the cluster that the node forms with the others of its list.
func (c *Config) Placement() kv.Placement { return placement(len(c.List), c.Shards, c.Replicas) }

func placement(nodes, shards, replicas int) kv.Placement {
	p := kv.FirstPlacement(shards, nodes)
	p.Replicas = kv.ReplicasOn(nodes, replicas)
	return p
}

// Saved is the content of a node's catalog: its identity and that of its cluster. Only Members, Past and Disk
// change. The JSON tags are the names in the catalog's file.
type Saved struct {
	// Cluster is the cluster's id.
	Cluster string
	// Node is this node's number, from 1.
	Node kv.NodeID
	// List is the sorted list of initial members, by their first addresses.
	List []string
	// Shards and HotKeys are those with which the cluster was formed; HotKeys are sorted.
	Shards  int
	HotKeys [][]byte `json:",omitempty"`
	// Replicas is the number of replicas of each shard with which the cluster was formed; 0 is 1.
	Replicas int `json:",omitempty"`
	// NoLeases is Config.NoLeases of the cluster.
	NoLeases bool `json:",omitempty"`
	// Disk is the number of the node's disk, 0 if the node has had it since the cluster was formed. Another one has
	// replaced a lost disk (R7.20). It may change until the node has served on it.
	Disk uint64 `json:",omitempty"`
	// Members are in the order of their numbers.
	Members []Member
	// Past is the history of the node's own store.
	Past StampHistory
}

// Placement is the table of the cluster's shards.
func (s *Saved) Placement() kv.Placement { return placement(len(s.List), s.Shards, s.Replicas) }

// isReplicated reports whether shards have several replicas, so that a lost disk can be replaced.
func (s *Saved) isReplicated() bool { return kv.ReplicasOn(len(s.List), s.Replicas) > 1 }

// Member is a node's knowledge of a member.
type Member struct {
	Node kv.NodeID
	// Address is where to call it.
	Address string
	// Moves counts the changes of its address.
	Moves uint64 `json:",omitempty"`
	// Seen: the member has the cluster in its catalog. If it starts with an empty store, it has lost one.
	Seen bool `json:",omitempty"`
	// Disk is the number of its newest disk, as Saved.Disk. It is not used for the node itself.
	Disk uint64 `json:",omitempty"`
	// StampCount and Stamp are the number and value of the last stamp of that disk, as in Past; 0 if unknown. They are
	// not used for the node itself.
	StampCount uint64 `json:"Marked,omitempty"`
	Stamp      uint64 `json:"Mark,omitempty"`
}

// Found returns what the node saves when the cluster is formed.
func (c *Config) Found(cluster string) Saved {
	s := Saved{Cluster: cluster, List: slices.Clone(c.List), Shards: c.Shards, Replicas: c.Replicas,
		NoLeases: c.NoLeases, HotKeys: sortedKeys(c.HotKeys)}
	for i, a := range c.List {
		id := kv.NodeID(i + 1)
		s.Members = append(s.Members, Member{Node: id, Address: a, Seen: a == c.Address})
		if a == c.Address {
			s.Node = id
		}
	}
	return s
}

// Check returns an error if the state is inconsistent.
func (s *Saved) Check() error {
	bad := s.Cluster == "" || s.Node < 1 || int(s.Node) > len(s.Members) ||
		len(s.List) != len(s.Members) || s.Shards < 1 || s.Replicas != 0 && kv.CheckReplicas(s.Replicas) != nil
	for i, m := range s.Members {
		bad = bad || m.Node != kv.NodeID(i+1) || m.Address == ""
	}
	if bad || !s.Past.isValid() {
		e := kv.Errorf(kv.KindCorrupt, "the membership in the catalog is incomplete: %+v", *s)
		e.Hint = "restore a backup; use a copy of the node's directory only if it was made after the node last stopped"
		return e
	}
	return nil
}

// Addresses returns the address of each member, including this node.
func (s *Saved) Addresses() map[kv.NodeID]string {
	out := map[kv.NodeID]string{}
	for _, m := range s.Members {
		out[m.Node] = m.Address
	}
	return out
}

func (s Saved) clone() *Saved {
	s.List, s.HotKeys, s.Members = slices.Clone(s.List), slices.Clone(s.HotKeys), slices.Clone(s.Members)
	s.Past.Stamps = slices.Clone(s.Past.Stamps)
	return &s
}

func sortedKeys(keys [][]byte) [][]byte {
	out := slices.Clone(keys)
	slices.SortFunc(out, bytes.Compare)
	return slices.CompactFunc(out, bytes.Equal)
}

// difference returns an error that describes how the flags of two nodes differ, naming both; nil if they
// agree.
func difference(a, b *peerpb.Introduction) error {
	if a.Version != b.Version {
		return invalid("run the same release on all nodes",
			"%s uses version %d of the peer protocol, and %s version %d", a.Address, a.Version, b.Address, b.Version)
	}
	if !slices.Equal(a.List, b.List) {
		return invalid("start all initial members with the same --join",
			"%s lists the members %v, and %s lists %v", a.Address, a.List, b.Address, b.List)
	}
	if a.Shards != b.Shards {
		return invalid("start all initial members with the same number of shards",
			"%s wants %d shards, and %s wants %d", a.Address, a.Shards, b.Address, b.Shards)
	}
	if r, o := max(a.Replicas, 1), max(b.Replicas, 1); r != o {
		return invalid("start all initial members with the same --replicas",
			"%s wants %d replicas of each shard, and %s wants %d", a.Address, r, b.Address, o)
	}
	if a.NoLeases != b.NoLeases {
		without, with := a, b
		if b.NoLeases {
			without, with = b, a
		}
		return invalid("start all initial members with the same --leader-leases",
			"%s has --leader-leases=off, and %s has not", without.Address, with.Address)
	}
	has := func(x *peerpb.Introduction, k []byte) bool {
		return slices.ContainsFunc(x.HotKeys, func(o []byte) bool { return bytes.Equal(k, o) })
	}
	for _, pair := range [][2]*peerpb.Introduction{{a, b}, {b, a}} {
		for _, k := range pair[0].HotKeys {
			if !has(pair[1], k) {
				return invalid("start all initial members with the same list of hot keys",
					"%s lists the hot key %q, and %s does not", pair[0].Address, k, pair[1].Address)
			}
		}
	}
	return nil
}
