// Package shard is the unit of concurrency control: a deterministic state machine with one log.
// Messages, results of log reads and the time go into [Machine.Step]; log entries, messages and read
// requests come out. Nothing else happens: no goroutine, no I/O, no clock. So a whole cluster can be
// replayed from a seed, and what a shard waits for can be printed.
//
// # Guarantee
//
// The transactions in which the shard participates are strictly serializable (docs/protocol.md).
// Everything that it has voted, decided or returned survives a crash.
//
// # Packages
//
// Machine receives, dispatches and keeps time. The packages below it each own a part of the state:
//
//	readers     read-only transactions in the snapshot-queues
//	agent       the participant and the last agent of two-phase commit
//	past        retained snapshots, and reads at them
//	exec        one piece of a transaction, from loading its keys to its results
//	outcome     what is known of ids: committed, aborted, too old
//	record      the last agent's records, and the bounded memory of what has finished
//	store       keys: in memory, in the log, and their garbage
//	locktable   the lock table
//	contention  which keys are hot, and on which shard they are
//	expiry      keys with a time to live
//	timeofday   how far the time of day is trusted
//	step        the name of the shard, its clocks, and the output of the step
//
// # Example
//
// A one-key put arrives as a CommitRequest:
//
//	agent.LastAgent.Receive    creates the record; there are no participants, so no votes
//	exec.Begin                 the key is in memory; otherwise the task waits for a read
//	exec.Acquire               the lock is free; otherwise the task waits in locktable
//	exec.Run                   executes and validates
//	store.Store.MakeVisible    makes the new version visible at the next CSN
//	outcome.Finish             writes the outcome; the response is sent
//
// All of that is one Step. A task that had to wait, for a key, lock, vote or reader, is continued by
// the step in which the wait ends (runReady).
//
// # What the caller must do
//
//  1. Append the entries in the order in which Step returned them.
//  2. Send the messages in Output.Send when all entries of this step and all earlier ones are
//     durable. Messages in Output.Urgent need not wait.
//  3. Answer a read after the entries of its own and all earlier steps have been appended.
//  4. Call Step again by Output.Next at the latest.
//  5. After a crash, pass what Recover found to [New], and make the new incarnation durable before
//     anything is sent.
//
// Package node is such a caller; test/world is another, with planted faults.
package shard
