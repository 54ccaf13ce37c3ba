// Package lockreq requests locks for interactive transactions, and checks at the end of a locking reader that all its
// locks were held throughout.
//
// # Guarantees
//
// A request is retried until there is a response. After a wound, all requests carry NoWait: the transaction no longer
// waits. If every check succeeds, everything that the reader has read was current at one instant, after the last
// grant and before the first check.
//
//	Send ──▶ Lock ───▶ shard ───▶ LockResponse ───▶ EndRequest
//	                   wound ───▶ ResendNoWait ───▶ Lock with NoWait
//	Start ─▶ Check ──▶ shard ───▶ CheckResponse ──▶ OnResponse
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
//
// # Hazards
//
// A lock response names the number of its request. A late copy of a request may acquire the locks again after the
// attempt has released them; package txn releases them when it receives the grant.
//
// Flows Update, OneShot and Move rely on this package.
package lockreq
