// Package gateway runs the transactions of a node's clients: goroutines, locks, clock and callbacks around
// the state machines of package txn.
//
// The state machines are striped by transaction id, each behind a mutex, so that a call costs a lock and no
// goroutine switch. The goroutine that brings a request or a batch of messages runs the machine, unlocks
// it, sends its messages, and calls back the callers whose transactions have ended.
//
//	Submit, Do, Commit ... ─┐                    ┌─▶ Send: shards of this or another node
//	Deliver(messages) ──────┼─▶ lock, machine, ──┤
//	ticker ─────────────────┘   flush, unlock    └─▶ done callbacks
//
// It guarantees:
//
//  1. The callback of a call runs once, unless the gateway is closed first; never while a stripe is locked.
//  2. Transactions of one id run on one state machine, so their attempts are ordered.
//  3. After RejectNew (draining), new transactions are rejected, open ones continue.
//
// One goroutine ticks, and only while a transaction is in flight.
//
// Hazard: a callback may run on the goroutine that delivers messages, and must not block.
package gateway
