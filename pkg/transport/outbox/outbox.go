// Package outbox is the bounded queue of messages that wait for one peer. It
// stands between callers that must never block and a link that often does.
//
// The bound is met like this. Everything that matters in the protocol is
// repeated until answered, so a queue that has grown long, because its peer is
// gone, is mostly repeats. First those are removed: of two messages that say
// the same (RepeatOf) the earlier goes. If that freed less than a quarter of
// the queue, its oldest quarter is dropped, for which the repetition of the
// protocol makes up. So the work at the bound is paid for by the pushes that
// led there, and below the bound a message costs one append.
package outbox

import (
	"sync"

	"github.com/linchpindb/linchpin/pkg/msg"
)

// Options bound a queue.
type Options struct {
	// MaxCount bounds the envelopes. Default 16384: some seconds of repeats
	// of all that a node has in flight.
	MaxCount int
	// MaxBytes bounds their encoded size together; a single envelope above it
	// is taken all the same. Default 32 MiB: twice the largest transaction.
	MaxBytes int
}

// Counts tells what a queue did. They rise only, but for Waiting.
type Counts struct {
	// Pushed counts envelopes taken in.
	Pushed uint64
	// Replaced counts those that a later one made superfluous.
	Replaced uint64
	// Dropped counts those that were lost to the bound.
	Dropped uint64
	// Waiting is the length of the queue now, WaitingBytes its size.
	Waiting, WaitingBytes int
}

type item struct {
	env  *msg.Envelope
	size int
	due  int64
}

// Outbox is the queue. Push may be called by any goroutine; Take by one.
type Outbox struct {
	opts Options
	// ready holds one token while a Take may find something.
	ready chan struct{}

	mu sync.Mutex
	// items[head:] wait, oldest first.
	items  []item
	head   int
	bytes  int
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

// Ready gives a token after a Push. After a token, Take until it is empty:
// several pushes may share one.
func (o *Outbox) Ready() <-chan struct{} { return o.ready }

// Push adds envelopes that may be taken from due on, in the unit and from the
// zero that the caller of Take uses. It never blocks.
func (o *Outbox) Push(envs []*msg.Envelope, due int64) {
	if len(envs) == 0 {
		return
	}
	o.mu.Lock()
	for _, e := range envs {
		it := item{env: e, size: e.Size(), due: due}
		if n := len(o.items) - o.head; n > 0 && (n >= o.opts.MaxCount || o.bytes+it.size > o.opts.MaxBytes) {
			o.makeRoom(it.size)
		}
		if len(o.items) == cap(o.items) && o.head >= len(o.items)/2 {
			o.pack() // else a queue that is never empty would keep all slots it ever had
		}
		o.items = append(o.items, it)
		o.bytes += it.size
	}
	o.counts.Pushed += uint64(len(envs))
	o.mu.Unlock()
	select {
	case o.ready <- struct{}{}:
	default:
	}
}

// Take appends to dst what is due at now, up to maxCount envelopes and
// maxBytes, but at least one if any is due. next is the time at which more is
// due; it is 0 when the queue is empty.
func (o *Outbox) Take(dst []*msg.Envelope, maxCount, maxBytes int, now int64) (taken []*msg.Envelope, next int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	size := 0
	for n := 0; o.head < len(o.items); n++ {
		it := &o.items[o.head]
		if it.due > now || n > 0 && (n >= maxCount || size+it.size > maxBytes) {
			return dst, max(it.due, 1)
		}
		dst = append(dst, it.env)
		size += it.size
		o.bytes -= it.size
		*it = item{}
		o.head++
	}
	o.rewind()
	return dst, 0
}

// keepItems is how many slots an empty queue keeps for its next burst.
const keepItems = 1024

// rewind reuses the slots of what was taken. The queue is empty.
func (o *Outbox) rewind() {
	o.head = 0
	if cap(o.items) > keepItems {
		o.items = nil
		return
	}
	o.items = o.items[:0]
}

// Counts tells what the queue did so far.
func (o *Outbox) Counts() Counts {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.counts
	c.Waiting, c.WaitingBytes = len(o.items)-o.head, o.bytes
	return c
}

// makeRoom brings the queue to three quarters of its bounds, an envelope of
// the given size included, as the package comment says.
func (o *Outbox) makeRoom(size int) {
	o.removeRepeats()
	maxCount, maxBytes := o.opts.MaxCount*3/4, o.opts.MaxBytes*3/4-size
	for o.head < len(o.items) && (len(o.items)-o.head > maxCount || o.bytes > maxBytes) {
		o.bytes -= o.items[o.head].size
		o.items[o.head] = item{}
		o.head++
		o.counts.Dropped++
	}
	o.pack()
}

// pack moves what waits to the front of the slots.
func (o *Outbox) pack() {
	n := copy(o.items, o.items[o.head:])
	clear(o.items[n:])
	o.items, o.head = o.items[:n], 0
}

// removeRepeats keeps the last of the envelopes that say the same. It walks
// from the newest to the oldest and packs the queue towards its end.
func (o *Outbox) removeRepeats() {
	seen := make(map[Repeat]struct{}, len(o.items)-o.head)
	to := len(o.items)
	for i := len(o.items) - 1; i >= o.head; i-- {
		it := o.items[i]
		if r, ok := RepeatOf(it.env); ok {
			if _, dup := seen[r]; dup {
				o.bytes -= it.size
				o.counts.Replaced++
				continue
			}
			seen[r] = struct{}{}
		}
		to--
		o.items[to] = it
	}
	clear(o.items[o.head:to])
	o.head = to
}
