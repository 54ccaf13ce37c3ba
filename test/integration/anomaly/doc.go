// Package anomaly shows that what a strictly serializable store must never do
// does not happen, one test for each anomaly by the name that the literature
// has for it, through each way in which a client can run transactions:
//
//	execute      one-shot transactions that race
//	interactive  Update and View, held open and interleaved step by step
//	scan         readers and predicates that are ranges
//
// Each is run with either commit order, and with the keys on several ordinary
// shards, on one, on the hot shard and an ordinary one, and all on the hot
// shard. Clients are spread over the gateways of a cluster in this process.
//
// An interleaving fixes what the test does, not which transaction wins: where
// the protocol may choose whom to abort, the assertion is on those that
// committed, and that somebody did.
package anomaly
