package msg

import "github.com/linchpindb/linchpin/pkg/kv"

// The most frequent messages are allocated together with their envelopes.

// CommitRequestTo makes an empty CommitRequest to a shard.
func CommitRequestTo(s kv.ShardID) (*Envelope, *CommitRequest) {
	x := &struct {
		env    Envelope
		commit CommitRequest
	}{}
	x.env.Shard, x.env.Body = s, &x.commit
	return &x.env, &x.commit
}

// PrepareTo makes an empty Prepare to a shard.
func PrepareTo(s kv.ShardID) (*Envelope, *Prepare) {
	x := &struct {
		env     Envelope
		prepare Prepare
	}{}
	x.env.Shard, x.env.Body = s, &x.prepare
	return &x.env, &x.prepare
}

// VoteTo makes an empty Vote to a shard.
func VoteTo(s kv.ShardID) (*Envelope, *Vote) {
	x := &struct {
		env  Envelope
		vote Vote
	}{}
	x.env.Shard, x.env.Body = s, &x.vote
	return &x.env, &x.vote
}

// DecisionTo makes an empty Decision to a shard.
func DecisionTo(s kv.ShardID) (*Envelope, *Decision) {
	x := &struct {
		env      Envelope
		decision Decision
	}{}
	x.env.Shard, x.env.Body = s, &x.decision
	return &x.env, &x.decision
}

// DecisionAckTo makes an empty DecisionAck to a shard.
func DecisionAckTo(s kv.ShardID) (*Envelope, *DecisionAck) {
	x := &struct {
		env Envelope
		ack DecisionAck
	}{}
	x.env.Shard, x.env.Body = s, &x.ack
	return &x.env, &x.ack
}

// CommitResponseTo makes an empty CommitResponse to a node's gateway.
func CommitResponseTo(n kv.NodeID) (*Envelope, *CommitResponse) {
	x := &struct {
		env      Envelope
		response CommitResponse
	}{}
	x.env.Gateway, x.env.Body = n, &x.response
	return &x.env, &x.response
}
