package outcome

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// endedRetention is how long an ended attempt is remembered at least, unless the limit is reached:
// the longest duration of a transaction. A later message of it is unlikely.
const endedRetention = kv.MaxTxnAge

// Ended remembers attempts that have ended here without a record: locking reads with the response to
// their check request, others without. This saves work and makes a check request idempotent;
// forgetting an attempt is harmless.
//
// Ended has two generations of at most half the limit each. When the young one is full, or as old as
// endedRetention, the old one is dropped. So its size depends on the load of the last minutes, not
// on the uptime.
type Ended struct {
	limit int
	// rotatedAt is when young began, in nanoseconds of step.Env.Now.
	rotatedAt  int64
	young, old map[kv.TxnRef]endedEntry
}

// endedEntry is how an attempt ended: with a response to its check request, by the abort of one
// commit, or, with neither, as a whole.
type endedEntry struct {
	reply  *msg.CheckResponse
	commit kv.CommitID
}

// Init makes c empty, with a limit on the number of attempts.
func (c *Ended) Init(now int64, limit int) {
	*c = Ended{limit: limit, rotatedAt: now, young: map[kv.TxnRef]endedEntry{}, old: map[kv.TxnRef]endedEntry{}}
}

func (c *Ended) get(txn kv.TxnRef) (endedEntry, bool) {
	e, ok := c.young[txn]
	if !ok {
		e, ok = c.old[txn]
	}
	return e, ok
}

// Get reports whether an attempt has ended, and the response to its check request, nil for none.
func (c *Ended) Get(txn kv.TxnRef) (*msg.CheckResponse, bool) {
	e, ok := c.get(txn)
	return e.reply, ok
}

// HasCommit reports whether a commit of an attempt has ended, or the attempt as a whole. The end of
// one commit does not end another one of the same attempt.
func (c *Ended) HasCommit(txn kv.TxnRef, commit kv.CommitID) bool {
	e, ok := c.get(txn)
	return ok && (e.commit == commit || e.commit == kv.CommitID{})
}

// Add records that an attempt has ended as a whole. The first response stays.
func (c *Ended) Add(now int64, txn kv.TxnRef, r *msg.CheckResponse) {
	c.add(now, txn, endedEntry{reply: r})
}

// AddCommit records that a commit of an attempt has ended. The first one stays.
func (c *Ended) AddCommit(now int64, txn kv.TxnRef, commit kv.CommitID) {
	c.add(now, txn, endedEntry{commit: commit})
}

func (c *Ended) add(now int64, txn kv.TxnRef, e endedEntry) {
	have, ok := c.get(txn)
	if ok && (have.reply != nil || e.reply == nil) {
		return
	}
	if len(c.young) >= max(c.limit/2, 1) || now-c.rotatedAt >= int64(endedRetention) {
		c.rotate(now)
	}
	c.young[txn] = e
}

// rotate drops the old generation, and the young one too if it is more than two retention times old.
func (c *Ended) rotate(now int64) {
	if now-c.rotatedAt >= 2*int64(endedRetention) {
		clear(c.young)
	}
	c.young, c.old = c.old, c.young
	clear(c.young)
	c.rotatedAt = now
}

// Len returns the number of attempts.
func (c *Ended) Len() int { return len(c.young) + len(c.old) }
