// Package outcome is what a shard knows of transaction ids: which have committed or were applied
// here, which can never commit here any more, and below which time outcomes have been deleted.
//
// # Guarantee
//
// An id that has committed or was applied is never treated as new. Either memory knows it, or memory
// reports that it is not complete for the id and the log is read ([Outcomes.LookUp]), or the id is
// below the low watermark and is rejected as too old.
//
//	            Finish ─▶ memory, bounded ─┐
//	commit ───┤                            ├─▶ Finished, IsComplete
//	            └──────▶ log: an outcome ──┘        │ not complete
//	                        │                       ▼
//	                        │ retention time     LookUp: reads the log
//	                        ▼
//	                 RaiseLowWatermark deletes it; from then on the id is too old
//
// # Example
//
// Transaction A commits and its response is lost. Its gateway sends the commit request again, and
// memory has the result. After many other commits A has been evicted: IsComplete is false for its
// time, and the log has the result. After the retention time the id is below the low watermark, and
// the client receives TooOld. A never commits twice.
//
// # Hazards
//
//   - An outcome may be written or deleted while a lookup reads the log. The lookup gets what is
//     written meanwhile; its caller checks memory and the low watermark again.
//   - The time of day may be wrong at any time. The low watermark rises only by a clock that has
//     been steady for a whole retention time (watermark.go).
//   - After a restart memory is empty. The state row has the spans of time in which the ids of
//     earlier incarnations lie (times.go); only these are looked up.
//
// # The two watermarks of a Memory
//
//	            what is evicted       raises                        below it
//	commits     lowest time in id     a time in ids                 the log is read
//	aborts      lowest number         a number of aborts, per user  presumed aborted
//
// Commits are in the log, so a missing one costs a lookup. Aborts are not; a commit request names
// the number of aborts that its gateway knew when it sent it, so only requests of before the evicted
// abort are rejected.
//
// Both roles of package agent, and the readers, rely on this package. docs/decisions/0004 has the
// reasons for two low watermarks. All types are for one goroutine.
package outcome
