// Package record has the last agent's records of two-phase commit. It is bookkeeping only: package agent
// sends the messages and executes the pieces.
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
//	Pending, Ready   the gateway is silent                  Aborted
//	any but the last no, Wound, CancelRequest, failure      Aborted
//
// # Guarantees
//
//  1. Only the change to Committed is logged. All other records end with the incarnation of their
//     shard: presumed abort.
//  2. A record that is Committed stays until every participant has acknowledged the decision.
//
// # Example
//
// A participant votes for transaction T, and the gateway fails before it sends the commit request.
// The vote creates a record in state Seen. The participant repeats the vote; that is a query, so the
// record becomes Aborted, and package outcome remembers that. The commit request, delayed in the network,
// arrives now and finds the abort.
//
// Package agent relies on this package. All types are for one goroutine.
package record
