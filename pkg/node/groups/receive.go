package groups

import (
	"context"
	"errors"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// ReceiveReplica implements transport.ReplicaHandler.
func (s *Set) ReceiveReplica(from kv.NodeID, msgs []consensus.Message) {
	var woken []*replica
	for len(msgs) > 0 {
		end := 1
		for end < len(msgs) && msgs[end].Group == msgs[0].Group {
			end++
		}
		if int(msgs[0].Group) < len(s.replicas) {
			r := s.replicas[msgs[0].Group]
			r.in.receive(from, msgs[:end])
			woken = append(woken, r)
		}
		msgs = msgs[end:]
	}
	s.turns.add(woken...)
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
	if err := addChunks(rows, next); err != nil {
		return errors.Join(err, rows.Close())
	}
	s.counters.snapshotsReceived.Add(1)
	r := s.replicas[m.Group]
	r.in.receiveRows(received{from, m, rows})
	r.wake()
	return nil
}

// addChunks adds all chunks. It is an error if the stream ends before the last one: what is swapped in must be whole.
func addChunks(rows engine.ShardWriter, next func() ([]byte, error)) error {
	for {
		chunk, err := next()
		if err == nil && chunk == nil {
			return rows.Complete()
		}
		if err == nil {
			err = rows.Add(chunk)
		}
		if err != nil {
			return err
		}
	}
}
