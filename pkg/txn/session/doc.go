// Package session is what an open transaction has read, and what it is going to write.
//
// # Guarantees
//
// Each operation of the transaction is executed here, against what was read and what is
// buffered, by the same code by which shards execute pieces (mvcc.Exec): a transaction sees
// its own writes. Nothing leaves the gateway before the commit, so that a savepoint costs
// no message. The package sends nothing: Wants says what the operations need to know, Learn
// takes the answers, Evaluate executes.
//
//	         ┌─ Wants ──▶ lock requests, or reads ──▶ shards
//	call ────┤                                          │
//	         └─ Evaluate ◀── base, rows, answers ◀── Learn
//	                │
//	                └──▶ results, and writes into the buffer ──▶ commit
//
// # Example
//
// Transaction A does "add c 5; get c" on a counter c that holds 1. Wants asks for the value
// of c once, for update. Learn takes 1. Evaluate gives 6 to the read, and the buffer holds
// "add c 5": the shard adds at the commit, so that it may combine the addition with others.
//
// # Hazards
//
// A value that was read without a lock (Optimistic) is checked when the transaction ends. If
// the key was absent there is no version to check (SawAbsent): a failure that may follow
// from that does not count.
//
// What a call of a data type makes of a key only its shard can say: the gateway does not
// have the value. An operation that comes after such calls on its key is not evaluated
// here; the shard is asked, together with everything that the transaction has done to the
// key before (called.go).
package session
