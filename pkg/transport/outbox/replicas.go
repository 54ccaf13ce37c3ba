package outbox

import (
	"sync"

	"github.com/linchpindb/linchpin/pkg/rpc/peerpb"
)

// Bounds of the messages of replicas that wait for a peer. A single larger message is accepted.
const (
	MaxReplicaCount = 8192
	MaxReplicaBytes = 64 << 20
)

// Replicas is the queue of messages of replicas to one peer, in their order. Push is safe for concurrent use; Take and
// DropBefore are for one goroutine.
type Replicas struct {
	// ready holds a token while a Take may return something.
	ready chan struct{}

	mu     sync.Mutex
	queue  fifo[*peerpb.ReplicaMessage]
	counts Counts
}

// NewReplicas makes an empty queue.
func NewReplicas() *Replicas { return &Replicas{ready: make(chan struct{}, 1)} }

// Ready is as that of Outbox.
func (r *Replicas) Ready() <-chan struct{} { return r.ready }

// Push adds messages that may be taken from time due on, which is not before that of earlier messages. It never
// blocks. Messages for which there is no space are dropped.
func (r *Replicas) Push(msgs []*peerpb.ReplicaMessage, due int64) {
	r.mu.Lock()
	for i := range msgs {
		size := msgs[i].Size()
		if n := r.queue.count(); n > 0 && (n >= MaxReplicaCount || r.queue.bytes+size > MaxReplicaBytes) {
			r.counts.Dropped++
			continue
		}
		r.queue.push(item[*peerpb.ReplicaMessage]{m: msgs[i], size: size, due: due})
		r.counts.Pushed++
	}
	r.mu.Unlock()
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// Take is as that of Outbox.
func (r *Replicas) Take(dst []*peerpb.ReplicaMessage, maxCount, maxBytes int,
	now int64) (taken []*peerpb.ReplicaMessage, next int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queue.take(dst, maxCount, maxBytes, now)
}

// DropBefore drops the messages that could be taken before a time.
func (r *Replicas) DropBefore(due int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.queue.count() > 0 && r.queue.items[r.queue.head].due < due {
		r.queue.pop()
		r.counts.Dropped++
	}
}

// Counts returns the statistics.
func (r *Replicas) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.Waiting, c.WaitingBytes = r.queue.count(), r.queue.bytes
	return c
}
