package shardlog

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Releaser holds the messages and the store reads of a shard's steps until its log has reached the positions
// of the steps, and releases them in the order of the steps. It is used where Log.Durable is.
type Releaser struct {
	// Log is the shard's log.
	Log   Log
	sends queue[*msg.Envelope]
	reads queue[Reads]
}

// Reads are the store reads that a step starts, and the ids of those that it has dropped.
type Reads struct {
	Start []entry.Read
	Drop  []uint64
}

// CanPass reports whether the messages of a step at a position may leave without Hold: its entries are
// durable, and no message of an earlier step waits.
//
// The second condition keeps the order. An example of a message that would arrive too early is the second
// response to a retried request: it is shorter, because only the first one has large results.
func (r *Releaser) CanPass(at Position) bool { return len(r.sends.items) == 0 && at <= r.Log.Durable() }

// Hold adds the messages of the next step.
func (r *Releaser) Hold(at Position, sends []*msg.Envelope) {
	for _, env := range sends {
		r.sends.add(at, env)
	}
}

// HoldReads adds the store reads of the next step. They must see all rows that the shard has appended.
func (r *Releaser) HoldReads(at Position, reads Reads) {
	if len(reads.Start)+len(reads.Drop) > 0 {
		r.reads.add(at, reads)
	}
}

// Sends removes the messages that may leave, and appends them to a slice.
func (r *Releaser) Sends(to []*msg.Envelope) []*msg.Envelope {
	return r.sends.take(r.Log.Durable(), to)
}

// Reads removes the store reads that may start, and appends them to a slice.
func (r *Releaser) Reads(to []Reads) []Reads { return r.reads.take(r.Log.Applied(), to) }

// queue is a sequence of items, each with the position that it waits for. Positions do not decrease.
type queue[T any] struct{ items []item[T] }

// maxKeptCap bounds the capacity that an empty queue keeps, in items.
const maxKeptCap = 4096

type item[T any] struct {
	at Position
	it T
}

func (q *queue[T]) add(at Position, it T) { q.items = append(q.items, item[T]{at, it}) }

// take removes the items up to a position, and appends them to a slice.
func (q *queue[T]) take(upTo Position, to []T) []T {
	n := 0
	for n < len(q.items) && q.items[n].at <= upTo {
		to = append(to, q.items[n].it)
		n++
	}
	clear(q.items[:n])
	switch {
	case n < len(q.items):
		q.items = q.items[n:]
	case cap(q.items) > maxKeptCap:
		q.items = nil
	default:
		q.items = q.items[:0]
	}
	return to
}
