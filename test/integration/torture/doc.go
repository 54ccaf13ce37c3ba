// Package torture runs clients of every kind against a cluster while a test injects faults, and checks
// their results.
//
//	run := torture.Start(t, addrs, torture.Options{Clients: 12})
//	run.Await(t, 200)  // until so many more transactions have committed
//	... kill a node, cut a link ...
//	run.Finish(t)      // ends the clients, reads all keys, checks
//
// Every transaction is recorded with its results and its outcome. The last transaction reads every key, so
// a lost acknowledged write and a transaction that is applied in part are contradictions in the history.
// There are three checks:
//
//   - package history checks all transactions for strict serializability;
//   - porcupine checks the keys that only single-key transactions use for linearizability;
//   - each counter is the sum of the acknowledged additions, give or take those whose outcome is unknown.
//
// Read-only clients (Options.Readers) do not retry. If one of their transactions fails, or is retried by
// its gateway, the reason must be a fault that the test has registered (Run.Fault), never a concurrent
// transaction.
//
// The keys are few, so that transactions conflict:
//
//	r/N        registers, read and written by several at a time
//	a/N b/N    couples: written together, with one value
//	n/N        counters
//	s/N        registers of single-key transactions
//	g/N        keys that are inserted, deleted and scanned
package torture
