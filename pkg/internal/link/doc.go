// Package link connects a client to a cluster: it sends encoded requests, receives the responses, and
// decides what a failure means. Package client makes requests of operations, and results of responses.
//
// A [Link] is connected to one node at a time. A [Call] is a call of the client with all of its attempts;
// it is used by one goroutine. There are three ways to send:
//
//   - [Call.Execute] sends a one-shot transaction on the pipeline, the stream that all calls share.
//   - [Call.Begin] begins an interactive transaction, a [Tx], on a stream of its own.
//   - [Ask] makes a unary call; [Call.Session] is for streams of responses.
//
// # Guarantees
//
//  1. A request is handed to the transport once. What was not handed over when a connection ends is sent
//     on the next one; what was may have been applied.
//  2. The error of a transaction is certain: nothing has been applied, and nothing will be. The exception
//     is [kv.KindOutcomeUnknown], and only for a transaction that writes. If a response is lost, its outcome
//     is queried at any node ([Call.Execute], [Tx.Commit]); the query aborts what has not committed.
//  3. After the end of a context nothing more is sent for its call. A call whose request was sent waits
//     for the response for Policy.Grace, and not longer.
//  4. [Link.Close] acts as the end of all contexts. It returns when all goroutines have ended.
//  5. A call starts no goroutine, and never waits for another call, except for one of MaxInFlight slots. A
//     Link has one goroutine; a connection has the sender and the reader of the pipeline, and with several
//     addresses one that detects a silent node.
//
// # One call
//
// The way of a one-shot transaction, from the top down. The sender puts all listed requests into one
// message; it never waits for more.
//
//	caller                      sender                      reader
//	──────                      ──────                      ──────
//	NewRequest: encode
//	session: the live one ◄──── connector: connects to the next address when a session has ended
//	slot: one of MaxInFlight
//	enlist ───── list ────────► take: number them, note
//	  │                         them as sent
//	  │                         SendMsg ═════► node ══════► RecvMsg
//	  │                         handedOver                  deliver: free the slots
//	  ▼                                                       │
//	done ◄────────────────────────────────────────────────────┘
//
//	and without a response, if
//	  the session ended before SendMsg accepted it   ► the next session
//	  the session ended after that                   ► Resolve: query the outcome
//	  the context ended, and it is still listed      ► Cancelled, DeadlineExceeded
//	  the context ended, and it was sent             ► Grace, then Resolve
//
// Files: link (what is exported), call and execute (attempts), outcome (lost responses), connector (which
// node), session (one connection), dial and witness (how it is opened, and why not), liveness (a silent
// node), pipeline, transfer and request (one-shots), tx and streams (interactive transactions), pause, error.
package link
