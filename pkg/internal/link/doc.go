// Package link connects a client to a cluster: it sends encoded requests, receives the responses, and
// decides what a failure means. Package client makes requests of operations, and results of responses.
//
// A [Link] is connected to one node at a time, and to others only to save time (leaders). A [Call] is a call
// of the client with all of its attempts; it is used by one goroutine. There are three ways to send:
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
//     is [kv.KindOutcomeUnknown], and only for a transaction that writes. If its response is lost, the
//     outcome is queried at any node ([Call.Execute], [Tx.Commit]); the query aborts what has not committed.
//  3. After the end of a context nothing more is sent for its call. A call whose request was sent waits
//     for the response for Policy.Grace, and not longer.
//  4. [Link.Close] acts as the end of all contexts, and closes the connections when the responses to
//     what was sent have arrived, or Policy.Grace has passed.
//  5. A call starts no goroutine while its context lasts, and waits for other calls only for one of
//     MaxInFlight slots. A Link has one goroutine, and one for each address when it connects to leaders; a
//     connection has the sender and the reader of the pipeline, and with several addresses one that detects
//     a silent node.
//
// # One call
//
// The way of a one-shot transaction, from the top down. The sender puts all listed requests into one
// message; it never waits for more.
//
//	caller                      sender                      reader
//	──────                      ──────                      ──────
//	NewRequest: encode
//	session: with the leader ◄─ leaders: the node that responses for the key have named
//	  or the live one ◄──────── connector: connects to the next address when a session has ended
//	slot: one of MaxInFlight
//	enlist ───── list ────────► take: number them, note
//	  │                         them as sent
//	  │                         SendMsg ═════► node ══════► RecvMsg
//	  │                         handedOver                  deliver: free the slots
//	  ▼                                                       │
//	done ◄────────────────────────────────────────────────────┘
//
// If there is no response:
//
//	the pipeline ended before SendMsg accepted it   ► the next session
//	the pipeline ended after that                   ► query the outcome; of a read, Unavailable
//	the context ended while it was listed           ► Cancelled, DeadlineExceeded
//	the context ended, and Grace after that         ► OutcomeUnknown; of a read, as while it was listed
//
// # Files
//
//	link                          opens and closes; the clock of ids
//	call, execute, outcome, pause one call: its context, attempts, lost responses, pauses
//	connector, leaders            which node
//	session, dial, witness        one connection; how it is opened, and why it is not
//	liveness                      detects a silent node
//	pipeline, transfer, request   one-shot transactions: callers, sender and reader, encoding
//	tx, streams                   interactive transactions
//	error                         errors, of nodes, of gRPC and of contexts
package link
