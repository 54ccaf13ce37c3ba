package node

import (
	"sync"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/node/groupcommit"
)

// inbox is a shard's queue with many senders and one receiver.
type inbox struct {
	mu sync.Mutex
	q  groupcommit.Inbox
	// gen is the machine that takes the results of reads (shardLoop.gen).
	gen    uint32
	signal chan struct{}
	// onWake is called instead of a signal, unless it is nil.
	onWake func()
}

func newInbox() *inbox { return &inbox{signal: make(chan struct{}, 1)} }

func (q *inbox) wake() {
	if q.onWake != nil {
		q.onWake()
		return
	}
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

// putBack adds messages that were taken and not used; see groupcommit.Inbox.
func (q *inbox) putBack(msgs []*msg.Envelope) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.q.PutBack(msgs)
}

// pushRead adds the result of a read, unless the machine that has requested it has ended.
func (q *inbox) pushRead(gen uint32, r entry.ReadResult) {
	q.mu.Lock()
	if gen == q.gen {
		q.q.PushRead(r)
	}
	q.mu.Unlock()
	q.wake()
}

// setGen drops the results of reads that a machine before has requested. Messages stay.
func (q *inbox) setGen(gen uint32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.gen = gen
	msgs, _ := q.q.Take(nil, nil)
	q.q.Push(msgs...)
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
