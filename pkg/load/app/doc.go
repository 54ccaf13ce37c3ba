// Package app has the applications that Claret was measured with (Holt,
// Programming with abstract data types in distributed transactions, 2016,
// chapter 4), and some more of the kind: a raw mix of operations on sets,
// ticket sales, a bank, likes, a small Twitter (Retwis) and an auction house
// (RUBiS). Each is a workload.App on data types that commute where the
// application lets them.
//
// # Invariants
//
// Each client of an application keeps a ledger of what
// was acknowledged, and of what may or may not have been done. At the end the
// application reads everything back and holds it against the ledgers:
//
//	a := app.NewTickets(env, app.Tickets{})
//	result, err := app.Run(ctx, a, workload.Options{Clients: 64, Duration: 30 * time.Second})
//	result.Broken()  // what does not hold
//
// in the order
//
//	Load    gives every key its first value; it is not measured
//	Do      of all clients, by a workload.Runner
//	Verify  reads all keys and says of each invariant whether it holds
//
// Keys are new for each run, so that all that is found there is in the
// ledgers. Operations of unknown outcome are counted as "perhaps", for ever:
// the store may still be at work on them. A verdict has the number of
// things that were compared, which may be 0.
//
// # Without transactions
//
// OneByOne has the same clients run the same operations, each as a transaction
// of its own and as durable as before. That is Claret's upper bound: what data
// types cost with transactions is to be held against it. What then needs more
// than one operation is not promised, and not checked; what one operation
// promises alone is.
package app
