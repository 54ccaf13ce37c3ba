// Package client is the Go client of linchpin.
//
//	db, err := client.Open(ctx, []string{"127.0.0.1:7070", "127.0.0.1:7072"})
//	defer db.Close()
//	out, err := db.Execute(ctx, client.Get(name), client.Add(visits, 1))
//
// There are two ways to run a transaction. Execute is for one whose operations
// are all known beforehand: it is one message each way, and by far the fastest.
// Update and View run a function that reads, decides and writes, as in bbolt;
// each read is a round trip, and the function may be run more than once.
// Everything that either of them acknowledges is strictly serializable.
//
// # One stream, many callers
//
// A DB talks to one node at a time, over one long-lived stream. A call of
// Execute encodes its request in the goroutine of its caller, puts it on the
// stream's list and waits. One sender takes whatever is on the list, be it one
// request or two hundred, into one message; it never waits for more to come,
// so a lone caller loses nothing and a crowd shares the cost of a message. One
// reader hands the answers, which carry the numbers of their requests, back to
// the callers.
//
//	caller    encode; put on the list; wake the sender; wait
//	sender    forever: take all that is on the list, note it as sent, send it
//	reader    forever: receive answers, wake their callers
//
// A node that is silent for 3 s although a response or its health was asked for is taken as gone, and the
// stream as broken, if there is another address. When the stream breaks, what was on the list has certainly not been applied
// and goes to the next node. What was noted as sent may have been.
//
// # Nothing is guessed
//
// The client makes the id of each transaction. If the answer to one that
// writes is lost, the client asks what became of the id, at any node that can
// be reached, until the context ends. Committed: the results are returned as if
// nothing had happened. Aborted: the id is closed for good by the question, and
// the transaction is run again under a new one.
// Not to be found out in time: the error is of kv.KindOutcomeUnknown and has the id,
// with which `linchpin outcome` or DB.Outcome can ask later. No other kind of
// error is ever returned for a transaction that may have been applied.
//
// # When the context ends
//
// A transaction is sent when its request, or the commit of an Update, is handed to
// the transport; nothing is applied before that. If the context ends before that, the
// error is of kv.KindCancelled or kv.KindDeadlineExceeded; between two attempts it is that of
// the last attempt, with the context's error as its cause. If it ends after that, the
// call waits for the response for CommitGrace and returns it; without a response it is
// kv.KindOutcomeUnknown if the transaction writes, and else as if it had not been sent. Close
// acts as the end of all contexts, with kv.KindClosed.
//
// # Errors and retries
//
// Errors are *Error, and kv.KindOf gives their kind. The kinds that say "try
// again" (aborted, unavailable, exhausted) are tried again here, with growing
// pauses, until the context ends, or for kv.MaxTxnAge if it never does;
// WithRetries(false) leaves that to the caller. What fails because a node is known to be
// down (Error.Down) would fail again: it is told at once, and tried again only by who
// wants to wait for the node, as during a restart: WithWaitForShards(true). All attempts of a transaction
// have the age of the first, so that it grows older until it wins.
//
// The server is told a deadline a little before that of the context, so that
// its answer, which knows whether anything was applied, comes in time.
package client
