// Package read is how a transaction reads without locks: it is registered in the
// snapshot-queues of the shards that it reads on, under leases that are counted and renewed
// here (SSS, section 3; docs/protocol.md, section 5).
//
// # Guarantees
//
// A reading that ends while all of its leases stand was registered on every shard until one
// instant, at which everything that it has read was current: each shard holds updates of
// what a registered reader has read. A reader never aborts another transaction, and none
// aborts it, but for a lease that lapses.
//
//	at once       Read to each ─▶ ReadResponse; then Leave             2 delays
//	hot one last  Read to each but the hot one; they notify it, and it
//	              answers last, unregistered                        3 delays
//	open          Read to each as it goes; Leave at the end         2 for each call
//	round         as hot one last, with nothing to read: each shard fixes its state (Fix)
//
// A lease is counted from when the request for it was sent, and is relied on for a tenth
// less than was asked for, since clocks may differ in their rates. A renewal counts only if
// the old lease stands when the answer comes. A round has a lease of its own, which is shorter and
// not renewed.
//
// # Example
//
// Reader R reads x on shard 1 and the hot key k on shard 0, hot one last. Shard 1 registers
// R, answers with x, and tells shard 0 which reading that was. Shard 0 answers with k and
// names the readings that it relied on; if shard 1 had to read again in between, because a
// message was lost, R has the values of another reading and asks shard 0 once more.
//
// # Hazards
//
// A shard that restarts has lost its registrations. Every answer names the incarnation, and
// one of another incarnation than the first counts as a lapsed lease.
//
// The name of a reading is used for one attempt only. A late answer to an earlier attempt
// would otherwise be taken for one to this.
package readreq
