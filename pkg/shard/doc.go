// Package shard is the unit of concurrency control: a deterministic state
// machine with one log. Messages, answers to reads of the log and the time go into
// Step; entries for the log, messages and reads come out, and nothing
// else happens. Waiting is therefore a state that can be printed, and a whole
// cluster can be replayed from a seed.
//
// Guarantee: the transactions of which the shard is a part are strictly serializable
// (docs/protocol.md); what it has promised, decided or answered survives any crash.
//
// The machine here receives, dispatches and keeps time. The rest is in packages below, each of which
// owns its state, sees the shard through env, and returns what has happened:
//
//	read      read-only transactions, in the snapshot-queues
//	commit    the participant and the last agent of two-phase commit
//	past      kept snapshots, and reads of them
//	exec      a piece of a transaction, from its keys to its results
//	outcome   what is known of ids: committed, aborted, too old
//	store     keys: in memory, in the log, and garbage
//	lock      the lock table
//	record    the last agent's records, and the bounded memory of what has ended
//	heat      which keys are hot, and where they live
//	expiry    keys that expire
//	env       the shard's name, clocks, and the output of the step
//
// A one-key Put comes as a CommitRequest: commit.LastAgent begins a piece (exec.Begin loads the key), votes are
// not awaited, the locks are granted (exec.Acquire), the piece is executed (exec.Run), checked,
// made visible (store.Show) and written, its outcome recorded (outcome.Finish) and answered, all in one
// Step. What waits, for a key, a lock, a vote or a reader, is taken up by settle.
//
// # What the caller promises
//
// Entries are appended in the order in which Step returned them. Messages in
// Output.Send leave when every entry of this and all earlier steps is
// durable; those in Output.Urgent need not wait. A Read is answered after the
// entries of its own and all earlier steps have been appended. Step is called
// again by Output.Next at the latest. After a crash, New is given what
// Recover found, and the new incarnation is durable before anything is sent.
package shard
