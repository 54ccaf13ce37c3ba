// Package store is a shard's keys: what is in memory, what is in the log, and what can go.
//
// Guarantee: a read at an index sees what was visible at that index, as long as the index is
// kept. An index is kept while a read of it has no answer, while a reader has it kept, and
// while it is part of a snapshot that the registry has not told to be gone.
//
//	Pin ─▶ item ──not loaded──▶ Await ─▶ read of the log ─▶ Answered ─▶ Next: the waiter
//	        │ loaded
//	        ▼
//	       Show(effect) ─▶ version row, or delta, or pages ─▶ the step's entries
//	                        │ replaced: note of garbage ─▶ Tick, Clean: deleted
//
// Example. Transaction A writes key k at index 7, B at 8 in the same step. If nobody can
// read at 7, B's row takes the place of A's among the step's entries; a snapshot that has
// fixed index 7 makes them two rows, and the first is garbage when the snapshot is gone.
//
// Hazards: rows whose value may still be written over in the step are encoded at its end
// (EncodeLate). Waiters are woken after the call that has made them ready, by Next, so that
// nobody runs in the middle of a transaction that is just being shown.
//
// The execution of operations (package exec), both sides of the commit and reads of the past
// rely on it. It relies on package mvcc for what a value is, and on the log.
package store
