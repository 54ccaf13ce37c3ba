// Package transport carries envelopes between the nodes of a cluster.
//
// What the protocol needs of a network is little: messages may be lost,
// delayed, duplicated and reordered, since everything that matters is
// repeated until answered and idempotent. So Send never blocks and never
// fails: what cannot be delivered is dropped, and a full outbox drops what a
// later message repeats, and then its oldest (package outbox).
package transport

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Transport sends to other nodes. Its methods may be called by any goroutine.
type Transport interface {
	// Send passes envelopes to a peer's handler, some time, perhaps. The
	// slice may be used again when it returns; the envelopes may not be
	// changed any more.
	Send(to kv.NodeID, envs []*msg.Envelope)
	// Up reports whether the peer was heard of within the last few seconds.
	Up(to kv.NodeID) bool
	// Close ends all streams.
	Close() error
}

// Handler receives envelopes with From filled in. It must not block: it puts
// them into bounded queues. It is called by one goroutine per peer.
type Handler func(envs []*msg.Envelope)
