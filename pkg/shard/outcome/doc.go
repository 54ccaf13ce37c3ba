// Package outcome is what a shard knows of transaction ids: which have committed or were applied
// here, which can never commit here any more, and from when on it has forgotten.
//
// Guarantee: an id that has committed or was applied is never taken for new. Either memory knows it,
// or memory knows that it may have forgotten it and the log is asked (LookUp), or the id is older
// than the low watermark (Floor) and refused.
//
//	            Finish ─▶ memory, bounded ─┐
//	commit ───┤                            ├─▶ Finished, Complete
//	            └──────▶ log: an outcome ──┘        │ not complete
//	                        │                       ▼
//	                        │  retention time    LookUp: what the log says
//	                        ▼
//	                 RaiseFloor deletes it; from then on the id is too old
//
// Example. A commits and its answer is lost. Its gateway sends the CommitRequest again: memory answers. After
// an hour of other commits memory has forgotten A, is not Complete for its time, and the log
// answers. After the retention time the id is below the floor and the client is told so; it never
// commits twice.
//
// Hazards. The outcome may be written, or deleted, while it is being looked up: a lookup is told of
// what is finished meanwhile, and its caller asks memory and Floor once more. The time of day may be
// wrong for any time; the floor rises only by a clock that has run evenly for a whole retention
// time. After a restart memory is empty: the state row says which times the ids of before may have.
//
// Both sides of the commit rely on it. docs/decisions/0004 gives the reasons for two floors.
package outcome
