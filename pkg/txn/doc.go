// Package txn is the gateway's side of transactions: it routes operations to
// shards, buffers writes, asks for locks and reads, sends the commit, and
// tries again. It is pure; package gateway runs it.
//
// # A one-shot transaction
//
// Everything is known at once. The operations are cut into pieces, one per
// shard; the hottest shard is the last agent.
//
//	one shard    Park ─────────────────────────▶ Answer              2 delays
//	several      Prepare to all but the last agent, Park to it;
//	             they vote to it, and it answers                     3 delays
//
// An attempt that loses against an older transaction is followed by another
// with the same id, and so with the same age, when it is known to be aborted:
// never before, so that at most one attempt commits.
//
// # An interactive transaction
//
// Reads lock and return; writes are buffered, and seen by the transaction's
// own reads and scans, since every call is executed here against what was
// read and what is buffered, by the same code that shards use (mvcc.Exec). A
// key on the hot shard is read without a lock the first time and checked
// inside the decision. At commit the buffer becomes pieces and goes the way
// of a one-shot. If there turn out to be no writes it is checked that the
// locks were never lost.
//
// # A read-only transaction
//
// It takes no locks (reading.go): it registers in the snapshot-queues of the
// shards, under leases that are counted and renewed here, and is over when
// everything has been read and all leases stand. The plans are in plan.go:
//
//	one shard          Park, as a snapshot                               2 delays
//	several, at once   Read to each; then Leave                          2 delays
//	  the hot one last Read to each; the others tell it, and it answers  3 delays
//	interactive        Read to each as it goes; Leave at the end         2 for each call
//	scan               the same as the hot one last, for the shards' indexes; then pages
//	in the past        the keeper is asked for the pin, and each shard for what was there   4 delays
//
// Fixing the shards' indexes is a round (pinning.go), which all who ask before
// it begins share: scans, snapshots (past.go), the history that the keeper asks
// for, and interactive readers that have been open for long, which go on in the
// past and hold nobody any more.
//
// With LockingReads, the baseline, it locks: Lock to each; when all are
// granted, Check to each, which is 4 delays.
//
// # Giving way
//
// A mark says that an older transaction waits for this one. While a lock
// request is outstanding the attempt dies; once the commit has been sent the
// mark is passed on to the last agent; otherwise it is remembered, every
// later request says "no wait", and a transaction that stays idle dies after
// a while.
//
// # Time
//
// Everything without an answer is repeated, at growing intervals. Shortly
// before its deadline an undecided commit is cancelled, so that the client
// learns the outcome in time; what cannot be learned is answered "unknown",
// never guessed. Enquire finds it out later.
package txn
