// Package lock asks shards for the locks of open transactions, and checks in the end that
// those of a reader were held all along.
//
// # Guarantees
//
// A request is sent again until it is answered. A transaction that has been wounded says so
// with every request from then on, and waits for nothing (NoWait). If every check succeeds,
// everything that the transaction has read was current at one instant: after the last grant
// and before the first check.
//
//	Ask ──▶ Lock ──▶ shard ──▶ LockResponse ──▶ Answered
//	                 wound ──▶ NoWait ──▶ Lock, no wait
//	Start ─▶ Check ─▶ shard ─▶ CheckResponse ─▶ Answered
//
// # Example
//
// Reader A locks x on shard 1, then y on shard 2. A node of shard 1 restarts between the two
// and forgets A's lock, and B writes x and y. A's check of x names the incarnation of the
// grant; shard 1 refuses it, and A begins again: it would have seen y of after B, and x of
// before.
package lockreq
