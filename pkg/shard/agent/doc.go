// Package agent is a shard's side of two-phase commit, in both roles: the [Participant] locks,
// executes, logs and votes; the [LastAgent] keeps the record of a transaction, executes its own
// piece last, and decides.
//
// # Guarantees
//
//  1. A transaction commits at one instant, F(T): one step of its last agent, after a sealed yes
//     from every participant. Every prepared participant receives that decision, and no other.
//  2. A commit that was aborted anywhere never commits.
//  3. Of the commits of one id, at most one is made (exclusion.go).
//
// The messages of a commit:
//
//	gateway ──Prepare──▶ Participant ──Vote──▶ LastAgent ◀──CommitRequest── gateway
//	                         ▲                     │ all yes and sealed: lock, execute, decide
//	                         └──────Decision───────┴──CommitResponse──▶ gateway
//
// # Example
//
// Transaction A adds to the hot key h, which is on its last agent, and to the key c on another
// shard:
//
//	shard of c                           last agent, with h
//	lock c, execute, log
//	    ├─ vote yes, sealed ───────────▶ find h free, execute, write commit, release h
//	    │                                   (one step: h is never locked between steps)
//	    ◀──────────────────── decision ─┤
//	make the write of c visible, release c
//
// Transaction B, which also writes h, never waits for a message of A.
//
// # Hazards
//
// Messages are lost, delayed, duplicated or reordered, and arrive from earlier incarnations.
//
//   - A vote that is repeated before the commit request arrives is a query: the last agent presumes
//     an abort and remembers it. That rejects the commit request if it arrives later.
//   - A client may send an id again through another gateway: a second commit of the attempt, with another last agent.
//     Each commit has a name (kv.CommitID), and a message counts only for the commit that it names.
//   - A gateway may fail: its commit is aborted when it no longer repeats the request (LastAgent.Tick, votes.go).
//   - A seal may be dropped while the vote that reports it is in flight (unseal.go).
//   - After a restart, memory does not know what earlier incarnations decided. Where the answer
//     depends on that, the outcome is looked up in the log first.
//
// # Use
//
// Package shard dispatches messages and task steps to both roles, and passes the applied
// transactions of the Participant ([Participant.TakeApplied]) to the LastAgent. The Participant
// never calls the LastAgent; the LastAgent calls the Participant of its shard. Both use packages
// interactive, whose requests may hold locks of the same transaction, exec, attempt, outcome, record and
// snapshotqueue. The specification is docs/protocol.md, sections 2 to 5.
package agent
