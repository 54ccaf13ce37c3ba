// Package transport sends envelopes between the nodes of a cluster.
//
// It guarantees little, because the protocol needs little: messages may be lost, delayed, duplicated and
// reordered; requests are retried and handlers are idempotent. Send never blocks and never fails. Messages
// that cannot be delivered are dropped. A full outbox drops messages that a later one repeats, then the
// oldest ones (package outbox).
//
// Replicas of shards have a second way (Replicas), so that their messages do not wait behind those of transactions.
//
// Implementations: grpc (between processes), mem (within a process). Package transporttest is their
// contract.
package transport

import (
	"context"
	"fmt"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Transport sends to other nodes. Its methods are safe for concurrent use.
type Transport interface {
	// Send passes envelopes to a peer's handler, or loses them. The caller may reuse the slice, but must not
	// change the envelopes.
	Send(to kv.NodeID, envs []*msg.Envelope)
	// Up reports whether a message of the peer was received within the last few seconds.
	Up(to kv.NodeID) bool
	// Close ends all streams.
	Close() error
}

// Handler receives envelopes with From filled in. It must not block. It is called by one goroutine per
// peer.
type Handler func(envs []*msg.Envelope)

// MaxSnapshots is the number of Raft snapshots that a node receives from another at a time; more are rejected.
const MaxSnapshots = 2

// TooManySnapshots is why a node rejects a Raft snapshot of another.
func TooManySnapshots(to, from kv.NodeID) error {
	return fmt.Errorf("node %v already receives %d raft snapshots of node %v; retry later", to, MaxSnapshots, from)
}

// Replicas sends messages of the replicas on this node to those on other nodes. Its methods are safe for concurrent
// use.
type Replicas interface {
	// SendReplica passes messages to the peer's handler, or loses them; it does not block. Messages to a peer arrive
	// in their order and at most once, if they arrive, and possibly at a later process of the peer than the one that
	// ran when they were sent. At most 8192 messages or 64 MiB wait for a peer (package outbox); when that many wait,
	// later ones are lost. The caller may reuse the slice; what the messages refer to must not be changed.
	SendReplica(to kv.NodeID, msgs []consensus.Message)
	// SendSnapshot sends a Raft snapshot on a stream of its own: its message, and then the chunks that next returns,
	// until it returns nil. A chunk has about 1 MiB, and not more than a message between nodes; its slice may be reused
	// when next is called again. Chunks without bytes do not arrive. SendSnapshot returns nil when the peer's handler
	// has returned nil, and otherwise why it failed, as soon as that is known: the handler may return before the last
	// chunk. If ctx ends, so do the handler's ctx and chunks.
	SendSnapshot(ctx context.Context, to kv.NodeID, m *consensus.Message, next func() ([]byte, error)) error
}

// ReplicaHandler receives what Replicas sends.
type ReplicaHandler interface {
	// ReceiveReplica must not block. It is called by one goroutine per peer, and may keep msgs.
	ReceiveReplica(from kv.NodeID, msgs []consensus.Message)
	// ReceiveSnapshot receives a Raft snapshot. next returns the next chunk, nil after the last one, or an error if the
	// stream has failed, also because ctx has ended. It may block, and runs on a goroutine of its own. At most
	// MaxSnapshots of a peer run at a time. Close waits until it has returned.
	ReceiveSnapshot(ctx context.Context, from kv.NodeID, m *consensus.Message, next func() ([]byte, error)) error
}
