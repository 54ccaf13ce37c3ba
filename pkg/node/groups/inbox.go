package groups

import (
	"context"
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

func (q *inbox) isEmpty() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.messages)+len(q.ends) == 0
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

// ReceiveReplica implements transport.ReplicaHandler. Heartbeats and responses to them do not wait for a turn.
func (s *Set) ReceiveReplica(from kv.NodeID, msgs []consensus.Message) {
	var out outgoing
	for len(msgs) > 0 {
		end := 1
		for end < len(msgs) && msgs[end].Group == msgs[0].Group {
			end++
		}
		if int(msgs[0].Group) < len(s.replicas) {
			beats{s.replicas[msgs[0].Group]}.receive(&out, from, msgs[:end])
		}
		msgs = msgs[end:]
	}
	s.send(&out)
}

// ReceiveSnapshot implements transport.ReplicaHandler. The rows become tables as they arrive, beside those in use.
func (s *Set) ReceiveSnapshot(_ context.Context, from kv.NodeID, m *consensus.Message,
	next func() ([]byte, error)) error {
	if int(m.Group) >= len(s.replicas) {
		return kv.Errorf(kv.KindInvalid, "there is no shard %v", m.Group)
	}
	rows, err := s.opt.Engine.ReplaceShard(m.Group)
	if err != nil {
		return err
	}
	for {
		chunk, err := next()
		if err == nil && chunk != nil {
			err = rows.Add(chunk)
		}
		if err != nil {
			_ = rows.Close()
			return err
		}
		if chunk == nil {
			break
		}
	}
	s.counters.snapshotsReceived.Add(1)
	r := s.replicas[m.Group]
	r.in.receiveRows(received{from, m, rows})
	r.Wake()
	return nil
}
