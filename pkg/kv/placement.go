package kv

// Placement is the table of a cluster's shards: which node serves each of them. It is read by all nodes and
// is not changed.
type Placement struct {
	// Nodes is the number of nodes; they are numbered from 1. A node may serve no shard.
	Nodes int
	// Shards is the node of each shard, by the shard's number. The last one is the hot shard. Of a shard with replicas
	// it is the node of the first one.
	Shards []NodeID
	// Replicas is the number of replicas of each shard, odd; 0 or 1 without replication. They are on that many
	// consecutive nodes at first. Later, the members of a group are those in its own log (R7.4, R7.5).
	Replicas int
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

// MaxReplicas bounds the replicas of a shard. More than 7 voters make commits slower and survive little more.
const MaxReplicas = 7

// DefaultReplicas is the number of replicas of each shard in a cluster that is formed of some nodes without one: 3, or
// 1 on fewer than three nodes.
func DefaultReplicas(nodes int) int {
	if nodes >= 3 {
		return 3
	}
	return 1
}

// ReplicasOn returns how many replicas each shard has on some nodes: as many as wanted, or as there are nodes, odd in
// number (R7.5). 0 means one.
func ReplicasOn(nodes, wanted int) int {
	n := max(min(nodes, wanted), 1)
	return n - 1 + n%2
}

// DefaultShards is the number of ordinary shards of a cluster that is formed without one: 8, or with replicas 4 for
// each node and at least 16 (R7.1).
func DefaultShards(nodes, replicas int) int {
	if replicas <= 1 {
		return 8
	}
	return min(max(4*nodes, 16), MaxShards-1)
}

// CheckReplicas returns an error of KindInvalid unless a cluster can be formed with a number of replicas of each shard:
// 1, 3, 5 or 7.
func CheckReplicas(n int) error {
	if n >= 1 && n <= MaxReplicas && n%2 == 1 {
		return nil
	}
	e := Errorf(KindInvalid, "a shard cannot have %d replicas", n)
	e.Hint = "use 1, 3, 5 or 7; an even number survives no more failures than the odd number below it"
	return e
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
	if r := p.Replicas; r < 0 || r > p.Nodes || r > 1 && r%2 == 0 {
		return Errorf(KindInvalid, "%d replicas of each shard on %d nodes; the number is odd, and at most that of nodes", r,
			p.Nodes)
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

// IsReplicated reports whether shards have several replicas.
func (p *Placement) IsReplicated() bool { return p.Replicas > 1 }

// NodesOf returns the nodes of a shard's first replicas, in the order of the replicas' numbers.
func (p *Placement) NodesOf(s ShardID) (nodes []NodeID) {
	first := p.Node(s)
	if first == 0 {
		return nil
	}
	for i := range max(p.Replicas, 1) {
		nodes = append(nodes, NodeID((int(first)-1+i)%p.Nodes)+1)
	}
	return nodes
}
