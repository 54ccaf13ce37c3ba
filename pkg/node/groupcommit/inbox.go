package groupcommit

import (
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/msg"
)

// MaxInbox bounds the messages that wait for a step of one shard. What is
// beyond it is dropped, as a network would, and repeated by its sender. It is
// far above what the transactions that gateways admit can send. The last
// eighth is for what ends something: where there is too much, that helps.
const (
	MaxInbox  = 1 << 18
	maxBegins = MaxInbox - MaxInbox/8
)

// Inbox is a shard's queue. It has two lanes, each in the order of arrival: a
// step takes what ends something (msg.Envelope.Ends) before what begins
// something. So whoever asks for a lock finds it free, and need not wait nor
// have the holder marked, and an update is sealed at once where the reader that
// would hold it has left. A step takes all that waits, so that nothing starves.
type Inbox struct {
	ends, begins []*msg.Envelope
	reads        []entry.ReadResult
	dropped      uint64
}

// Push has messages wait for the next step.
func (q *Inbox) Push(envs ...*msg.Envelope) {
	for _, env := range envs {
		switch n := len(q.ends) + len(q.begins); {
		case env.Ends() && n < MaxInbox:
			q.ends = append(q.ends, env)
		case n < maxBegins:
			q.begins = append(q.begins, env)
		default:
			q.dropped++
		}
	}
}

// PushRead has the result of a cold read wait for the next step.
func (q *Inbox) PushRead(r entry.ReadResult) { q.reads = append(q.reads, r) }

// Take empties the queue, what ends something first. The given slices, and what
// they hold, are those of the step before, which is over: their room is used again.
func (q *Inbox) Take(msgs []*msg.Envelope, reads []entry.ReadResult) ([]*msg.Envelope, []entry.ReadResult) {
	clear(msgs)
	clear(reads)
	taken, results := append(q.ends, q.begins...), q.reads
	clear(q.begins)
	q.ends, q.begins, q.reads = msgs[:0], q.begins[:0], reads[:0]
	return taken, results
}

// Len counts the messages that wait.
func (q *Inbox) Len() int { return len(q.ends) + len(q.begins) }
