// Package txn is the gateway's side of transactions: it routes operations to shards, buffers
// writes, requests locks and reads, sends commits, and retries. It is a deterministic state machine
// without input or output of its own; package gateway runs it.
//
// # Guarantees
//
//  1. At most one attempt of a transaction commits. The next one begins only when its predecessor is
//     known to be aborted.
//  2. A reported result has happened. An outcome that is not known is reported as unknown, with the
//     id by which it can be queried; it is never guessed.
//  3. Each request is retried until it is answered, and each call ends by its deadline.
//  4. All attempts of a transaction have the same age, so that none starves.
//
// # Structure
//
// A call is a flow: one state machine for each kind of call (package flow). Gateway has the calls of
// clients. The table of flows delivers a message to the flow that it is for (deliver.go), and the time
// to all flows (tick.go, down.go). The flow decides the next step of the protocol, and returns an
// outcome. The table applies the outcome (lifecycle.go): it ends the call, starts the next attempt, or
// makes the flow wait for a snapshot round.
//
//	client ── Execute, Begin, Do … ─▶ Gateway ─▶ flow ─▶ requests ──▶ shards
//	   ▲                                 ▲        │
//	   └────────── Done ◀── flowTable ◀──┼─ Outcome
//	                                     └── Deliver, Tick ◀── shards, clock
//
//	call              flow        requests                      shared state
//	Execute           OneShot     commitreq, readreq            piece     cuts and joins operations
//	Begin, Do         Update      lockreq, commitreq            session   values read, writes buffered
//	                  View        readreq                       shards    incarnations, nodes down
//	Scan              Scan        page                          places    placement of keys
//	RetainSnapshot    Snapshot    query of the hot shard        heat      hot keys
//	SetHotPolicy      HotPolicy   query of the hot shard        round     snapshot rounds
//	Move              Move        lockreq, commitreq            status    outcome queries
//	                  Round       readreq                       admission slots
//
// # Message delays
//
//	one-shot, one shard               2   (package commitreq)
//	one-shot, several shards          3
//	read-only, at once, or open       2   (package readreq)
//	read-only, the hot shard last     3
//	scan: its opening                 3   (package round), then 2 for each page
//	at a snapshot, by its name        4
//	read-only, under locks            4   LockingReads, the baseline
//
// # Example
//
// Client A executes "put k 1; put x 2", where k is hot. Execute makes a OneShot, and Admitter gives
// it a slot. Heat chooses the last agent, the shard of k. With the next Flush, a Prepare leaves for
// the shard of x, and a CommitRequest for the last agent, which responds:
//
//   - A has committed: Deliver finds the flow, and OnCommitResponse returns Finished with a Done.
//   - A is wounded: it holds x, for which an older transaction waits, and would have to wait for k.
//     OnAborted starts the next attempt with the same id and the same age. Transactions that begin
//     later are younger, so A is the oldest at last, and then it cannot be wounded.
//
// If there is no response by the deadline, A's outcome is reported as unknown.
//
// # Hazards
//
// A message may be late, duplicated, or of an earlier attempt. Each kind of request accepts only
// the response to an open request, by its number, name or incarnation. All others are ignored,
// except a late grant of locks, which is released: no flow would.
//
// Ids of calls lead messages to their machine (Affinity), so a call must be made on the machine of
// its id.
//
// Package gateway runs the machines, and routes calls and messages to them. This package relies on the packages under
// txn, and on no shard: shards may answer late, twice or not at all.
package txn
