// Package outbox is the bounded queue of messages to one peer, between callers that must never block and a
// connection that often does.
//
// Requests are retried until they are answered, so the long queue to an unreachable peer consists mostly of
// repeats. At the bound those are removed first: of two messages with the same Repeat (RepeatOf) the
// earlier is dropped. If that frees less than a quarter of the queue, the oldest quarter is dropped, and
// the protocol's retries replace it. So the cost of the work at the bound is spread over the pushes before
// it, and below the bound a message costs one append.
//
// Messages of replicas have a queue of their own (Replicas), which drops the newest: Raft repeats what matters.
package outbox

import (
	"sync"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// Options bound a queue.
type Options struct {
	// MaxCount bounds the envelopes. Default 16384: some seconds of retries of everything that a node has in
	// flight.
	MaxCount int
	// MaxBytes bounds their total encoded size; a single larger envelope is accepted. Default 32 MiB: twice
	// the largest transaction.
	MaxBytes int
}

// Counts are the statistics of a queue. They are monotonic, except Waiting and WaitingBytes.
type Counts struct {
	// Pushed counts accepted envelopes.
	Pushed uint64
	// Replaced counts envelopes that a later one superseded.
	Replaced uint64
	// Dropped counts envelopes that were lost because of the bound.
	Dropped uint64
	// Waiting is the current length of the queue, WaitingBytes its size.
	Waiting, WaitingBytes int
}

// Outbox is the queue. Push is safe for concurrent use; Take is for one goroutine.
type Outbox struct {
	opts Options
	// ready holds a token while a Take may return something.
	ready chan struct{}

	mu     sync.Mutex
	queue  fifo[*msg.Envelope]
	counts Counts
}

// New makes an empty queue.
func New(o Options) *Outbox {
	if o.MaxCount <= 0 {
		o.MaxCount = 16384
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = 32 << 20
	}
	return &Outbox{opts: o, ready: make(chan struct{}, 1)}
}

// Ready returns a channel with a token after a Push. The receiver calls Take until the queue is empty:
// several pushes may share a token.
func (o *Outbox) Ready() <-chan struct{} { return o.ready }

// Push adds envelopes that may be taken from time due on, by the clock of Take's caller. It never blocks.
func (o *Outbox) Push(envs []*msg.Envelope, due int64) {
	if len(envs) == 0 {
		return
	}
	o.mu.Lock()
	for _, e := range envs {
		it := item[*msg.Envelope]{m: e, size: e.Size(), due: due}
		if n := o.queue.count(); n > 0 && (n >= o.opts.MaxCount || o.queue.bytes+it.size > o.opts.MaxBytes) {
			o.shrink(it.size)
		}
		o.queue.push(it)
	}
	o.counts.Pushed += uint64(len(envs))
	o.mu.Unlock()
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// Take appends to dst the envelopes that are due at now, up to maxCount and maxBytes, but at least one if
// any is due. next is the time at which more are due; it is 0 if the queue is empty.
func (o *Outbox) Take(dst []*msg.Envelope, maxCount, maxBytes int, now int64) (taken []*msg.Envelope, next int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.take(dst, maxCount, maxBytes, now)
}

// Counts returns the statistics.
func (o *Outbox) Counts() Counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.counts
	c.Waiting, c.WaitingBytes = o.queue.count(), o.queue.bytes
	return c
}

// shrink reduces the queue to three quarters of its bounds, including a new envelope of the given size.
func (o *Outbox) shrink(size int) {
	o.removeRepeats()
	maxCount, maxBytes := o.opts.MaxCount*3/4, o.opts.MaxBytes*3/4-size
	for n := o.queue.count(); n > 0 && (n > maxCount || o.queue.bytes > maxBytes); n-- {
		o.queue.pop()
		o.counts.Dropped++
	}
	o.queue.compact()
}

// removeRepeats keeps the last of the envelopes with the same Repeat. It iterates from the newest to the
// oldest and moves the items to the end of the slice.
func (o *Outbox) removeRepeats() {
	q := &o.queue
	seen := make(map[Repeat]struct{}, q.count())
	to := len(q.items)
	for i := len(q.items) - 1; i >= q.head; i-- {
		it := q.items[i]
		if r, ok := RepeatOf(it.m); ok {
			if _, dup := seen[r]; dup {
				q.bytes -= it.size
				o.counts.Replaced++
				continue
			}
			seen[r] = struct{}{}
		}
		to--
		q.items[to] = it
	}
	clear(q.items[q.head:to])
	q.head = to
}
