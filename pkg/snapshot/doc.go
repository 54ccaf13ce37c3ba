// Package snapshot stores retained snapshots: states of the whole store that can be read later, by name or as of a
// time (docs/protocol.md, section 8).
//
// A snapshot is a vector clock: the CSN of every shard at one instant. All snapshots are totally ordered, and
// no entry of their clocks falls in that order. Gateways fix them; one registry, a part of the hot shard,
// retains them: it numbers them, removes them when they expire, and has a row in the log of the hot shard for
// each.
//
// # Garbage collection
//
// A shard retains every version that is visible at a snapshot. It cannot know a snapshot that is on its way to
// the registry, so it collects only by the registry's list (Known). The list has the GC safe point: the CSN in
// the newest snapshot requested. Versions visible at the safe point or later are retained; of older ones,
// those visible at a snapshot.
//
//	CSN of a shard  ----s1------s2-------safe point=s3-----------> now
//	retained            s1      s2           everything from here on
//	garbage         xxxx  xxxxxx  xxxxxxxxxxx
//
// So the registry never retains a snapshot below its safe point. A request for one gets the safe point
// instead. That is as good: its instant is later than that of the requested snapshot, and before the response.
//
// Example. Gateway G1 fixes {5, 4}, G2 fixes {6, 4} a moment later. G2's request arrives first: the safe point
// becomes {6, 4}, and shard 0 may collect what only CSN 5 sees. G1's request then gets {6, 4}.
//
// A shard that has restarted knows no snapshots. It neither collects nor reads at a snapshot until it has
// received a list: the snapshot may have been removed, and its versions collected, before the restart. A list
// that was sent to its previous incarnation does not count, since it may be that old.
//
// # Times
//
// Snapshots are fixed, and expire, by the monotonic clock of the incarnation of the registry (Now), and are
// shown as times of day. That time of day does not jump (clock.go). Times in the rows of earlier incarnations
// are used as far as they are consistent (times.go).
//
// Package past relies on the registry and on the lists; package store collects by them.
//
// Guarantee: a version that is visible at a retained snapshot, or may be visible at one that is still to be retained,
// is in no list as garbage. Hazard: a list counts for the incarnation that has requested it.
package snapshot
