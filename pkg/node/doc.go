// Package node runs the shards of a node and its gateway: goroutines, queues, disk and clock around the
// deterministic state machines.
//
//	        inbox           Step            outputs           durable
//	peers ─────────▶ shard goroutine ───────▶ committer ───────▶ releaser ──▶ peers,
//	gateway                 ▲                 one batch for      in the        other shards,
//	readers                 │ read results    all shards         order of      the gateway
//	                        └──────────────── readers ◀──┘       positions
//
// # Guarantees
//
//  1. No message leaves a shard before everything that the shard had appended by then is durable
//     (docs/protocol.md, section 2), nor before its earlier messages. An output without entries waits for
//     the shard's last entries. Urgent messages are exempt.
//  2. A shard's goroutine never waits for the disk. It takes its whole inbox, calls Step, and submits the
//     output.
//  3. Messages from one sender to one shard keep their order within a class: messages that end something
//     precede those that begin something (msg.Envelope.Ends), so new requests meet fewer locks that are
//     about to be released.
//  4. A read of the store sees everything that its shard has appended before it. Reads of commits and of
//     single rows precede ranges, users take turns, and a read whose result is no longer needed is dropped
//     (reads.go).
//  5. A new incarnation is durable, in the store and in its copy, before the shard sends its first message.
//
// # Group commit
//
// Each shard has a log (package shardlog); those of a node share the store. The committer writes what all
// shards have appended as one batch. While the disk syncs a batch, the next one accumulates. The releaser is
// notified of durable positions and sends the messages that waited for them, in the order of each shard.
// Example: transactions T1 on shard 1 and T2 on shard 2 complete their steps while a sync is running; both
// are in the next batch, and share its sync.
//
// The decisions (which messages a step takes, what is appended together, which message waits for which
// position) are in package groupcommit, which the cluster simulation calls too (test/world).
//
// A handover to another goroutine costs about ten microseconds. That is negligible under load, but not for
// a single transaction. So while a gateway has only one transaction, its goroutine runs the shard's step
// and the append itself, unless another goroutine is doing so.
//
// Within the node, messages are passed as values.
//
// # Replicas
//
// A shard with several replicas has its machine on the node that leads it, and committer and releaser have no part in
// it: package groups passes what the machine writes to the group, and releases its messages. A message for a shard that
// this node does not lead is forwarded to the leader once (R4.4), unless it is a read at a retained snapshot, which the
// node's replica serves (package snapshotreads).
package node
