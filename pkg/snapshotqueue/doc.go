// Package snapshotqueue keeps, for one shard, which readers stand in the way
// of which updates, and which updates readers wait for (docs/protocol.md,
// section 5; after the snapshot-queues of SSS, Kishi et al. 2019, section
// III; docs/divergence.md tells where it departs from them, and why). With it
// read-only transactions take no locks and are never aborted.
//
// An update that is prepared here is held while a reader is registered whose
// operation does not commute with it, and sealed otherwise:
//
//	            no such reader                Decide
//	Prepared ──────────────────▶ sealed ─────────────────▶ gone
//	   │                         ▲    │
//	   │ such a reader           │    │ Unsealed, and a reader is registered
//	   ▼          the last       │    ▼
//	  held ──────────────────────┴── held
//	            of them leaves
//
// Only a sealed update can be decided: its vote carries the epoch of the
// sealing, and the last agent drops an epoch when it is asked to, for the sake
// of a reader that has waited for long. A later sealing has a later epoch.
//
// A read goes like this, and its registration always comes first:
//
//	Enter   register, and collect the sealed updates that it does not commute with
//	wait    until each of them is decided or unsealed
//	Ready   read the newest visible values
//	Leave   at once, or when the transaction ends, or when the lease has lapsed
//
// The last agent decides without sealing: in one step, so that what it has to
// know is only whether a reader is registered. If there is one, its piece
// waits here (Hold), holding nothing.
//
// What was prepared in an earlier life of the shard is recovered: readers wait
// for it as if it were sealed, since it may have been, and its last agent is
// told that it is held. It seals anew when the leases of that life's readers,
// who are forgotten, have lapsed.
//
// HAZARD: an epoch of an earlier incarnation must never be given out again.
// The shard raises its incarnation durably before its first message, and the
// incarnation is the upper half of the epoch.
package snapshotqueue
