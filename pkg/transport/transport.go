// Package transport sends envelopes between the nodes of a cluster.
//
// It guarantees little, because the protocol needs little: messages may be lost, delayed, duplicated and
// reordered; requests are retried and handlers are idempotent. Send never blocks and never fails. Messages
// that cannot be delivered are dropped. A full outbox drops messages that a later one repeats, then the
// oldest ones (package outbox).
//
// Implementations: grpc (between processes), mem (within a process). Package transporttest is their
// contract.
package transport

import (
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
