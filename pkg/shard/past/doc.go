// Package past is a shard's side of what has been: the snapshots of the whole store that are kept, and
// reads of them.
//
// Guarantee: a read at a snapshot sees exactly what was visible on this shard at the snapshot's index,
// or is refused because the snapshot is gone; it waits for nobody and holds nobody.
//
//	hot shard: Registry ◀── SnapshotListRequest ── Registry of every shard: what is kept, what can go
//	              ▲ keep, find, drop                 │
//	           gateways                              ▼
//	                           Read, ReadPage ─▶ readable? ─▶ memory, or the log at the index
//
// Example. A backup keeps snapshot 7, whose index here is 120. The registry reports it to this shard,
// whose store spares index 120 from then on. A scan at snapshot 7 reads page after page at index
// 120, whatever is written meanwhile. When the snapshot is dropped the shard hears of it with the
// next report, and collects what only it could see.
//
// Hazards. A shard that has not heard from the registry since its start does not know what is kept: it
// asks, and the request is repeated. Time of day may jump; the registry's own clock does not
// (package pins).
//
// It relies on the store, which keeps the versions, and on package pins for the registry's rules.
package past
