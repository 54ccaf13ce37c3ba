// Package record has the last agent's records of two-phase commit, and the bounded memory of what
// has finished. It is bookkeeping only: package agent sends the messages and executes the pieces.
//
// A [Record] is one attempt at its last agent:
//
//	from             event                                  to
//	(none)           Vote, Unseal                           Seen
//	(none), Seen     CommitRequest                          Pending
//	Pending          the last vote is yes and sealed        Ready
//	Ready            an epoch that it needs is dropped      Pending
//	Ready            the piece executes                     Committed
//	Seen             repeated vote, CancelRequest, timeout  Aborted
//	any but the last no, Wound, CancelRequest, failure      Aborted
//
// # Guarantees
//
//  1. Only the change to Committed is logged. All other records end with the incarnation of their
//     shard: presumed abort.
//  2. A record that is Committed stays until every participant has acknowledged the decision.
//  3. [Memory] never reports a finished commit as new. It is bounded: what it evicts raises a low
//     watermark, below which it reports that it does not know.
//
// # Example
//
// A participant votes for transaction T, and the gateway fails before it sends the commit request.
// The vote creates a record in state Seen. The participant repeats the vote; that is a query, so the
// record becomes Aborted and moves to the Memory. The commit request, delayed in the network,
// arrives now and finds the abort.
//
// # The two watermarks of a Memory
//
//	            what is evicted       raises                        below it
//	commits     lowest time in id     a time in ids                 the log is read
//	aborts      lowest number         a number of aborts, per user  presumed aborted
//
// Commits are in the log, so a missing one costs a lookup. Aborts are not; a commit request names
// the number of aborts that its gateway knew when it sent it, so only requests of before the evicted
// abort are rejected. docs/decisions/0004 has the reasons.
//
// Packages agent and outcome rely on this package. All types are for one goroutine.
package record
