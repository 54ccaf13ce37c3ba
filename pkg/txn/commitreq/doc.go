// Package commit sends the commit of an attempt, and finds out what became of it.
//
// # Guarantees
//
// Every shard that has a piece gets it with one message: the last agent a CommitRequest, which makes
// it decide, and each other one a Prepare, with which it votes to the last agent. All of
// them are sent again until the last agent answers; it alone knows the outcome.
//
//	one shard    Park ────────────────────────────▶ Answer              2 delays
//	several      Prepare to all but the last agent, Park to that;
//	             they vote to it, and it answers                        3 delays
//
// Shortly before its deadline an undecided commit is cancelled (Cancel), so that the client
// learns the outcome in time. An outcome that cannot be learned is reported as unknown,
// never guessed.
//
// # Example
//
// Transaction A writes x on shard 1 and the hot key k on shard 0. Shard 0 is the last agent:
// it locks k when the vote of shard 1 is there, and decides in the same step, so that k is
// locked for no message delay. Transaction B, which writes k too, waits only for that step.
//
// # Hazards
//
// A wounded transaction says so with every message from then on. The messages are copied for
// that: earlier ones may be on their way, or with a shard of the same process.
//
// An answer counts only if it names what the commit did: the last agent, its incarnation,
// and the number of attempts that it had aborted. Otherwise it may be of an earlier attempt.
package commitreq
