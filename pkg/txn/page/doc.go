// Package page reads a range at a snapshot, page by page, without locks.
//
// # Guarantees
//
// All pages are read at one CSN per shard, and the pages of the shards are merged by key. A merged page ends where
// the next pair of some shard is not known yet. So pairs are returned in key order, each once.
//
//	Start ─▶ DueShards ─▶ Send: ReadPage to the shards without pairs ─▶ OnPage ─▶ Merge
//
// For example, shard 1 has returned a and d and has more, and shard 2 has returned b and nothing more. The merged
// page is a, b, d; the next page begins with a request to shard 1 after d.
//
// Flow Scan relies on this package, which relies on the shards (package past) to retain the snapshot: for a minute
// after each page, or as long as the registry lists it. # Hazards
//
// Numbers of requests start again when a gateway restarts, so a response counts only with the name of the scan. A
// shard that no longer retains the snapshot responds Gone: the scan fails, and is not continued at another snapshot.
package page
