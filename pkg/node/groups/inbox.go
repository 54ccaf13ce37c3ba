package groups

import (
	"sync"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// maxReceived bounds the messages of other replicas that wait for a turn of a replica. Further ones are dropped, as a
// network may drop them: Raft repeats what is not acknowledged.
const maxReceived = 1 << 13

// received is a message of another replica. rows are those of a Raft snapshot.
type received struct {
	from    kv.NodeID
	message *consensus.Message
	rows    engine.ShardWriter
}

// inbox is what waits for a turn of a replica.
type inbox struct {
	mu       sync.Mutex
	messages []received
	// ends are of writes, applications and streams that have ended, in their order.
	ends []func(now int64)
}

func (q *inbox) receive(from kv.NodeID, msgs []consensus.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i := range msgs[:min(len(msgs), max(maxReceived-len(q.messages), 0))] {
		q.messages = append(q.messages, received{from: from, message: &msgs[i]})
	}
}

func (q *inbox) receiveRows(r received) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.messages = append(q.messages, r)
}

func (q *inbox) end(f func(now int64)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ends = append(q.ends, f)
}

func (q *inbox) take() (msgs []received, ends []func(now int64)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	msgs, ends = q.messages, q.ends
	q.messages, q.ends = nil, nil
	return msgs, ends
}
