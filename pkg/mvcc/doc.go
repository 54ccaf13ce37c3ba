// Package mvcc is the part of a shard's versions that is in memory, and what
// operations do to them.
//
// A Store holds Items: the newest visible value of a key, with the index at
// which it became visible, and the write intents that sit on it. An item that
// somebody needs is pinned; the others are a cache, bounded by bytes; what has
// not been used for long leaves it first (the clock algorithm). Absence is a value
// too, so a key that is known not to exist is an item like any other. What is not
// in memory is asked for, and until the answer comes the item is Loading and
// pinned: a write that becomes visible meanwhile makes the answer void.
//
// Exec runs the operations of a piece against a view of the newest visible
// values. It changes nothing: it returns the effects, which the shard either
// writes as intents or makes visible, and the results, or the failure.
//
// Garbage is what no read can see any more: a version below the newest one at
// or below every kept index. Whoever makes a version visible notes the one it
// replaced, unless it can go at once; the notes are worked off in the order in
// which they arose, as far as the kept indexes allow.
package mvcc
