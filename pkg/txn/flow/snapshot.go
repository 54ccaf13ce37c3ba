package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/round"
)

// Snapshot asks the snapshot registry, which is on the hot shard: to keep a state that a round
// has fixed, to list what it keeps, or to drop it.
type Snapshot struct {
	Call
	action action
	// name and ttl are of the snapshot to keep; at names the one to drop, which is found first.
	name    string
	ttl     int64
	at      At
	dropped []msg.Snapshot
	// state is the round's that is to be kept, and reading has each shard confirm its part.
	state   *round.State
	reading *readreq.Reading
}

type action uint8

const (
	retainAction action = iota
	listAction
	dropAction
)

// NewKeep makes one that keeps a state under a name, for a time in nanoseconds.
func NewRetain(gw *Gateway, token Token, id kv.TxnID, name string, ttl, deadline int64) *Snapshot {
	return &Snapshot{Call: newInternalCall(gw, SnapshotKind, token, id, deadline), action: retainAction, name: name, ttl: ttl}
}

// NewList makes one that lists the snapshots that have a name.
func NewList(gw *Gateway, token Token, id kv.TxnID, deadline int64) *Snapshot {
	return &Snapshot{Call: newInternalCall(gw, SnapshotKind, token, id, deadline), action: listAction}
}

// NewDrop makes one that drops a snapshot.
func NewDrop(gw *Gateway, token Token, id kv.TxnID, at At, deadline int64) *Snapshot {
	return &Snapshot{Call: newInternalCall(gw, SnapshotKind, token, id, deadline), action: dropAction, at: at}
}

// newQuestion makes a call that is no transaction.
func newInternalCall(gw *Gateway, k Kind, token Token, id kv.TxnID, deadline int64) Call {
	return Call{
		Kind:     k,
		Ref:      kv.TxnRef{TxnID: id, Attempt: 1},
		Token:    token,
		ReadOnly: true,
		started:  gw.Now,
		deadline: min(deadline, gw.Now+int64(gw.MaxAge)),
	}
}

// Start asks, or waits for a state.
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

func (s *Snapshot) find(gw *Gateway, q *msg.FindSnapshot) Outcome {
	return gw.query(s, func(e *msg.Envelope, request kv.TxnRef) {
		q.Request, q.Gateway = request, gw.Node
		e.Body = q
	})
}

// Pinned has each shard confirm that its part of the state is durable: a shard that restarts would
// lose it otherwise, and the snapshot would lack a part of some transaction. A read of nothing at
// the state is answered when it is.
func (s *Snapshot) OnSnapshot(gw *Gateway, p *round.Round) Outcome {
	s.state = &p.State
	if gw.Mutants.Has(mutant.KeptBeforeDurable) {
		s.roundWait.Drop()
		return s.retain(gw)
	}
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

// Reading is the reading under way.
func (s *Snapshot) Reading() *readreq.Reading { return s.reading }

// Took takes a shard's answer, which the reading has; ReadAll: all parts are durable.
func (s *Snapshot) OnRead(*Gateway, *msg.ReadResponse, []msg.Op, int64) {}
func (s *Snapshot) OnAllRead(gw *Gateway) Outcome                       { return s.retain(gw) }

// Refused: a shard has lost its part. Nothing is read that could be elsewhere.
func (s *Snapshot) OnFailure(_ *Gateway, f *msg.Failure) Outcome      { return Aborted(f) }
func (s *Snapshot) OnRedirect(*Gateway, kv.ShardID, []msg.Op) Outcome { return Continue }
func (s *Snapshot) OnClosed(*Gateway) Outcome                         { return Continue }

// Awaits lists the shards that have not answered.
func (s *Snapshot) PendingShards() []kv.ShardID {
	if s.Phase == Reading {
		return s.reading.Awaits()
	}
	return nil
}

// Repeat sends again what has no answer.
func (s *Snapshot) Retry(gw *Gateway) Outcome {
	if s.Phase == Reading {
		return gw.tickReading(&s.Call, s.reading)
	}
	return Continue
}

// Release gives up the reading, and so does End; Reset forgets it.
func (s *Snapshot) Release(gw *Gateway)             { gw.endReading(s.reading) }
func (s *Snapshot) End(gw *Gateway, _ *msg.Failure) { gw.endReading(s.reading) }
func (s *Snapshot) Reset()                          { s.reading, s.state = nil, nil }

// keep asks for a round's state to be kept.
func (s *Snapshot) retain(gw *Gateway) Outcome {
	p := s.state
	return gw.query(s, func(e *msg.Envelope, request kv.TxnRef) {
		e.Body = &msg.RetainSnapshot{
			Request:     request,
			Gateway:     gw.Node,
			Incarnation: p.Inc,
			Fixed:       p.Fixed,
			Clock:       msg.Indexes(&p.At),
			Name:        s.name,
			TtlNanos:    s.ttl,
		}
	})
}

// Unpinned: there is no such state.
func (s *Snapshot) OnNoSnapshot(_ *Gateway, f *msg.Failure) Outcome { return Aborted(f) }

// Replied takes the registry's answer.
func (s *Snapshot) OnQueryResponse(gw *Gateway, asked, m *msg.Envelope) Outcome {
	r := msg.As[msg.SnapshotResponse](m)
	switch {
	case msg.Is[msg.RetainSnapshot](asked) && r.Failure != nil && r.Failure.Reason == msg.ReasonIncarnation:
		// The hot shard has restarted since the state was fixed: another one.
		return Aborted(r.Failure)
	case r.Failure != nil:
		return Aborted(r.Failure)
	case s.action == dropAction && msg.Is[msg.FindSnapshot](asked):
		return s.drop(gw, r.Pins[0])
	case s.action == dropAction:
		return Finished(Done{Committed: true, Pins: s.dropped})
	}
	return Finished(Done{Committed: true, Pins: r.Pins})
}

func (s *Snapshot) drop(gw *Gateway, p msg.Snapshot) Outcome {
	s.dropped = []msg.Snapshot{p}
	return gw.query(s, func(e *msg.Envelope, request kv.TxnRef) {
		e.Body = &msg.DropSnapshot{Request: request, Gateway: gw.Node, Number: p.Number}
	})
}
