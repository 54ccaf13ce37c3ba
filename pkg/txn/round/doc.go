// Package round makes the snapshot rounds of a gateway (docs/protocol.md, section 7). All transactions that wait for
// a snapshot share one round, and the shards retain the snapshot while some transaction reads at it.
//
// # Guarantees
//
// A snapshot was current at an instant between the request of a transaction for it and its arrival. So a transaction
// that arrives during a round waits for the next one: the round may have fixed the CSN of some shard before. All
// shards retain a snapshot until the last transaction that reads at it has ended.
//
//	Join ──▶ next ── Begin ──▶ in progress ── OnFixed ──▶ retained, renewed ── Release ──▶ released
//	                                       └─ OnEnd ────▶ its waiters get the failure
//
// The rounds of one state machine are Config.RoundGap apart, since each of them holds all updates for a moment.
//
// # Slow shards
//
// A round waits for a shard for RoundTimes.Wait. After that the snapshot has no entry for the shard, and the
// following rounds leave it out for some time (shards.Shards.LeaveOut). A transaction states which shards it needs
// (Need). For one that needs a slow shard there is a separate round, which registers the slow shard first and waits
// for it without a bound, and then sends the requests to the other shards:
//
//	Prompt   an ordinary round: all shards except those that are left out or respond late
//	Some     one round per set of slow shards that transactions need; waits for these only
//	All      waits for all shards; fails while a node is down
//
// # State machines of one node
//
// The state machines of a node share rounds: one of them makes them and lends the snapshots to the others. So the
// number of rounds does not depend on the number of state machines. Scans are the exception: the responses to their
// pages are routed by the name of the round, so they need rounds of their own state machine.
//
//	borrower                    shell                 lender
//	Output.BorrowSnapshot ────▶ LendSnapshot ───────▶ joins a round that begins later
//	OnBorrowedSnapshot ◀─────── Done.Snapshot ◀────── the round is fixed
//	Output.ReturnSnapshots ───▶ ReturnSnapshot ─────▶ the shards may release the snapshot
//
// None of these is lost or duplicated, since they do not leave the process.
//
// # Hazards
//
// A shard retains a snapshot for kv.DefaultScanRetention only. A longer transaction may first read from a shard after
// that. So while a transaction reads at a snapshot, the retention at all shards is renewed four times in that period;
// two successive renewals may be lost.
//
// # Example
//
// Readers A and B wait for a snapshot, and C needs the slow shard s3, which is left out:
//
//	A, B join      round 1 begins for them: s0, s1, s2
//	C joins        round 2 begins: it registers on s3 first, and waits for it
//	D joins        waits for round 3, since round 1 may have fixed s0 already
//	s2 responds    round 1 is fixed: A and B read at it; 5 ms later round 3 begins
//	s3 responds    round 2 registers on s0, s1 and s2, and is fixed: C reads at it
//
// Package txn/flow has a flow for each round (flow.Round) and relies on this package for which flows a snapshot
// serves. This package relies on package readreq for the messages, and on package shards for which shards are slow.
package round
