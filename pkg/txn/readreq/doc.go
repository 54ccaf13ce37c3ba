// Package readreq sends the reads of transactions that take no locks. The transaction is registered in the
// snapshot-queues of the shards that it reads; this package counts and renews the leases of these registrations
// (docs/protocol.md, sections 5 and 7).
//
// # Guarantees
//
// If all leases of a reading hold when it ends, it was registered on every shard up to one common instant, and each
// shard held updates of what it had read. So all its reads are current at that instant. Readers abort no transaction,
// and only an expired lease aborts a reader.
//
//	plan       messages                                                           delays
//	at once    Read to each shard ─▶ ReadResponse; then Deregister                2
//	hot-last   Read to each shard; all but the last notify that one (Registered),
//	           which reads after them, unregistered                               3
//	open       Read as the transaction proceeds; Deregister at its end            2 per call
//	round      as hot-last, without operations: each shard fixes its CSN (Fix)    3
//
// A lease runs from the time when its request was sent, and counts for a tenth less than requested, since clock rates
// may differ. A renewal counts only if its response arrives before the old lease ends. The lease of a round is
// shorter and is not renewed.
//
// # Example
//
// Reader R reads x on shard 1 and the hot key k on shard 0, by the plan hot-last. Shard 1 registers R, returns x, and
// notifies shard 0 with the name of that read. Shard 0 returns k and the names of the reads that it relied on:
//
//	R                     shard 1                shard 0
//	├─ Read x ───────────▶│ registers, reads      │
//	├─ Read k, last ─────────────────────────────▶│ waits for shard 1
//	│◀── x, read 1 ───────┤── Registered, read 1 ▶│ reads
//	│◀── k, relied on read 1 ─────────────────────┤
//
// If a message is lost and shard 1 executes the read again, R may hold values of read 2 while shard 0 relied on read
// 1. Then R repeats the request to shard 0.
//
// # Hazards
//
// A restarted shard has lost its registrations. Each response names the incarnation; a response of another
// incarnation than the first one counts as an expired lease.
//
// The name of a reading belongs to one attempt. Otherwise a late response to an earlier attempt could be
// accepted.
package readreq
