package msg

import "github.com/linchpindb/linchpin/pkg/kv"

// The most frequent messages are allocated together with their envelopes.

// allocate makes an envelope with an empty message, in one allocation.
func allocate[T any, P interface {
	*T
	Body
}](s kv.ShardID, n kv.NodeID) (*Envelope, *T) {
	x := &struct {
		env  Envelope
		body T
	}{}
	x.env.Shard, x.env.Gateway, x.env.Body = s, n, P(&x.body)
	return &x.env, &x.body
}

// CommitRequestTo makes an empty CommitRequest to a shard.
func CommitRequestTo(s kv.ShardID) (*Envelope, *CommitRequest) { return allocate[CommitRequest](s, 0) }

// PrepareTo makes an empty Prepare to a shard.
func PrepareTo(s kv.ShardID) (*Envelope, *Prepare) { return allocate[Prepare](s, 0) }

// VoteTo makes an empty Vote to a shard.
func VoteTo(s kv.ShardID) (*Envelope, *Vote) { return allocate[Vote](s, 0) }

// DecisionTo makes an empty Decision to a shard.
func DecisionTo(s kv.ShardID) (*Envelope, *Decision) { return allocate[Decision](s, 0) }

// DecisionAckTo makes an empty DecisionAck to a shard.
func DecisionAckTo(s kv.ShardID) (*Envelope, *DecisionAck) { return allocate[DecisionAck](s, 0) }

// CommitResponseTo makes an empty CommitResponse to a node's gateway.
func CommitResponseTo(n kv.NodeID) (*Envelope, *CommitResponse) {
	return allocate[CommitResponse](0, n)
}
