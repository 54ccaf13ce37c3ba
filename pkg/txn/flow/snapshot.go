package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// Snapshot is a request to the snapshot registry, which is on the hot shard: retain the snapshot of
// a round, list those with a name, or drop one.
//
//	gateway               shards                   hot shard: registry
//	  ├─ round ─────────────▶│ fix CSNs, answer at once │
//	  ├─ read of no keys ───▶│ answer once durable      │
//	  ├─ retain CSNs ───────────────────────────────────▶│ store a row
//	  │◀─ number, time, CSNs ────────────────────────────┤
//
// The registry may return a newer snapshot than that of this round, if another gateway has been
// faster: retained snapshots are ordered, and none is stored below the GC safe point.
type Snapshot struct {
	Call
	action action
	// name and ttl (in nanoseconds) are of the snapshot to retain. at names the snapshot to drop,
	// which is looked up first; dropped has it.
	name    string
	ttl     int64
	at      SnapshotRef
	dropped []msg.Snapshot
	// state is the round's snapshot. reading confirms on each shard that its part is durable.
	state   *round.Snapshot
	reading *readreq.Reading
}

type action uint8

const (
	retainAction action = iota
	listAction
	dropAction
)

// NewRetain retains a snapshot of the present. ttl is in nanoseconds. Without a name it is for the
// history.
func NewRetain(gw *Gateway, handle CallHandle, id kv.TxnID, name string, ttl, deadline int64) *Snapshot {
	c := newInternalCall(gw, SnapshotKind, handle, id, deadline)
	return &Snapshot{Call: c, action: retainAction, name: name, ttl: ttl}
}

// NewList lists the snapshots with a name.
func NewList(gw *Gateway, handle CallHandle, id kv.TxnID, deadline int64) *Snapshot {
	return &Snapshot{Call: newInternalCall(gw, SnapshotKind, handle, id, deadline), action: listAction}
}

// NewDrop drops a snapshot.
func NewDrop(gw *Gateway, handle CallHandle, id kv.TxnID, at SnapshotRef, deadline int64) *Snapshot {
	return &Snapshot{Call: newInternalCall(gw, SnapshotKind, handle, id, deadline), action: dropAction, at: at}
}

// newInternalCall makes a call that is no client's transaction.
func newInternalCall(gw *Gateway, k Kind, handle CallHandle, id kv.TxnID, deadline int64) Call {
	return Call{
		Kind:     k,
		Ref:      kv.TxnRef{TxnID: id, Attempt: 1},
		Handle:   handle,
		ReadOnly: true,
		started:  gw.Now,
		deadline: min(deadline, gw.Now+int64(gw.MaxAge)),
	}
}

// Start sends the query, or waits for a snapshot.
func (s *Snapshot) Start(gw *Gateway) Outcome {
	switch s.action {
	case listAction:
		return s.find(gw, &msg.FindSnapshot{List: true})
	case dropAction:
		return s.find(gw, &msg.FindSnapshot{Name: s.at.Name, Number: s.at.Number})
	}
	s.roundWait.Need = round.All
	return s.awaitSnapshot()
}

// find looks snapshots up in the registry.
func (s *Snapshot) find(gw *Gateway, q *msg.FindSnapshot) Outcome {
	return gw.query(s, func(e *msg.Envelope, request kv.TxnRef) {
		q.Request, q.Gateway = request, gw.Node
		e.Body = q
	})
}

// OnSnapshot confirms the snapshot, and then retains it.
func (s *Snapshot) OnSnapshot(gw *Gateway, p *round.Round) Outcome {
	s.state = &p.Snapshot
	return s.retainWhenDurable(gw, p)
}

// readEveryShard reads no keys at the snapshot on each shard. The read is answered when the shard's part is durable,
// and fails after a restart.
func (s *Snapshot) readEveryShard(gw *Gateway, p *round.Round) Outcome {
	gw.readAtRound(&s.Call, p)
	s.reading = gw.newReading(s, env.PlanSnapshot)
	s.Phase = Reading
	for _, sh := range gw.EveryShard() {
		f := gw.readPast(&s.Call, s.reading, sh, nil)
		if f != nil {
			return Aborted(f)
		}
	}
	return Continue
}

// Reading returns the current reading.
func (s *Snapshot) Reading() *readreq.Reading { return s.reading }

// OnRead does nothing: the reading stores the response. OnAllRead: all parts are durable.
func (s *Snapshot) OnRead(*Gateway, *msg.ReadResponse, []msg.Op, int64) {}
func (s *Snapshot) OnAllRead(gw *Gateway) Outcome                       { return s.retain(gw) }

// OnFailure: a shard has lost its part. A read of no keys is neither redirected nor refused.
func (s *Snapshot) OnFailure(_ *Gateway, f *msg.Failure) Outcome      { return Aborted(f) }
func (s *Snapshot) OnRedirect(*Gateway, kv.ShardID, []msg.Op) Outcome { return Continue }
func (s *Snapshot) OnClosed(*Gateway) Outcome                         { return Continue }

// PendingShards lists the shards that have not responded.
func (s *Snapshot) PendingShards() []kv.ShardID {
	if s.Phase == Reading {
		return s.reading.PendingShards()
	}
	return nil
}

// Retry retries requests.
func (s *Snapshot) Retry(gw *Gateway) Outcome {
	if s.Phase == Reading {
		return gw.tickReading(&s.Call, s.reading)
	}
	return Continue
}

// Release ends the reading, and so does End. Reset forgets the attempt.
func (s *Snapshot) Release(gw *Gateway)             { gw.endReading(s.reading) }
func (s *Snapshot) End(gw *Gateway, _ *msg.Failure) { gw.endReading(s.reading) }
func (s *Snapshot) Reset()                          { s.reading, s.state = nil, nil }

// retain requests that the registry store the snapshot. It names the incarnation of the hot shard that
// has fixed it: after a restart, the registry may have stored a newer snapshot up to which other
// shards have collected, so it rejects this one, and the next attempt has a round of its own.
func (s *Snapshot) retain(gw *Gateway) Outcome {
	p := s.state
	return gw.query(s, func(e *msg.Envelope, request kv.TxnRef) {
		e.Body = &msg.RetainSnapshot{
			Request:     request,
			Gateway:     gw.Node,
			Incarnation: p.HotIncarnation,
			Fixed:       p.Fixed,
			Clock:       msg.CSNs(&p.At),
			Name:        s.name,
			TtlNanos:    s.ttl,
		}
	})
}

// OnNoSnapshot: there will be no snapshot.
func (s *Snapshot) OnNoSnapshot(_ *Gateway, f *msg.Failure) Outcome { return Aborted(f) }

// OnQueryResponse receives the registry's response.
func (s *Snapshot) OnQueryResponse(gw *Gateway, sent, m *msg.Envelope) Outcome {
	r := msg.As[msg.SnapshotResponse](m)
	switch {
	// If the hot shard has restarted since the round (see retain), the next attempt has another round.
	case r.Failure != nil:
		return Aborted(r.Failure)
	case s.action == dropAction && msg.Is[msg.FindSnapshot](sent):
		return s.drop(gw, r.Snapshots[0])
	case s.action == dropAction:
		return Finished(Done{Committed: true, Snapshots: s.dropped})
	}
	return Finished(Done{Committed: true, Snapshots: r.Snapshots})
}

// drop drops a snapshot that was found.
//
// By its number: the name may have been given to another snapshot since.
func (s *Snapshot) drop(gw *Gateway, p msg.Snapshot) Outcome {
	s.dropped = []msg.Snapshot{p}
	return gw.query(s, func(e *msg.Envelope, request kv.TxnRef) {
		e.Body = &msg.DropSnapshot{Request: request, Gateway: gw.Node, Number: p.Number}
	})
}
