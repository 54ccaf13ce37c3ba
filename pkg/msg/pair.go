package msg

import "github.com/linchpindb/linchpin/pkg/kv"

// What travels most is allocated together with its envelope.

// ParkTo addresses an empty Park to a shard.
func ParkTo(s kv.ShardID) (*Envelope, *Park) {
	x := &struct {
		env  Envelope
		park Park
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
func DecideTo(s kv.ShardID) (*Envelope, *Decide) {
	x := &struct {
		env    Envelope
		decide Decide
	}{}
	x.env.Shard, x.env.Body = s, &x.decide
	return &x.env, &x.decide
}

// DecideAckTo addresses an empty DecideAck to a shard.
func DecideAckTo(s kv.ShardID) (*Envelope, *DecideAck) {
	x := &struct {
		env Envelope
		ack DecideAck
	}{}
	x.env.Shard, x.env.Body = s, &x.ack
	return &x.env, &x.ack
}

// AnswerTo addresses an empty Answer to a node's gateway.
func AnswerTo(n kv.NodeID) (*Envelope, *Answer) {
	x := &struct {
		env    Envelope
		answer Answer
	}{}
	x.env.Gateway, x.env.Body = n, &x.answer
	return &x.env, &x.answer
}
