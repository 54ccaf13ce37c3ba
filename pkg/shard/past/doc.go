// Package past serves reads of past states on a shard, and its part in retained snapshots of the whole store.
//
// Guarantee: a read at a snapshot returns exactly what was visible on this shard at the snapshot's CSN, or is
// rejected because the snapshot does not exist any more. It waits for no update, and no update waits for it.
//
//	hot shard: Registry ◀── SnapshotListRequest ── Snapshots of every shard: what is retained
//	              ▲ retain, find, drop               │
//	           gateways                              ▼
//	                           Read, ReadPage ─▶ readable? ─▶ memory, or the log at the CSN
//
// Of a shard with several replicas, each can serve such reads from its rows (ReplicaReader).
//
// Example. A backup retains snapshot 7, whose CSN on this shard is 120. The registry reports it to the shard,
// whose store retains CSN 120 from then on. A scan at snapshot 7 reads page after page at CSN 120, while
// transactions write at higher CSNs. When the snapshot is dropped, the next report does not list it, and the
// store collects the versions that only it could see.
//
// # Hazards
//
//   - A shard that has received no report since its start does not know which snapshots exist. It requests
//     one, rejects nothing, and serves nothing at a snapshot until the report arrives; the gateway retries.
//   - The time of day may jump. The registry's clock does not (package snapshot).
//
// The package relies on the store, which retains the versions, and on package snapshot for the registry.
package past
