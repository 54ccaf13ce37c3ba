// Package exec executes pieces of transactions on one shard: it loads the keys of a piece, plans its lock
// set, acquires the locks, reads its ranges, and runs its operations.
//
// Guarantee: the results of Run are computed from the newest visible values, under locks that cover all that
// the operations read and change (a lockless piece: at one instant of the shard, with its ranges read before).
// A piece is rejected only if the disk is nearly full, if the bounds of its keys, of the lock queues or of its
// user's share are exceeded, if its transaction is wounded, or if its keys cannot be read.
//
//	Begin ─▶ loading ──▶ loaded ──Acquire──▶ waiting ──▶ ranging ──▶ Ready: Run ──▶ done
//	            ▲  pages   │                    ▲ locks    rows │         │
//	            └──────────┘                    └───────────────┴─────────┘ more locks, or pages
//
// The caller starts a piece with Begin and executes it with Run. In between the piece advances when keys,
// pages, rows or locks arrive. Every method that advances a piece returns the Step that it has reached. The
// caller acts on it in the same step of the shard, because a piece that is Ready holds locks. Next returns
// the pieces that have advanced because ranges were read.
//
// Example. A puts k, B adds to k. A is granted k and is Ready; B waits. When A has ended, the lock table
// returns B (locktable.Table.Next), B becomes Ready, and Run sees the value that A has written. If B is a call
// of a data type, its lock set is planned just before the locks are requested, from the value at that time.
// If A changes the value while B waits, Run detects that the plan has changed, and requests the missing locks:
//
//	A: put k = {}                         B: contains(x) on the set k = {x}
//	   granted, prepared                     plan: x is present, so lock "x present"; waits for A
//	   committed: k is empty                 granted; Run plans again: x is absent
//	                                         requests "x absent" too, and runs again
//
// # Bounds
//
// A new piece is rejected before it has any state (Limits): when too many transactions reference one of its keys, or
// when it would be written and the disk is nearly full. The lock table rejects at the bounds of its queues. Pieces of
// transactions that hold locks here, or for which other shards have voted, are exempt from the former.
//
// # Hazards
//
//   - A lock set that depends on values is a prediction until Run has verified it.
//   - Pages of large values may turn out to be absent during an execution, which is then discarded.
//   - Responses to reads of an earlier try may be late; they differ in loads.generation.
//
// The participant, the last agent (package agent) and the readers (package readers) rely on this package. It
// relies on the lock table, the store, and package mvcc, which defines what an operation does.
package exec
