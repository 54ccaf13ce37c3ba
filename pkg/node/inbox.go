package node

import (
	"sync"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// maxInbox bounds the messages that wait for a step of one shard. What is
// beyond it is dropped, as a network would, and repeated by its sender. It is
// far above what the transactions that gateways admit can send.
const maxInbox = 1 << 18

// inbox is a shard's queue.
type inbox struct {
	mu      sync.Mutex
	msgs    []*msg.Envelope
	reads   []entry.ReadResult
	dropped uint64
	signal  chan struct{}
}

func newInbox() *inbox { return &inbox{signal: make(chan struct{}, 1)} }

func (q *inbox) poke() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

func (q *inbox) push(envs ...*msg.Envelope) {
	q.mu.Lock()
	room := maxInbox - len(q.msgs)
	if len(envs) > room {
		q.dropped += uint64(len(envs) - room)
		envs = envs[:room]
	}
	q.msgs = append(q.msgs, envs...)
	q.mu.Unlock()
	q.poke()
}

func (q *inbox) pushRead(r entry.ReadResult) {
	q.mu.Lock()
	q.reads = append(q.reads, r)
	q.mu.Unlock()
	q.poke()
}

// take empties the queue into the given slices' room.
func (q *inbox) take(msgs []*msg.Envelope, reads []entry.ReadResult) ([]*msg.Envelope, []entry.ReadResult) {
	q.mu.Lock()
	defer q.mu.Unlock()
	taken, results := q.msgs, q.reads
	clear(msgs[:cap(msgs)])
	q.msgs, q.reads = msgs[:0], reads[:0]
	return taken, results
}

func (q *inbox) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.msgs)
}
