package consensus

import (
	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/kv"
)

// ReplicaID numbers the replicas of a group, from 1. An id is never used again, also not for another disk of
// the same node.
type ReplicaID uint64

// Term numbers the leaders of a group. The incarnation of a shard is the term of its leader.
type Term uint64

// Position is an index of the log of a group, from 1.
type Position uint64

// Message is what one replica of a group sends to another. Messages may be lost, repeated and reordered.
type Message struct {
	// Group is the shard, From and To are the replicas.
	Group    kv.ShardID
	From, To ReplicaID
	// Raft is the message of the algorithm.
	Raft raftpb.Message

	// Sent is when a message of a leader, or a response to it, was sent, in nanoseconds by the sender's clock.
	Sent int64
	// Hold is the time D that the receiver of such a message promises, in nanoseconds.
	Hold int64
	// Echo is the greatest Sent of this term that the sender of a response has accepted, zero without one; in messages of
	// a leader, the Sent of the receiver's last response.
	Echo int64

	// Committed and CommittedTerm are the last entry that the sender of a vote request or response knows to be
	// committed (R3.10).
	Committed     Position
	CommittedTerm Term
	// Place is the receiver's, as the configuration gives it, in messages of a leader, and empty for a replica of the
	// first formation. Needed is the last position of the log that the leader keeps for other replicas (R6.5).
	Place  string
	Needed Position
	// Gone: the receiver was removed, and may be destroyed (R7.13). Raft is empty.
	Gone bool
	// Unfit: the sender of a response is unfit. Checked is the position of the last check that it has computed, zero
	// without one, and Sum the checksum of its rows (R6.14).
	Unfit   bool
	Checked Position
	Sum     uint64
	// Declines: the sender of a response wants no leadership, as its node drains, its disk is slow or nearly full, or its
	// clock is off.
	Declines bool
	// Starting: the sender of a response has just started, and neither votes nor campaigns, even for a transfer (R3.2).
	Starting bool
	// Transfer is the term whose leader has asked the sender of a vote request to campaign, zero without one.
	Transfer Term
}

// IsExchange reports whether the message shows a round trip to Clocks: the sender has received one that the receiver
// had sent at Echo. Those that may wait for a disk do not count: the shortest exchanges do.
func (m *Message) IsExchange() bool {
	return m.Echo > 0 && (m.Raft.Type == raftpb.MsgHeartbeat || m.Raft.Type == raftpb.MsgHeartbeatResp)
}

// isLeaders reports whether only a leader sends messages of a type: they count as heartbeats.
func isLeaders(t raftpb.MessageType) bool {
	return t == raftpb.MsgHeartbeat || t == raftpb.MsgApp || t == raftpb.MsgSnap
}

// isFollowers reports whether messages of a type respond to a leader's.
func isFollowers(t raftpb.MessageType) bool {
	return t == raftpb.MsgHeartbeatResp || t == raftpb.MsgAppResp
}

func isVoteRequest(t raftpb.MessageType) bool { return t == raftpb.MsgVote || t == raftpb.MsgPreVote }

func isVoteResponse(t raftpb.MessageType) bool {
	return t == raftpb.MsgVoteResp || t == raftpb.MsgPreVoteResp
}

// isNotice reports whether a response to an append, which arrives at the leader of a term, responds to none: by it,
// Raft reports a later term to a leader of an earlier one. If that one now leads in the later term, Raft takes it for
// an acknowledgement of position 0, and sends a Raft snapshot to a replica that has the log.
func (m *Message) isNotice(term Term) bool {
	return m.Raft.Type == raftpb.MsgAppResp && Term(m.Raft.Term) == term && m.Raft.Index == 0
}
