// Package history records the results that clients of a transactional store get, and checks whether a strictly
// serializable store can have returned them. It does not depend on the store.
//
// # Recording
//
// A Recorder writes transactions to a file while they run. Every Client buffers whole records in memory, and takes the
// file's lock once per 64 KiB. Start is read before the request is sent, End after its response has arrived, both from
// one clock, so a transaction takes effect between the two.
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
// Reader returns the transactions one by one, Load all of them. Damage is a *CorruptError with the offset. A truncated
// file is not damage, and the rest of it can be checked.
//
// Every value written to a key should be unique for that key (a client's number and a count will do): then a read
// identifies the write that it returned, and most dependencies can be inferred. Repeated values weaken the verdict and
// never make it wrong, as long as all their writers are recorded. In a history with an unknown initial state, or with
// missing transactions, a value is attributed to a recorded writer only.
//
// # Checking
//
// There are three checkers, from the general to the particular.
//
// Check checks a recorded history. It reduces each transaction to one observation and one effect per key, checks each
// transaction by itself, binds observations to the writers of the unique values, and then infers an order:
//
//	repeat
//		sort the known dependencies, and narrow each transaction's
//		interval by those that precede and follow it;
//		a cycle, or an empty interval, is an anomaly
//		for each key: infer dependencies
//	until nothing new follows
//	place one transaction after another: a serial order is a proof
//
// For example, let w1 and w2 write x, and let r read the value of w1 after w2 has ended. Then w2 precedes r, so w2
// precedes w1: otherwise r would have read w2's value. If w1 also ended before w2 started, the intervals contradict
// this, and r is a stale read.
//
// Each step is sound, so a rejected history is wrong. A history that is accepted with Exact is right. In between are
// histories for which neither a contradiction nor an order was found. Small histories never end there, since every
// order is tried.
//
// The known difficulty is size: reachability among a million transactions. Real time helps here (graph.go): after
// narrowing, one comparison of bounds decides whether a path with a step in real time leads from a to b. A path without
// one only contains transactions that are concurrent with both, about as many as there are clients. So the cost of a
// query does not depend on the length of the history, and the usual chain of barrier nodes for real time is not needed.
//
// CheckExact is for a simulator, which knows the versions of each key and their order: only the dependencies are
// derived.
//
// Linearizable passes the transactions of each key to porcupine, as a second opinion that shares no code with the other
// two.
package history
