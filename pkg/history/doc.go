// Package history records what the clients of a transactional store saw, and
// judges whether a strictly serializable store could have shown it to them. It
// knows nothing of the store.
//
// # Recording
//
// A Recorder writes transactions to a file while they run. Every Client
// gathers whole records in memory and takes the file's lock only for 64 KiB at
// a time. Start is read before the request leaves, End after its answer came,
// both by one clock, so that a transaction took effect between the two.
//
//	rec, err := history.Create("h.bin", history.Meta{Note: "zeta 1.2, seed 7"})
//	c := rec.Client(3)
//	p := c.Begin(id)
//	... run it ...
//	p.Read(key, value)
//	p.Write(key, unique)
//	p.Commit() // or p.Fail(), p.Unknown()
//	err = rec.Close()
//
// Reader gives the transactions back one by one, Load all of them. Damage is
// a *CorruptError with the offset; a file that was cut off is told apart from
// damage, and the rest of it may be judged.
//
// Every value written to a key should be unique for that key (a client's
// number and a count will do): then a read names the one write that it saw,
// and most of what follows can be inferred. Values that are not unique make
// the judge say less and never make it wrong, as long as it is told of all who
// wrote them: of a history with an unknown beginning, or with transactions
// missing, it takes no value for another's than that of a transaction it knows.
//
// # Judging
//
// There are three judges, from the general to the particular.
//
// Judge takes a recorded history. It reduces each transaction to one
// observation and one effect for each key, checks what a transaction shows by
// itself, ties observations to the writers of the unique values, and then
// infers an order:
//
//	repeat
//		sort the known dependencies, and narrow each transaction's
//		interval by those that must come before and after it;
//		a cycle, or an empty interval, is an anomaly
//		for each key: infer what comes before what
//	until nothing new follows
//	place one transaction after the other: a serial order is proof
//
// Each step is sound, so a history that is refused is wrong. What is accepted
// with Exact is right. In between is a history for which neither contradiction
// nor order was found; small ones never end there, as every order is tried.
//
// The known difficulty is size: reachability among a million transactions.
// Here real time helps (graph.go): after narrowing, whether a path with a step
// in real time leads from a to b is one comparison of bounds, and a path
// without one only runs through transactions that are concurrent with both,
// as many as there are clients. So each question costs the same however long
// the history is. The usual chain of barrier nodes for real time is not needed
// at all.
//
// ExactJudge is for a simulator, which knows the versions of each key and
// their order: nothing is inferred but the dependencies themselves.
//
// Linearizable gives the transactions of a single key to porcupine, as a
// second opinion that shares no code with the other two.
package history
