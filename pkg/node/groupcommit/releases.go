package groupcommit

import (
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// Release is the messages that wait for the log to be durable up to a position.
type Release struct {
	At    engine.Position
	Sends []*msg.Envelope
	// Entries counts those of the batch; Since is the caller's, when it appended
	// them.
	Entries int
	Since   int64
}

// Empty reports whether nobody waits, and nothing was written.
func (r *Release) Empty() bool { return len(r.Sends)+r.Entries == 0 }

// Releases are the batches whose messages have not left.
type Releases struct {
	// durable is the position up to which everything is durable.
	durable engine.Position
	// waiting are in the order of their batches.
	waiting []Release
	// behind may leave after what Ready has returned.
	behind []*msg.Envelope
	// last is the highest position that was waited for.
	last engine.Position
}

// Add has the messages of a batch wait. Batches come in their order.
func (r *Releases) Add(x Release) {
	r.waiting = append(r.waiting, x)
	r.last = max(r.last, x.At)
}

// Advance notes that all up to a position is durable. Positions may come again,
// and late.
func (r *Releases) Advance(at engine.Position) { r.durable = max(r.durable, at) }

// Behind adds messages that need not wait for the log, while messages that Ready has returned are
// being sent: those of the same shard leave first. Otherwise the second response to a repeated
// request could overtake the first one, which alone has large results.
func (r *Releases) Behind(sends []*msg.Envelope) { r.behind = append(r.behind, sends...) }

// Ready takes the batches whose messages may leave.
func (r *Releases) Ready() []Release {
	n := 0
	for n < len(r.waiting) && r.waiting[n].At <= r.durable {
		n++
	}
	ready := r.waiting[:n:n]
	r.waiting = r.waiting[n:]
	if len(r.behind) > 0 {
		ready = append(ready, Release{Sends: r.behind})
		r.behind = nil
	}
	if len(r.waiting) == 0 {
		r.waiting = nil
	}
	return ready
}

// Durable is the position up to which everything is durable.
func (r *Releases) Durable() engine.Position { return r.durable }

// Last is the highest position that was waited for.
func (r *Releases) Last() engine.Position { return r.last }
