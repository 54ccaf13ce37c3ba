// Package round fixes states of the store, for all transactions of a gateway that wait for one, and has the shards keep them as long as they are read.
//
// # Guarantees
//
// A state that a transaction gets was the current one at an instant after it began to wait,
// and before it gets it. A transaction that comes while a round is under way waits for the
// next: the round may have fixed some shard before the transaction came (docs/protocol.md,
// section 7). A state is kept by every shard until the last transaction that reads at it has
// ended.
//
//	Join ──▶ next ── Begin ──▶ under way ── Fixed ──▶ kept, renewed ── Unuse ──▶ forgotten
//	                                     └─ Ended ──▶ its waiters are told why there is none
//
// Many transactions share a round. Rounds of one machine are Config.RoundGap apart, since each of
// them holds all updates for a moment.
//
// # Slow shards
//
// A round waits for a shard for RoundTimes.Wait only. Then the state has no entry for it, and the
// following rounds leave it out for a while (shards.Shards.LeaveOut). A transaction says of which
// shards it needs the state (Need). One that needs a slow shard has a round that registers the
// slow shard first, for as long as that takes, and the others when it has answered:
//
//	Prompt   ordinary round: all shards but those that are left out, and those that are late
//	Some     a round for each set of slow shards that transactions need; waits for these alone
//	All      waits for all shards; fails while a node is down
//
// # Machines of one node
//
// The machines of one node share rounds: one of them makes them, and lends the states to the
// others. So a node makes no more of them than a gateway of one machine does. Only scans,
// whose pages find their way by the name of the round, are read at rounds of their own
// machine.
//
//	borrower                    shell                 lender
//	Output.Borrow ────────────▶ Lend ───────────────▶ joins a round that begins from now on
//	Borrowed        ◀────────── Done.State ◀───────── it is fixed
//	Output.GiveBack ──────────▶ GiveBack ───────────▶ the shards may forget it
//
// None of this is lost or doubled, since it does not leave the process.
//
// # Hazards
//
// Every shard keeps a state for kv.DefaultScanKeep only. A transaction may take longer, and
// come late to a shard of which it has read nothing yet. So as long as one reads at a state,
// all shards are told to keep it, four times in that time: two messages in a row may be lost.
package round
