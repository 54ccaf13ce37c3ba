// Package lockreq requests locks for interactive transactions, and checks at the end of a locking reader that all its
// locks were held throughout.
//
// # Guarantees
//
// A request is retried until there is a response. After a wound, all requests carry NoWait: the transaction no longer
// waits. If every check succeeds, everything that the reader has read was current at one instant, after the last
// grant and before the first check.
//
//	Ask ───▶ Lock ───▶ shard ───▶ LockResponse ───▶ Answered
//	                   wound ───▶ NoWait ───▶ Lock with NoWait
//	Start ─▶ Check ──▶ shard ───▶ CheckResponse ──▶ Answered
//
// # Example
//
// Reader A locks x on shard 1, and then y on shard 2. Shard 1 restarts in between and loses A's lock:
//
//	A: lock x, read x = 0
//	   shard 1 restarts
//	B: write x = 1, y = 1, commit
//	A: lock y, read y = 1
//	A: check x, granted by the former incarnation ──▶ refused
//
// A has read x from before B and y from after B, which no serial order explains. The check names the incarnation of
// the grant, so shard 1 refuses it, and A starts again.
package lockreq
