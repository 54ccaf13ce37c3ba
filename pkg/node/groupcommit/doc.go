// Package groupcommit decides what happens between the steps of a node's shards and its store: which messages
// a step takes (Inbox), and which entries are written together (Group, Batch). It implements the logs of the
// shards (shardlog.Log), whose positions decide when messages and store reads leave.
//
//	Inbox ─▶ step ─▶ Submit ─▶ Take: Batch ─▶ write ─▶ OnApplied: reads start
//	                                            └────▶ Pass, Hold ─▶ OnDurable ─▶ Sends: messages leave
//
// It guarantees that a message leaves only when all entries that its shard had appended by then are durable,
// and not before an earlier message of its shard.
//
// The package is pure: no goroutines, locks or clock. Package node calls it from its goroutines, and
// test/world from the events of a simulated cluster, so the code that the simulation tests with crashes is
// the code that runs.
package groupcommit
