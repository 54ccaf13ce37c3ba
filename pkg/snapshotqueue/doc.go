// Package snapshotqueue orders read-only transactions and updates on one shard (docs/protocol.md, section 5). Read-only
// transactions register here instead of taking locks, and are never aborted by updates. The queues follow the
// snapshot-queues of SSS (Kishi et al. 2019, section III); docs/divergence.md lists the differences and the reasons.
//
// # Guarantee
//
// From the registration of a reader until it deregisters or its lease ends, no update that does not commute
// with it is decided by a vote of this shard, unless the update was sealed at the registration. In that case
// the reader returns nothing before the decision. A waiting read ends: the update is decided, or unsealed.
//
// # Updates
//
// A prepared update is held while a reader is registered whose operation does not commute with it, and sealed
// otherwise:
//
//	          no such reader                   decision
//	Prepared ─────────────────▶ sealed ─────────────────▶ removed
//	   │                         ▲    │
//	   │ such a reader           │    │ unseal response, and such a reader is registered
//	   ▼        the last one     │    ▼
//	  held ──────────────────────┴── held
//	            deregisters
//
// Only a sealed update can be decided. Its vote carries the epoch of the sealing. If a reader has waited too long, the
// shard requests that the last agent drop the epoch; a later sealing has a later epoch.
//
// # Reads
//
//	Enter   register, and collect the sealed updates that do not commute with the read
//	wait    until each of them is decided or unsealed
//	Ready   read the newest visible values
//	Leave   at once, at the end of the transaction, or when the lease ends
//
// Registration and collection are one step. So an update either is sealed before the reader arrives, and the reader
// waits for its decision, or it is held by the reader:
//
//	reader R        shard               last agent of A
//	                A prepared, sealed 1.1 ── vote ──▶
//	Enter ─────────▶ R registered, waits for A
//	                B prepared, held by R
//	                A decided ◀────── decision ───────
//	◀── Ready ────── R reads A's value
//	Leave ─────────▶ B sealed 1.2
//
// # The last agent
//
// The last agent decides in one step and needs no sealing: it only has to know whether a conflicting reader is
// registered. If so, its piece waits here (Hold) without holding locks.
//
// # Restart
//
// Registrations are lost. An update that was prepared in an earlier incarnation is recovered: it may have been sealed,
// so readers wait for it, but its votes report it as held. It seals again when the leases of the earlier incarnations
// have ended.
//
// # Who relies on it
//
// Package readers registers readers here. Package agent adds prepared updates and pieces, reports decisions and unseal
// responses, and sends the votes. The shard calls Changes after each transaction until it is empty, and Tick in each
// step. This package relies on package adt for which modes commute.
//
// # Hazards
//
// An epoch must never be reused after a restart, or a vote of an earlier incarnation could be counted for a later
// sealing. The incarnation is the upper half of the epoch, and the shard raises it durably before its first message.
package snapshotqueue
