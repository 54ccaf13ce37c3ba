package flow

import (
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
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
	pins []msg.Pin
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
		return s.find(h, &msg.FindPin{List: true})
	case toDrop:
		return s.find(h, &msg.FindPin{Name: s.at.Name, Number: s.at.Number})
	}
	return s.waits()
}

func (s *Snapshot) find(h *Host, q *msg.FindPin) Outcome {
	return h.ask(s, func(e *msg.Envelope, request kv.TxnRef) {
		q.Request, q.Gateway = request, h.Node
		e.FindPin = q
	})
}

// Pinned asks for a round's state to be kept.
func (s *Snapshot) Pinned(h *Host, p *round.Round) Outcome {
	s.seat.Drop()
	return h.ask(s, func(e *msg.Envelope, request kv.TxnRef) {
		e.KeepPin = &msg.KeepPin{
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
	r := m.PinReply
	switch {
	case asked.KeepPin != nil && r.Failure != nil && r.Failure.Reason == msg.ReasonIncarnation:
		// The hot shard has restarted since the state was fixed: another one.
		return s.waits()
	case r.Failure != nil:
		return Aborted(r.Failure)
	case s.does == toDrop && asked.FindPin != nil:
		return s.drop(h, r.Pins[0])
	case s.does == toDrop:
		return Over(Done{Committed: true, Pins: s.pins})
	}
	return Over(Done{Committed: true, Pins: r.Pins})
}

func (s *Snapshot) drop(h *Host, p msg.Pin) Outcome {
	s.pins = []msg.Pin{p}
	return h.ask(s, func(e *msg.Envelope, request kv.TxnRef) {
		e.DropPin = &msg.DropPin{Request: request, Gateway: h.Node, Number: p.Number}
	})
}
