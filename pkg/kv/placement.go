package kv

// Placement is the table of a cluster's shards: which node serves each of them. It is read by all nodes and
// is not changed.
type Placement struct {
	// Nodes is the number of nodes; they are numbered from 1. A node may serve no shard.
	Nodes int
	// Shards is the node of each shard, by the shard's number. The last one is the hot shard.
	Shards []NodeID
}

// FirstPlacement is the placement of a cluster that is formed of some nodes: the shards, the hot one included,
// are assigned to the nodes in turn.
func FirstPlacement(shards, nodes int) Placement {
	p := Placement{Nodes: nodes, Shards: make([]NodeID, max(shards, 0))}
	for s := range p.Shards {
		p.Shards[s] = NodeID(s%max(nodes, 1)) + 1
	}
	return p
}

// Check returns an error of KindInvalid unless there are an ordinary shard and the hot one, and each is on a
// node.
func (p *Placement) Check() error {
	switch {
	case len(p.Shards) < 2 || len(p.Shards) > MaxShards:
		return Errorf(KindInvalid, "%d shards; the range is 1 to %d", len(p.Shards)-1, MaxShards-1)
	case p.Nodes < 1 || p.Nodes > MaxNodes:
		return Errorf(KindInvalid, "%d nodes; the range is 1 to %d", p.Nodes, MaxNodes)
	}
	for s, n := range p.Shards {
		if n < 1 || int(n) > p.Nodes {
			return Errorf(KindInvalid, "shard %v is on %v of %d nodes", ShardID(s), n, p.Nodes)
		}
	}
	return nil
}

// Node is the node of a shard, 0 if there is no such shard.
func (p *Placement) Node(s ShardID) NodeID {
	if int(s) >= len(p.Shards) {
		return 0
	}
	return p.Shards[s]
}

// HotShard is the number of the hot shard.
func (p *Placement) HotShard() ShardID { return ShardID(len(p.Shards) - 1) }

// ShardsOf returns the shards of a node, in order.
func (p *Placement) ShardsOf(n NodeID) (shards []ShardID) {
	for s, at := range p.Shards {
		if at == n {
			shards = append(shards, ShardID(s))
		}
	}
	return shards
}
