package node

import (
	"sync"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
)

// inbox is a shard's queue with many senders and one receiver.
type inbox struct {
	mu     sync.Mutex
	q      groupcommit.Inbox
	signal chan struct{}
}

func newInbox() *inbox { return &inbox{signal: make(chan struct{}, 1)} }

func (q *inbox) wake() {
	select {
	case q.signal <- struct{}{}:
	default:
	}
}

func (q *inbox) push(envs ...*msg.Envelope) {
	q.mu.Lock()
	q.q.Push(envs...)
	q.mu.Unlock()
	q.wake()
}

func (q *inbox) pushRead(r entry.ReadResult) {
	q.mu.Lock()
	q.q.PushRead(r)
	q.mu.Unlock()
	q.wake()
}

// take empties the queue; see groupcommit.Inbox.
func (q *inbox) take(msgs []*msg.Envelope, reads []entry.ReadResult) ([]*msg.Envelope, []entry.ReadResult) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.q.Take(msgs, reads)
}

func (q *inbox) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.q.Len()
}
