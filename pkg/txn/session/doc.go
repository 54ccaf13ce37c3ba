// Package session is the state of an open transaction at the gateway: what it has read and what it will write.
//
// # Guarantees
//
// Each operation is executed here, against the values read and the buffered writes, by the code by which shards
// execute pieces (mvcc.Exec). So a transaction reads its own writes. No write leaves the gateway before the commit,
// so a savepoint costs no message. The package sends nothing: NeededReads returns the reads that operations need,
// StoreResults stores their results, and Evaluate executes the operations.
//
//	         ┌─ NeededReads ──▶ lock requests, or reads ──▶ shards
//	call ────┤                                                │
//	         └─ Evaluate ◀── values read ◀──────────── StoreResults
//	                │
//	                └──▶ results, and writes in the buffer ──▶ commit
//
// # Example
//
// Transaction A executes "add c 5; get c" on a counter c of value 1. NeededReads requests the value of c once, for
// update. StoreResults stores 1. Evaluate returns 6 for the get, and the buffer contains "add c 5": the shard adds at
// commit, so the addition commutes with those of other transactions.
//
// A reads "require x = 1; put y 2" next: x is read under a lock, the condition is checked here, and "put y 2" is
// buffered. If the condition fails, the request fails, and nothing of it is buffered.
//
// # Who relies on it
//
// Flows Update and OneShot (the baseline that reads under locks) and View use it. It relies on package mvcc to execute
// operations, and on package piece for requests by shard.
//
// # Hazards
//
// A value that was read without a lock (Optimistic) is validated at the end. An absent key has no version to compare
// (HasReadAbsence), so a failure that may result from such a read is not returned.
//
// The gateway has no values of data types, so it cannot compute the effect of a method call. An operation that
// follows a call on its key is executed by the shard, together with all earlier operations of the transaction on that
// key (calls.go).
package session
