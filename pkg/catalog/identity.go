package catalog

import (
	"bytes"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/membership"
)

// check returns an error if an identity is inconsistent.
func check(id *membership.Saved) error {
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
	case id.Replicas != 0 && kv.CheckReplicas(id.Replicas) != nil:
		return bad("it has %d replicas of each shard, not 1, 3, 5 or 7", id.Replicas)
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

// clone returns a deep copy.
func clone(id *membership.Saved) membership.Saved {
	c := *id
	c.List, c.Members = slices.Clone(id.List), slices.Clone(id.Members)
	c.Past.Stamps = slices.Clone(id.Past.Stamps)
	c.HotKeys = nil
	for _, k := range id.HotKeys {
		c.HotKeys = append(c.HotKeys, bytes.Clone(k))
	}
	return c
}
