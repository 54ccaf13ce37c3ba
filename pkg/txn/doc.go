// Package txn is the gateway's side of transactions: it routes operations to shards, buffers
// writes, asks for locks and reads, sends the commit, and tries again. It is pure; package
// gateway runs it.
//
// # Guarantees
//
// At most one attempt of a transaction commits: another begins only when the one before is known
// to be aborted. What a client is told has happened; an outcome that is not known is reported as
// unknown, never guessed. Everything without an answer is sent again, and everything ends by its
// deadline.
//
// # Rooms
//
// A call is a flow: one small type for each kind (package flow). A flow is made of legs, packages
// that own their requests and return what has happened; Gateway finds the flow that a message is
// for, the flow decides what comes next, and the table of flows (lifecycle.go) does what its
// outcome asks for: it ends the call, or starts the next attempt.
//
//	Execute ─▶ oneShot ──────▶ commit                        piece   cuts and joins
//	                     └───▶ read ◀──┐                     session what was read and buffered
//	Begin, Do ─▶ update ─▶ lock ─▶ commit, or lock.Checks    shards  incarnations, nodes that are down
//	          └▶ view ───▶ read ◀──┤                         places  where keys are
//	Scan ─▶ scan ────────▶ page    ├─ fixing ◀─ round        heat    which keys are hot
//	KeepSnapshot ─▶ snapshot ──────┘                         status  outcomes of lost answers
//	Move ─▶ move ─▶ lock ─▶ commit                           admission  what is refused
//
// # The number of message delays
//
//	one-shot, one shard               2   (package commit)
//	one-shot, several shards          3
//	read-only, at once, or open       2   (package read)
//	read-only, the hot shard last     3
//	scan: its opening                 3   (package round), then 2 for each page
//	at a snapshot, by its name        4
//	read-only, under locks            4   LockingReads, the baseline
//
// # Example
//
// Client A executes "add k 1", where k is hot. Execute makes a OneShot; Places finds k on the hot
// shard; Door gives it a place; Commit sends one CommitRequest, and the flow waits. The shard answers
// with the commit: Deliver finds the flow, Answered puts the result into a Done. If an older
// transaction had needed the lock, the answer would be "wounded": Lose starts the next attempt,
// with the same id, and so with the same age, so that it wins in the end.
//
// # Hazards
//
// A message may be late, doubled, or of an earlier attempt. Each leg accepts only the answer to
// a request that is open, by its number, name or incarnation; all others are ignored, but for a
// late grant, which is released.
package txn
