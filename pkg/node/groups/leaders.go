package groups

import (
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Leaders is the leader of each shard, by its number, as far as the node knows: from its own replicas, and from
// announcements (R4.4). It may be out of date: then the node that is asked forwards the message once. Its methods are
// safe for concurrent use.
type Leaders []atomic.Uint64

// nodeBits is the size of the node in an element; the term is above it.
const nodeBits = 16

// Learn records the leader of a term, and reports whether that is news. What is known of later terms stays.
func (l Leaders) Learn(s kv.ShardID, term consensus.Term, node kv.NodeID) bool {
	if int(s) >= len(l) || node == 0 {
		return false
	}
	for {
		was := l[s].Load()
		if uint64(term) <= was>>nodeBits {
			return false
		}
		if l[s].CompareAndSwap(was, uint64(term)<<nodeBits|uint64(node)) {
			return true
		}
	}
}

// Of returns the leader of a shard and its term, both zero if none is known.
func (l Leaders) Of(s kv.ShardID) (kv.NodeID, consensus.Term) {
	if int(s) >= len(l) {
		return 0, 0
	}
	x := l[s].Load()
	return kv.NodeID(x & (1<<nodeBits - 1)), consensus.Term(x >> nodeBits)
}

// Leader returns the node that leads a shard and its term, as far as this node knows, both zero if it knows none.
func (s *Set) Leader(id kv.ShardID) (kv.NodeID, consensus.Term) { return s.leaders.Of(id) }

// LearnLeader records that a node leads a shard in a term.
func (s *Set) LearnLeader(id kv.ShardID, term consensus.Term, node kv.NodeID) {
	if s.leaders.Learn(id, term, node) {
		s.opt.OnLeader(id, term)
	}
}
