// Package client is the Go client of linchpin.
//
//	db, err := client.Open(ctx, []string{"127.0.0.1:7070", "127.0.0.1:7072"})
//	defer db.Close()
//
//	stock := client.NewBoundedCounter("sale/stock")
//	err = db.Execute(ctx, client.PutOp("sale/by/ann", nil, client.IfAbsent()), stock.SubtractOp(1))
//	switch {
//	case errors.Is(err, client.ErrConditionFailed): // has a ticket
//	case errors.Is(err, client.ErrOutOfRange): // sold out
//	}
//
// # Transactions
//
// A [DB] runs each call as a transaction of its own. There are two ways to do more in one:
//
//   - [DB.Execute] is for operations that are known beforehand. It is one round trip and holds no
//     lock on a hot key across it, which makes it the fastest by far.
//   - [DB.Update] and [DB.View] run a function that reads, decides and writes. Each read is a round
//     trip, and the function may run several times.
//
// Everything that is acknowledged is strictly serializable. [DB.AtSnapshot], [DB.CreateSnapshot] and
// [DB.AsOf] read states of the past.
//
// # Operations and data types
//
// A function or method whose name ends in Op builds an operation for Execute, which fills its result;
// the method of the same name without Op runs it:
//
//	likes := client.NewCounter("likes/42")
//	n, err := likes.Get(ctx, db) // a transaction
//	n, err = likes.Get(ctx, tx)  // a step of an Update
//	op := likes.GetOp()          // then db.Execute(ctx, op, ...) and op.Value()
//
// The types are [Value], [Counter], [BoundedCounter], [Set], [Map], [SortedSet], [TopK], [List],
// [Summary] and [IDs]. Their methods take a [Reader] or a [Writer]: a *DB, a *[Tx], and for reads
// also a *[View] or a *[Snapshot]. A function with a Writer parameter is therefore a transaction, or
// a part of one, as its caller decides. [CallOp] is for types of one's own.
//
// Keys are strings with any bytes, 1 to 4096 of them. Values have up to 1 MiB.
//
// # Errors
//
// Each error is an *[Error], or the one that the function of an Update or a View has returned. Its
// [Kind] has a sentinel for [errors.Is]. Absence is no error of a read, which reports it by ok; an
// update that needs the key fails with [ErrNotFound]. An error of nil means that the transaction has
// committed and that all results are filled in.
//
// # Retries
//
// The client retries what failed with a retryable kind ([Kind.Retryable]), with exponential backoff,
// until the context ends, or for 60 s if it has no deadline. All attempts of an Update have the age
// of the first, so that it wins in the end. A shard on a node that is known to be down fails the call
// at once; [WaitForNodes] waits for the node. [NoRetry] makes one attempt.
//
// If the response to a transaction that writes is lost, the client queries its outcome, at any node,
// until the context ends. If it has committed, the call returns as if nothing had happened. If not,
// the query aborts it for ever, and the client makes another attempt. So nothing is applied twice.
//
// # When the context ends
//
// A transaction is sent when its request, or the commit of an Update, is handed to the transport.
// Nothing is applied before that.
//
//  1. Not sent: [KindCancelled] or [KindDeadlineExceeded], [NotApplied]. Between two attempts the
//     error is that of the last one, with the context's as its cause. An error of the function of an
//     Update is returned as it is, unless the node could not confirm what it has read: then it is in
//     [Error].Unconfirmed. The end of the context of one step ends the transaction. Locks are released within 12 s.
//  2. Sent, without a response: the call waits for [CommitGrace]. Then the error is of
//     [KindOutcomeUnknown] if the transaction writes, and else as if it had not been sent. The node's
//     deadline is a little earlier than the context's, so the response usually arrives.
//  3. A response that has arrived is returned, nil included.
//  4. If the connection is lost after the sending, or the response is of [KindInternal], the outcome is
//     queried until the context ends; not if the node that has decided is known to be down.
//  5. There is no other case of KindOutcomeUnknown, and none of reads, scans, views and snapshots.
//     For ten minutes [DB.Outcome] settles it. [DB.Close] acts as the end of all contexts, with
//     [KindClosed].
//
// # Connections
//
// A DB is connected to one node at a time, by one HTTP/2 connection. Calls of many goroutines share
// messages: the sender takes all waiting requests into one message and never waits for more.
//
// After some calls for keys whose shards other nodes lead, it connects to all addresses, and sends each
// transaction of one operation to the node that leads the shard of its key. If that node is silent for
// a second, or the connection breaks, the calls go on by way of the first one. The calls for a key on the
// hot shard stay there: so the gateways of all nodes share the work for it.
//
// If the client has other addresses, it gives up a node that sends nothing for 1.5 s although a response
// is due, and connects to the next address. Requests that are not sent yet are sent there.
package client
