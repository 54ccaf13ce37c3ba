package replication

import (
	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Leaders is what a node knows of the leaders of shards: from its own replicas, from the heartbeats of other nodes, and
// from responses (R4.4). It may be out of date: then the node that is asked forwards the message once.
type Leaders map[kv.ShardID]Leader

// Leader is the leader of a shard in a term.
type Leader struct {
	Node kv.NodeID
	Term consensus.Term
}

// Learn records the leader of a term, and reports whether that is news. What is known of later terms stays.
func (l Leaders) Learn(s kv.ShardID, term consensus.Term, node kv.NodeID) bool {
	if term <= l[s].Term {
		return false
	}
	l[s] = Leader{Node: node, Term: term}
	return true
}
