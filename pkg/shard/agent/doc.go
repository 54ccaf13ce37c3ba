// Package commit is a shard's side of two-phase commit, in both roles: the Participant, which locks,
// executes and promises a piece of a transaction, and the LastAgent, which holds the one record of
// the transaction, executes its own piece last, and decides.
//
// Guarantee: a transaction commits at one instant, on its last agent, when all participants have
// promised and are sealed; everybody who has promised learns that, and nobody learns otherwise. A
// commit that was aborted anywhere is never made. Of the commits of one id at most one is made.
//
//	gateway ──Prepare──▶ Participant ──Vote──▶ LastAgent ◀──Park── gateway
//	                         ▲                     │ all yes and sealed: run, decide
//	                         └───────Decide────────┴──Answer──▶ gateway
//
// Example. A adds to a hot key h, which its last agent has, and to a cold key c. The participant with
// c locks it, executes, logs the promise and votes. The last agent takes no lock on h until the vote
// is there: then it executes A's piece, writes the commit and releases h, all in one step. A
// transaction B that wants h too waits for no message of A's.
//
// Hazards. Every message may be lost, doubled, late, and of an earlier incarnation. A vote that is
// repeated before the CommitRequest is a question; presumed abort answers it, and the record that becomes
// Aborted is the tombstone on which a late CommitRequest dies. The same id may be sent again through another
// gateway and to another last agent, which makes a second commit of the same attempt. Each commit has a
// name (kv.CommitID), and a message counts for the commit that it names alone (once.go). A seal may be withdrawn while votes are under way
// (unseal.go).
//
// The Participant calls nothing of the LastAgent; what concerns it is handed out by Applied. The
// LastAgent uses the Participant of its shard, whose locks its own transactions may hold. Both rely on
// packages exec, outcome, record and snapshotqueue; docs/protocol.md, sections 2 to 4, is the
// specification.
package agent
