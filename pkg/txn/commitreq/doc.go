// Package commitreq sends the commit of one attempt to its shards, and retries until the outcome is known.
//
// # Guarantees
//
// Every shard with a piece gets it in one message: the last agent in a CommitRequest, each participant in a Prepare,
// which makes it vote to the last agent. All messages are retried until the last agent responds: it alone decides.
//
//	one shard        CommitRequest ──────────────────────────────▶ CommitResponse    2 delays
//	several shards   Prepare to the participants, CommitRequest to the last agent;
//	                 the participants vote to it, and it responds                    3 delays
//
// Shortly before its deadline an undecided commit is cancelled (Cancel), so that the client receives the outcome in
// time. If the outcome cannot be learned, it is reported as unknown.
//
// # Example
//
// Transaction A writes x on shard 1 and the hot key k on shard 0, the last agent. Shard 0 locks k when the vote of
// shard 1 has arrived, and decides in the same step, so k is not locked during any message delay. Transaction B,
// which also writes k, waits for that step only:
//
//	gateway         shard 1 (x)            shard 0 (k)
//	├─ Prepare ────▶│ locks x, logs        │
//	├─ CommitRequest ─────────────────────▶│ k is free
//	│               ├─ Vote ──────────────▶│ locks k, commits, releases k
//	│◀─ CommitResponse ────────────────────┤
//
// # Hazards
//
// After a wound, all messages carry NoWait. They are copied for that, since the earlier ones may be in flight, or in
// use by a shard of the same process.
//
// Commits have unique ids, and a response counts only if it names this one: it may be a late response to an earlier
// commit of the same transaction.
//
// Package txn/flow relies on this package for all commits, and decides what an abort means. The package relies on the
// last agent to answer each retry of a commit with the same decision.
package commitreq
