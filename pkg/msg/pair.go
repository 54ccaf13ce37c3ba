package msg

import "github.com/linchpindb/linchpin/pkg/kv"

// What travels most is allocated together with its envelope.

// ParkTo addresses an empty Park to a shard.
func ParkTo(s kv.ShardID) (*Envelope, *CommitRequest) {
	x := &struct {
		env  Envelope
		park CommitRequest
	}{}
	x.env.Shard, x.env.Body = s, &x.park
	return &x.env, &x.park
}

// PrepareTo addresses an empty Prepare to a shard.
func PrepareTo(s kv.ShardID) (*Envelope, *Prepare) {
	x := &struct {
		env     Envelope
		prepare Prepare
	}{}
	x.env.Shard, x.env.Body = s, &x.prepare
	return &x.env, &x.prepare
}

// VoteTo addresses an empty Vote to a shard.
func VoteTo(s kv.ShardID) (*Envelope, *Vote) {
	x := &struct {
		env  Envelope
		vote Vote
	}{}
	x.env.Shard, x.env.Body = s, &x.vote
	return &x.env, &x.vote
}

// DecideTo addresses an empty Decide to a shard.
func DecideTo(s kv.ShardID) (*Envelope, *Decision) {
	x := &struct {
		env    Envelope
		decide Decision
	}{}
	x.env.Shard, x.env.Body = s, &x.decide
	return &x.env, &x.decide
}

// DecideAckTo addresses an empty DecisionAck to a shard.
func DecideAckTo(s kv.ShardID) (*Envelope, *DecisionAck) {
	x := &struct {
		env Envelope
		ack DecisionAck
	}{}
	x.env.Shard, x.env.Body = s, &x.ack
	return &x.env, &x.ack
}

// AnswerTo addresses an empty Answer to a node's gateway.
func AnswerTo(n kv.NodeID) (*Envelope, *CommitResponse) {
	x := &struct {
		env    Envelope
		answer CommitResponse
	}{}
	x.env.Gateway, x.env.Body = n, &x.answer
	return &x.env, &x.answer
}
