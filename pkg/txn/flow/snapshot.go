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
	does action
	// name and ttl are of the snapshot to keep; at names the one to drop, which is found first.
	name string
	ttl  int64
	at   At
	pins []msg.Snapshot
	// state is the round's that is to be kept, and reading has each shard confirm its part.
	state   *round.State
	reading *readreq.Reading
}

type action uint8

const (
	toKeep action = iota
	toList
	toDrop
)

// NewKeep makes one that keeps a state under a name, for a time in nanoseconds.
func NewKeep(h *Host, token Token, id kv.TxnID, name string, ttl, deadline int64) *Snapshot {
	return &Snapshot{Call: newQuestion(h, SnapshotKind, token, id, deadline), does: toKeep, name: name, ttl: ttl}
}

// NewList makes one that lists the snapshots that have a name.
func NewList(h *Host, token Token, id kv.TxnID, deadline int64) *Snapshot {
	return &Snapshot{Call: newQuestion(h, SnapshotKind, token, id, deadline), does: toList}
}

// NewDrop makes one that drops a snapshot.
func NewDrop(h *Host, token Token, id kv.TxnID, at At, deadline int64) *Snapshot {
	return &Snapshot{Call: newQuestion(h, SnapshotKind, token, id, deadline), does: toDrop, at: at}
}

// newQuestion makes a call that is no transaction.
func newQuestion(h *Host, k Kind, token Token, id kv.TxnID, deadline int64) Call {
	return Call{
		Kind:     k,
		Ref:      kv.TxnRef{TxnID: id, Attempt: 1},
		Token:    token,
		ReadOnly: true,
		started:  h.Now,
		deadline: min(deadline, h.Now+int64(h.MaxAge)),
	}
}

// Start asks, or waits for a state.
func (s *Snapshot) Start(h *Host) Outcome {
	switch s.does {
	case toList:
		return s.find(h, &msg.FindSnapshot{List: true})
	case toDrop:
		return s.find(h, &msg.FindSnapshot{Name: s.at.Name, Number: s.at.Number})
	}
	s.seat.Need = round.All
	return s.waits()
}

func (s *Snapshot) find(h *Host, q *msg.FindSnapshot) Outcome {
	return h.ask(s, func(e *msg.Envelope, request kv.TxnRef) {
		q.Request, q.Gateway = request, h.Node
		e.Body = q
	})
}

// Pinned has each shard confirm that its part of the state is durable: a shard that restarts would
// lose it otherwise, and the snapshot would lack a part of some transaction. A read of nothing at
// the state is answered when it is.
func (s *Snapshot) Pinned(h *Host, p *round.Round) Outcome {
	s.state = &p.State
	if h.Mutants.Has(mutant.KeptBeforeDurable) {
		s.seat.Drop()
		return s.keep(h)
	}
	h.readAt(&s.Call, p)
	s.reading = h.newReading(s, env.PlanSnapshot)
	s.Phase = Reading
	for _, sh := range h.EveryShard() {
		f := h.askPast(&s.Call, s.reading, sh, nil)
		if f != nil {
			return Aborted(f)
		}
	}
	return GoesOn
}

// Reading is the reading under way.
func (s *Snapshot) Reading() *readreq.Reading { return s.reading }

// Took takes a shard's answer, which the reading has; ReadAll: all parts are durable.
func (s *Snapshot) Took(*Host, *msg.ReadResponse, []msg.Op, int64) {}
func (s *Snapshot) ReadAll(h *Host) Outcome                        { return s.keep(h) }

// Refused: a shard has lost its part. Nothing is read that could be elsewhere.
func (s *Snapshot) Refused(_ *Host, f *msg.Failure) Outcome       { return Aborted(f) }
func (s *Snapshot) Elsewhere(*Host, kv.ShardID, []msg.Op) Outcome { return GoesOn }
func (s *Snapshot) TurnedAway(*Host) Outcome                      { return GoesOn }

// Awaits lists the shards that have not answered.
func (s *Snapshot) Awaits() []kv.ShardID {
	if s.Phase == Reading {
		return s.reading.Awaits()
	}
	return nil
}

// Repeat sends again what has no answer.
func (s *Snapshot) Repeat(h *Host) Outcome {
	if s.Phase == Reading {
		return h.tickReading(&s.Call, s.reading)
	}
	return GoesOn
}

// Release gives up the reading, and so does End; Reset forgets it.
func (s *Snapshot) Release(h *Host)             { h.endReading(s.reading) }
func (s *Snapshot) End(h *Host, _ *msg.Failure) { h.endReading(s.reading) }
func (s *Snapshot) Reset()                      { s.reading, s.state = nil, nil }

// keep asks for a round's state to be kept.
func (s *Snapshot) keep(h *Host) Outcome {
	p := s.state
	return h.ask(s, func(e *msg.Envelope, request kv.TxnRef) {
		e.Body = &msg.RetainSnapshot{
			Request:     request,
			Gateway:     h.Node,
			Incarnation: p.Inc,
			Fixed:       p.Fixed,
			Clock:       msg.Indexes(&p.At),
			Name:        s.name,
			TtlNanos:    s.ttl,
		}
	})
}

// Unpinned: there is no such state.
func (s *Snapshot) Unpinned(_ *Host, f *msg.Failure) Outcome { return Aborted(f) }

// Replied takes the registry's answer.
func (s *Snapshot) Replied(h *Host, asked, m *msg.Envelope) Outcome {
	r := msg.As[msg.SnapshotResponse](m)
	switch {
	case msg.Is[msg.RetainSnapshot](asked) && r.Failure != nil && r.Failure.Reason == msg.ReasonIncarnation:
		// The hot shard has restarted since the state was fixed: another one.
		return Aborted(r.Failure)
	case r.Failure != nil:
		return Aborted(r.Failure)
	case s.does == toDrop && msg.Is[msg.FindSnapshot](asked):
		return s.drop(h, r.Pins[0])
	case s.does == toDrop:
		return Over(Done{Committed: true, Pins: s.pins})
	}
	return Over(Done{Committed: true, Pins: r.Pins})
}

func (s *Snapshot) drop(h *Host, p msg.Snapshot) Outcome {
	s.pins = []msg.Snapshot{p}
	return h.ask(s, func(e *msg.Envelope, request kv.TxnRef) {
		e.Body = &msg.DropSnapshot{Request: request, Gateway: h.Node, Number: p.Number}
	})
}
