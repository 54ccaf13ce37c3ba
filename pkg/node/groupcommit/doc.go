// Package groupcommit decides what happens between the steps of a node's shards and its log: which messages
// a step takes (Inbox), which steps are appended together (Pending, Batch), which of their messages leave at
// once, and which position the others wait for (Release, Releases).
//
//	Inbox.Push ─▶ Take ─▶ step ─▶ Pending ─▶ Batch ─▶ append ─▶ Release ─▶ Releases ─▶ Ready: send
//	                                                                       ▲ Advance: durable position
//
// It guarantees that a message leaves only when all entries that its shard had appended by then are
// durable.
//
// The package is pure: no goroutines, locks or clock. Package node calls it from its goroutines, and
// test/world from the events of a simulated cluster, so the code that the simulation tests with crashes is
// the code that runs.
package groupcommit
