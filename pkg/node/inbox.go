package node

import (
	"sync"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// maxInbox bounds the messages that wait for a step of one shard. What is
// beyond it is dropped, as a network would, and repeated by its sender. It is
// far above what the transactions that gateways admit can send. The last
// eighth is for what ends something: where there is too much, that helps.
const (
	maxInbox  = 1 << 18
	maxBegins = maxInbox - maxInbox/8
)

// inbox is a shard's queue. It has two lanes, each in the order of arrival: a
// step takes what ends something (msg.Envelope.Ends) before what begins
// something. So whoever asks for a lock finds it free, and need not wait nor
// have the holder marked, and an update is sealed at once where the reader that
// would hold it has left. A step takes all that waits, so that nothing starves.
type inbox struct {
	mu           sync.Mutex
	ends, begins []*msg.Envelope
	reads        []entry.ReadResult
	dropped      uint64
	signal       chan struct{}
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
	for _, env := range envs {
		switch n := len(q.ends) + len(q.begins); {
		case env.Ends() && n < maxInbox:
			q.ends = append(q.ends, env)
		case n < maxBegins:
			q.begins = append(q.begins, env)
		default:
			q.dropped++
		}
	}
	q.mu.Unlock()
	q.poke()
}

func (q *inbox) pushRead(r entry.ReadResult) {
	q.mu.Lock()
	q.reads = append(q.reads, r)
	q.mu.Unlock()
	q.poke()
}

// take empties the queue, what ends something first. The given slices, and what
// they hold, are those of the step before, which is over: their room is used again.
func (q *inbox) take(msgs []*msg.Envelope, reads []entry.ReadResult) ([]*msg.Envelope, []entry.ReadResult) {
	clear(msgs)
	clear(reads)
	q.mu.Lock()
	defer q.mu.Unlock()
	taken, results := append(q.ends, q.begins...), q.reads
	clear(q.begins)
	q.ends, q.begins, q.reads = msgs[:0], q.begins[:0], reads[:0]
	return taken, results
}

func (q *inbox) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.ends) + len(q.begins)
}
