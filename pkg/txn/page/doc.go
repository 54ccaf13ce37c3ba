// Package page reads a range at a fixed state, page by page, holding no lock.
//
// # Guarantees
//
// Every shard has a state that does not change; the pages of all shards are merged by key. A
// page ends where the next pair of some shard is not known yet, so that pairs come in order,
// each once.
//
//	Next ─▶ Due ─▶ ReadPage to the shards of which nothing is here ─▶ ReadPageResponse ─▶ Took ─▶ Merge
//
// # Hazards
//
// A page's number begins anew with the gateway, so that an answer counts only under the name
// of the scan. A shard that has forgotten the state answers Gone: the scan ends, and is not
// continued at another state.
package page
