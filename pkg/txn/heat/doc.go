// Package heat is what a gateway knows about hot keys: their heat, which of them occur together in transactions, and
// whether interactive transactions that read them also write them.
//
// # Guarantees
//
// Safety does not depend on it. Heat chooses the last agent (Hottest), and every choice is correct. Pairs are
// reported to the planner of moves. Habits decide whether a read write-locks a key at once (LocksEarly); this may cost
// concurrency, but is always correct.
//
//	planner ── heat map, every kv.DefaultHeatInterval ▶ Set ── pairs ──▶ planner
//	commit  ── pieces ──▶ CountPairs, Hottest
//	update  ── read ──▶ LocksEarly;  commit, abort, wait ──▶ OnCommit, OnAbort, OnWait
//
// # Example
//
// Transactions A and B both read the hot key k without a lock, and write it:
//
//	A: read k = 1
//	B: read k = 1
//	A: write k, commit
//	B: write k, commit ──▶ aborted, since k has changed; OnAbort(k, writes)
//
// From then on a read of k in an interactive transaction write-locks it: B waits for A with its read, and does not
// have to run again (docs/decisions/0031-early-locks.md).
//
// # Hazards
//
// A heat map may be late, or lost: gateways may disagree on the hottest shard of the same keys. Each attempt names
// its last agent in all messages, so that does not matter.
//
// Package txn/flow relies on it. The map comes from package hotshard's planner, by way of the hot shard.
package heat
