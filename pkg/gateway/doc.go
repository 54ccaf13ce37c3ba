// Package gateway runs the transactions of a node's clients: the shell around
// package txn.
//
// The machines are striped by transaction id, each behind a mutex, so that a
// call costs a lock and no change of goroutine: whoever brings a request or a
// batch of messages runs the machine, lets go of the lock, sends what it
// wants sent, and calls back the callers whose transactions have ended.
//
//	Submit, Do, Commit ... ─┐                    ┌─▶ Send: shards, here or elsewhere
//	Deliver(messages) ──────┼─▶ lock, machine, ──┤
//	ticker ─────────────────┘   flush, unlock    └─▶ done callbacks
//
// One goroutine ticks, and only while something is under way.
package gateway
