// Package store holds the keys of a shard: the newest visible values, in memory or in the log, and the older
// versions that can still be read.
//
// Guarantee: a read at a CSN returns what was visible at that CSN, as long as the CSN is retained. It is
// retained while a read at it is in flight, while a reader has it fixed, and while it belongs to a snapshot
// that the registry has not reported as removed.
//
//	Reference ─▶ item ──not loaded──▶ Await ─▶ read of the log ─▶ OnReadResult ─▶ Next: the waiter
//	              │ loaded
//	              ▼
//	             MakeVisible(effect) ─▶ version row, or delta, or pages ─▶ the entries of the step
//	                         │ replaced: note of garbage ─▶ Tick, Clean: deleted
//
// Example. Transactions A and B write key k in the same step of the shard, at the CSNs 7 and 8. If CSN 7
// cannot be read, B's row replaces A's among the entries of the step. If a snapshot has fixed CSN 7, there are
// two rows, and A's becomes garbage when the snapshot is removed.
//
//	csn      7          8
//	row      k = A      k = B           CSN 7 is fixed: both rows are written
//	row                 k = B           otherwise: only B's row, instead of A's
//
// # Garbage
//
// A replaced version is noted when it is replaced, and deleted when the safe point is above the version that has
// replaced it, unless a retained CSN still reads it. Notes are bounded in number, and lost at a restart: a sweep
// reads all rows, in batches, for what has no note.
//
// # Hazards
//
//   - A row whose value may be overwritten in the same step is encoded at the end of the step
//     (EncodeDeferred).
//   - Waiters are not called when their key arrives, but returned by Next after the current call: a waiter
//     must not run in the middle of a transaction that becomes visible key by key.
//
// Package exec, the participant and the last agent, and reads of the past (package past) rely on this package.
// It relies on package mvcc, which defines values and versions, and on the log.
package store
