// Package exec takes a piece of a transaction from its keys to its results on one shard: it
// loads the keys, plans the lock set, waits for the locks, reads the ranges and executes the
// operations.
//
// Guarantee: what Run returns was computed from the newest visible values, under locks that
// cover all that the operations have looked at and changed (a lockless piece: at one instant of
// the shard, with its ranges read before). A piece is refused only for want of room, for too
// many others, as a victim of wound-wait, or because its keys cannot be read.
//
//	Begin ─▶ loading ──▶ loaded ──Acquire──▶ waiting ──▶ ranging ──▶ Ready: Run ──▶ done
//	            ▲  pages   │                    ▲ locks    rows │         │
//	            └──────────┘                    └───────────────┴─────────┘ more locks, or pages
//
// The caller starts a piece with Begin and executes it with Run; between the two the piece
// moves on when keys, pages, rows or locks arrive. Every method that moves a piece returns the
// Step it has reached: the caller acts on it at once, because a piece that is Ready holds locks.
// Pieces that moved because a read of the log was answered are handed out by Next.
//
// Example. A puts k, B adds to k, both with locks. A is granted k at once and is Ready; B waits.
// When A has ended, the lock table names B (lock.Table.Next), Granted makes B Ready, and Run
// sees the value that A has left. Had B been a call of a data type, its lock set is planned
// again just before it asks for the locks, by the value of then; Run finds out if A has
// changed it meanwhile, and asks for the locks that are missing.
//
// Hazards. A lock set that depends on values is a guess until Run has checked it. Pages of large
// values may turn out to be absent in the middle of an execution, which is then thrown away.
// Reads of an earlier try may be answered late; round tells them apart.
//
// Both sides of the commit and the readers of package read rely on it. It relies on the lock
// table, the store, and on package mvcc for what an operation does.
package exec
