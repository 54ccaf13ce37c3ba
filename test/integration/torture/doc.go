// Package torture runs clients of every kind against a cluster to which
// something is being done, and judges what they saw.
//
//	run := torture.Start(t, addrs, torture.Options{Clients: 12})
//	run.Await(t, 200)  // until so many more transactions have ended
//	... kill a node, cut a link ...
//	run.Finish(t)      // ends the clients, reads everything, judges
//
// Every transaction is recorded with what it saw and how it ended, by one
// clock. At the end a last transaction reads every key; so an acknowledged
// write that was lost, and a transaction of which one half is there, are
// contradictions in the history. Three judges look at it:
//
//   - history.Judge, for strict serializability of all transactions;
//   - history.Linearizable (porcupine), for the keys that are only ever
//     touched one at a time;
//   - sums: each counter is what the acknowledged additions make, give or take
//     those whose outcome nobody could find out.
//
// Clients that only read (Options.Readers) try nothing again. If they fail, or
// their gateway begins them anew, it must be because of a fault that the test
// has told of (Run.Fault), and never because of other transactions.
//
// The keys are few, so that transactions meet:
//
//	r/N        registers, read and written by several at a time
//	a/N b/N    couples that are always written together, with one value
//	n/N        counters
//	s/N        registers of single-key transactions
//	g/N        keys that come and go, and are scanned
package torture
