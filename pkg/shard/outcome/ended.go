package outcome

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// endedFor is for how long, at least, an attempt that has ended is remembered if
// there is room: for as long as a transaction may last. Nothing that is on its
// way to it is likely to come later.
const endedRetention = kv.MaxTxnAge

// Ended remembers the newest attempts that have ended here without a
// record: readers with the answer to their Check, others with nil. It spares
// work, and makes repeats of Check answerable; forgetting is harmless.
//
// It has two generations, of at most half its limit each, and forgets the older
// one when the younger one is full or as old as endedFor: how much it holds is
// determined by the load of two minutes, and not by how long the shard has
// lived. Otherwise a shard with little to do would grow for half an hour.
type Ended struct {
	limit int
	// young is from turned on, in nanoseconds of the machine's clock.
	rotatedAt     int64
	young, old map[kv.TxnRef]endedEntry
}

// end is how an attempt has ended: with an answer to its Check, by a commit that was given up, or,
// if it has neither, as a whole.
type endedEntry struct {
	reply  *msg.CheckResponse
	commit kv.CommitID
}

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

// Get reports whether an attempt has ended, and with which answer.
func (c *Ended) Get(txn kv.TxnRef) (*msg.CheckResponse, bool) {
	e, ok := c.get(txn)
	return e.reply, ok
}

// HasCommit reports whether a commit of an attempt has ended. That another commit of the attempt has
// says nothing of it.
func (c *Ended) HasCommit(txn kv.TxnRef, commit kv.CommitID) bool {
	e, ok := c.get(txn)
	return ok && (e.commit == commit || e.commit == kv.CommitID{})
}

// Add remembers that an attempt has ended as a whole. An answer stays what it is.
func (c *Ended) Add(now int64, txn kv.TxnRef, r *msg.CheckResponse) { c.add(now, txn, endedEntry{reply: r}) }

// AddCommit remembers that a commit of an attempt has ended. The first one stays.
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

// turn forgets the older generation, or both after a long silence.
func (c *Ended) rotate(now int64) {
	if now-c.rotatedAt >= 2*int64(endedRetention) {
		clear(c.young)
	}
	c.young, c.old = c.old, c.young
	clear(c.young)
	c.rotatedAt = now
}

func (c *Ended) Len() int { return len(c.young) + len(c.old) }
