package groupcommit

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// MaxInbox bounds the messages that wait for a step of one shard. Messages beyond it are dropped, as a
// network may drop them, and their senders retry. The bound is far above the messages of all admitted
// transactions. The last eighth is reserved for messages that end something: under overload those reduce
// the load.
const (
	MaxInbox   = 1 << 18
	maxNewWork = MaxInbox - MaxInbox/8
)

// Inbox is a shard's queue. It has two lanes, each in the order of arrival. A step takes the messages that
// end something (msg.Envelope.Ends) before those that begin something. So a lock request finds the lock
// free, instead of waiting and wounding the holder, and an update is sealed at once if the reader that
// would hold it has deregistered. A step takes both lanes completely, so neither starves.
type Inbox struct {
	ends, begins []*msg.Envelope
	reads        []entry.ReadResult
	dropped      uint64
}

// Push adds messages for the next step.
func (q *Inbox) Push(envs ...*msg.Envelope) {
	for _, env := range envs {
		switch n := len(q.ends) + len(q.begins); {
		case env.Ends() && n < MaxInbox:
			q.ends = append(q.ends, env)
		case n < maxNewWork:
			q.begins = append(q.begins, env)
		default:
			q.dropped++
		}
	}
}

// PutBack adds messages that were taken and not used, before those that have arrived since.
func (q *Inbox) PutBack(envs []*msg.Envelope) {
	later := *q
	q.ends, q.begins = nil, nil
	q.Push(envs...)
	q.ends, q.begins = append(q.ends, later.ends...), append(q.begins, later.begins...)
}

// PushRead adds the result of a store read for the next step.
func (q *Inbox) PushRead(r entry.ReadResult) { q.reads = append(q.reads, r) }

// Take empties the queue, ending messages first. The arguments are the slices of the previous step, whose
// capacity is reused.
func (q *Inbox) Take(msgs []*msg.Envelope, reads []entry.ReadResult) ([]*msg.Envelope, []entry.ReadResult) {
	clear(msgs)
	clear(reads)
	taken, results := append(q.ends, q.begins...), q.reads
	clear(q.begins)
	q.ends, q.begins, q.reads = msgs[:0], q.begins[:0], reads[:0]
	return taken, results
}

// Len is the number of queued messages.
func (q *Inbox) Len() int { return len(q.ends) + len(q.begins) }
