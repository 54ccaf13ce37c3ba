// Package admission decides which new transactions a gateway admits, so that transactions of one hot key, or of a
// slow shard, do not occupy the slots of all others. It is pure.
//
// A gateway has a number of slots. A transaction occupies one from its admission to its end. With that bound alone,
// the clients of one overloaded key would soon occupy all slots: their transactions stay long, others do not. So
// slots are also counted by shard and by key, with two rules:
//
//	a shard may have as many slots as are free     (at most PerShard)
//	a key may have as many as its shard has left   (at most PerKey)
//
// The first rule is that by which switches share one memory among their ports (Choudhury and Hahne, Dynamic Queue
// Length Thresholds): if k shards are stuck, they occupy at most k/(k+1) of the slots. The second rule is the same
// within a shard: hot keys leave slots for its other keys. Below a few slots (Always) neither rule applies. So a
// request of a key without contention is refused only if the node is full, or its shard has all its slots.
//
// # Example
//
// A node has 2,048 slots, and clients send requests for the hot key k on shard 0 without a bound. Shard 0 gets at
// most 1,024 slots (PerShard) and k at most 128 of them (PerKey). The next request for k is refused with a retry
// time. A request for another key of shard 0 is admitted.
//
// # Counting keys
//
// An exact count of every key would cost a map entry per transaction. Instead keys are hashed to buckets with one
// counter each, which is an upper bound for each of its keys. When a counter reaches the limit of a key, the bucket
// is watched: the transactions in flight are scanned once, and from then on the keys of this bucket are counted
// exactly. A request is refused by an exact count only, never because of a hash collision. When the counter has
// fallen again, the exact counts are dropped.
//
//	CheckKeys  counter below the limit: admit.       one hash and one comparison per key
//	           else watch the bucket, and use the exact counts
//	Occupy     counters + 1; exact counts + 1
//	Free       counters - 1; exact counts - 1, and the service rate
//
// A shard refuses requests for a key that other gateways overload too. The gateway then takes its current count as
// the bound of the key, and raises it slowly while requests for the key are served.
//
// A key that occurs several times in a transaction counts once.
//
// # Retry times
//
// A refusal has a retry time. The rate at which transactions of a watched key end is measured; each refusal reserves
// the next turn at that rate. So clients retry one after the other, as fast as slots become free, and not all at
// once.
//
// # Guarantees
//
// No transaction that is admitted is refused later by this package. A key without contention is refused only if its
// shard, or the node, has no free slot.
//
// Package txn/flow relies on it for all kinds of calls, and calls the checks in the order key, shard, node. Package
// shard/exec uses its service rate for retry times.
package admission
