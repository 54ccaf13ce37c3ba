// Package shard is the unit of concurrency control: a deterministic state
// machine with one log. Messages, answers to cold reads and the time go into
// Step; entries for the log, messages and cold reads come out, and nothing
// else happens. Waiting is therefore a state that can be printed, and a whole
// cluster can be replayed from a seed.
//
// A shard plays five parts at once (docs/protocol.md):
//
//   - it locks and reads for running transactions (reads.go);
//   - it reads for read-only ones, which are registered in the snapshot-queues
//     and hold updates (readers.go, unseal.go);
//   - it is a participant of transactions that are decided elsewhere: it
//     prepares, votes, and applies what is decided (participant.go);
//   - it keeps what is visible at pins, reads at them, and collects the rest
//     (pins.go, readat.go, garbage.go); the hot shard is the keeper (keeper.go);
//   - it is the last agent of others: it parks their piece and counts votes
//     (last.go), and decides, executes and releases in one step (decide.go).
//
// Everything that executes operations is a task (task.go), whichever part it
// belongs to, sees keys through a view (view.go), and goes the same way:
//
//	begin    pin the keys; ask for those that are not in memory
//	loaded   (parked pieces wait here for their votes)
//	acquire  all locks at once, or wait for them holding nothing; readers
//	         register instead, and wait for what is sealed
//	granted  read ranges, which is right now that they are locked
//	run      check, execute, and reply, vote or commit
//
// A shard commits one attempt of a transaction at most, and promises or decides one at a
// time (once.go).
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
