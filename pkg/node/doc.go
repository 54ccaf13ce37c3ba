// Package node runs a node's shards and its gateway: the boring shell around
// the machines.
//
//	        inbox           Step            outputs           durable
//	peers ─────────▶ shard goroutine ───────▶ committer ───────▶ releaser ──▶ peers,
//	gateway                 ▲                 one batch for      in the        other shards,
//	readers                 │ cold reads      all shards         order of      the gateway
//	                        └──────────────── readers ◀──┘       positions
//
// A shard's goroutine takes everything that waits in its inbox, calls Step
// once, and hands the output on. It never waits for the disk. Of what waits,
// messages that end something go before those that begin something
// (msg.Envelope.Ends): who begins then meets fewer that are about to go.
//
// The committer takes the outputs of all shards that have come meanwhile and
// appends their entries as one batch of the store: while the disk syncs one
// batch, the next one gathers. Then the outputs' cold reads go to a pool of
// readers, which so see what was written before them. Reads of commits and of
// single rows go before ranges, users take turns, and what a shard does not use any
// more is dropped (reads.go).
//
// The releaser hears of batches that are durable, in their order, and lets
// their messages go: nothing leaves a shard before it is durable
// (docs/protocol.md, section 2). An output without entries waits for the
// shard's last one that had some.
//
// What is decided on that way, which messages a step takes, what is appended
// together and which messages wait for what, is package groupcommit, which the
// simulation of whole clusters calls too (test/sim).
//
// Every change of goroutine costs a transaction that is alone some ten
// microseconds, and many transactions hardly anything. So while a gateway has
// one transaction alone, the goroutine that brings it runs the shard's step
// and appends, unless others are at it.
//
// Within the node messages are passed as values.
package node
