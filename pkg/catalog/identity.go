package catalog

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// Identity is the identity of a node and of its cluster. Only Members and Past change after Init.
type Identity struct {
	// Node is this node's number, from 1: its position in List.
	Node kv.NodeID
	// Cluster is the cluster's id.
	Cluster string
	// List is the sorted list of initial members, by their first addresses.
	List []string
	// Shards is the number of shards with which the cluster was formed.
	Shards int
	// HotKeys are the keys placed on the hot shard when the cluster was formed, sorted.
	HotKeys [][]byte `json:",omitempty"`
	// Members are in the order of their numbers.
	Members []Member
	// Past is the history of the node's store.
	Past StampHistory
}

// StampHistory has the number of the store's stamps, and the last of them (package membership). The tags are the
// names in the file.
type StampHistory struct {
	Count  uint64   `json:"Marked,omitempty"`
	Stamps []uint64 `json:"Marks,omitempty"`
}

// Member is the node's knowledge of a member.
type Member struct {
	Node kv.NodeID
	// Address is where to call it.
	Address string
	// Moves counts the changes of its address.
	Moves uint64 `json:",omitempty"`
	// Seen: the member has a catalog of the cluster, so it must never start without one.
	Seen bool `json:",omitempty"`
	// StampCount and Stamp are the number and value of its last stamp; 0 if unknown.
	StampCount uint64 `json:"Marked,omitempty"`
	Stamp      uint64 `json:"Mark,omitempty"`
}

// check returns an error if the identity is inconsistent.
func (id *Identity) check() error {
	bad := func(format string, args ...any) error {
		e := kv.Errorf(kv.KindInvalid, "invalid identity of a node: "+format, args...)
		e.Hint = hintRestore
		return e
	}
	switch {
	case id.Cluster == "":
		return bad("it has no cluster")
	case len(id.Members) == 0 || len(id.Members) > kv.MaxNodes:
		return bad("it has %d members, not 1 to %d", len(id.Members), kv.MaxNodes)
	case len(id.List) != len(id.Members):
		return bad("the list has %d addresses for %d members", len(id.List), len(id.Members))
	case id.Node < 1 || int(id.Node) > len(id.Members):
		return bad("it is %v of %d members", id.Node, len(id.Members))
	case id.Shards < 1 || id.Shards > kv.MaxShards:
		return bad("it has %d shards, not 1 to %d", id.Shards, kv.MaxShards)
	case !slices.IsSortedFunc(id.HotKeys, bytes.Compare):
		return bad("its hot keys are not sorted")
	}
	for i, m := range id.Members {
		if m.Node != kv.NodeID(i+1) || m.Address == "" {
			return bad("member %d is %v at %q", i+1, m.Node, m.Address)
		}
	}
	return nil
}

func (id *Identity) clone() Identity {
	c := *id
	c.List, c.Members = slices.Clone(id.List), slices.Clone(id.Members)
	c.Past.Stamps = slices.Clone(id.Past.Stamps)
	c.HotKeys = nil
	for _, k := range id.HotKeys {
		c.HotKeys = append(c.HotKeys, bytes.Clone(k))
	}
	return c
}

func (id *Identity) equal(o *Identity) bool { return reflect.DeepEqual(id, o) }
