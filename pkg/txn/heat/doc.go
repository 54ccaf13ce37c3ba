// Package heat is what a gateway knows of hot keys: how hot they are, which occur together
// in transactions, and whether open transactions that read them write them.
//
// # Guarantees
//
// None of it is needed for safety. The heat of keys decides which shard is locked last
// (Hottest), which is right for any choice; pairs are a report to the planner of moves; the
// habit of a key decides whether a read of it locks it for writing at once (Early), which is
// right, if perhaps a waste, for any read.
//
//	planner ── heat map, every kv.DefaultHeatEvery ──▶ Set ── pairs ──▶ planner
//	commit  ── pieces ──▶ NoteTogether, Hottest
//	Update  ── read ──▶ Early;  commit, abort, wait ──▶ Committing, Lost, Waited
//
// # Example
//
// Transactions A and B each read the hot key k, and write it when they commit. Both read
// without a lock, and B finds at its commit that A has changed k. Lost notes that k was
// read, and about to be written. From then on a read of k by an open transaction locks it
// for writing: B waits for A with its read, and does not have to run again
// (docs/decisions/0031-early-locks.md).
package heat
