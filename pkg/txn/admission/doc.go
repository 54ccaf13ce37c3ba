// Package admission decides which new transactions a gateway takes, so that
// those who want one key, or a shard that is slow, do not take the places of
// everybody else. It is pure.
//
// A gateway has a number of places; a transaction takes one when it is
// admitted and gives it back when it ends. With that number alone, more
// clients of one key than it can serve would soon have all of them: they stay
// for long, and others do not. So places are counted by shard and by key too,
// and there are two rules.
//
//	a shard may have as many places as are free    (and at most PerShard)
//	a key may have as many as its shard has left   (and at most PerKey)
//
// The first is how switches share one memory among their ports (Choudhury and
// Hahne, Dynamic Queue Length Thresholds): however many shards are stuck, k of
// them take k/(k+1) of the places, and the rest stays free. The second is the
// same again within a shard: hot keys leave room for the cold ones beside
// them. Below a few places (Always) neither rule applies, so that a cold key
// is refused only when the node is full, or its own shard has its share.
//
// # Counting keys
//
// To count every key exactly would cost a map's entry for each transaction.
// Instead keys fall into slots, by hash, and each slot has a counter, which no
// key of it exceeds. When a slot has so many that one of its keys could be at
// its limit, the slot is watched: the transactions under way are walked once,
// and from then on its keys are counted one by one. A request is refused only
// by such an exact count, never because it shares a slot. When the slot has
// calmed down its keys are forgotten again.
//
//	Check    slot below the limit? admitted.   one hash and one comparison a key
//	         else watch it, and go by its keys
//	Take     slots + 1; watched keys + 1
//	Give     slots - 1; watched keys - 1, and the rate at which they end
//
// A key that is wanted at other gateways too may have too much for its shard, which
// then refuses. The gateway takes that as the key's share from then on, and
// raises it slowly while the key is served.
//
// A key that occurs several times in a transaction counts once.
//
// # When to come back
//
// A refusal says when to try again. Transactions of the key end at a rate that
// is measured while the key is watched; each refusal takes the next turn of
// that rate, and says when that is. So those who come back do so one after the
// other, as fast as places are given back, and not all at once.
package admission
