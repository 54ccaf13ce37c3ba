package outcome

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// endedFor is for how long, at least, an attempt that has ended is remembered if
// there is room: for as long as a transaction may last. Nothing that is on its
// way to it is likely to come later.
const endedFor = kv.MaxTxnAge

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
	turned     int64
	young, old map[kv.TxnRef]*msg.CheckReply
}

func (c *Ended) Init(now int64, limit int) {
	*c = Ended{limit: limit, turned: now, young: map[kv.TxnRef]*msg.CheckReply{}, old: map[kv.TxnRef]*msg.CheckReply{}}
}

func (c *Ended) Get(txn kv.TxnRef) (*msg.CheckReply, bool) {
	if r, ok := c.young[txn]; ok {
		return r, true
	}
	r, ok := c.old[txn]
	return r, ok
}

// add remembers an attempt from now on. An answer stays what it is.
func (c *Ended) Add(now int64, txn kv.TxnRef, r *msg.CheckReply) {
	if have, ok := c.Get(txn); ok && (have != nil || r == nil) {
		return
	}
	if len(c.young) >= max(c.limit/2, 1) || now-c.turned >= int64(endedFor) {
		c.turn(now)
	}
	c.young[txn] = r
}

// turn forgets the older generation, or both after a long silence.
func (c *Ended) turn(now int64) {
	if now-c.turned >= 2*int64(endedFor) {
		clear(c.young)
	}
	c.young, c.old = c.old, c.young
	clear(c.young)
	c.turned = now
}

func (c *Ended) Len() int { return len(c.young) + len(c.old) }
