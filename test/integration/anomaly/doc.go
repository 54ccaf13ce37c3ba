// Package anomaly tests that the anomalies which strict serializability forbids do not occur. Each anomaly
// has a test by its name in the literature, for each way in which a client can run transactions:
//
//	execute      concurrent one-shot transactions
//	interactive  Update and View, interleaved step by step
//	scan         readers and predicates that are ranges
//
// Each test runs with both commit orders, and with its keys on several ordinary shards, on one of them, on
// the hot shard and an ordinary one, and all on the hot shard. The clients use all gateways of a cluster in
// this process.
//
// An interleaving determines the steps, not which transaction commits. Where the protocol may choose which
// one aborts, the test makes assertions about those that have committed, and requires that at least one
// has.
package anomaly
