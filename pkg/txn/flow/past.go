package flow

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/round"
	"github.com/linchpindb/linchpin/pkg/vclock"
)

// past is the state at which a transaction reads: a snapshot, once it is found, or one that the
// shards keep for a round.
type past struct {
	want At
	pin  *msg.Snapshot
	// kept is the round that has fixed the state, nil for a snapshot.
	kept *round.State
	at   *vclock.Clock
}

// pastOf is the state of the past that a call wants to read, nil for the present.
func pastOf(how How) *past {
	if how.At.IsZero() {
		return nil
	}
	return &past{want: how.At}
}

// foreignToken is the hint for a token that cannot be of this cluster.
const foreignToken = "it belongs to another cluster, or is older than a restored backup; read without it"

// Refuse says why a transaction cannot be run in such a way, nil if it can.
func (how *How) Refuse(readOnly bool, shards int) *msg.Failure {
	if !how.At.IsZero() && !readOnly {
		text := "a transaction that writes cannot read at a snapshot or in the past"
		return env.Invalid(text, "read at the snapshot in one transaction and write in another")
	}
	if how.After == nil {
		return nil
	}
	for _, e := range how.After.Entries() {
		if int(e.Shard) >= shards {
			text := fmt.Sprintf("the causality token names shard %v, which this cluster does not have", e.Shard)
			return env.Invalid(text, foreignToken)
		}
	}
	return nil
}

// unresolved reports whether a transaction has still to find its snapshot.
func (c *Call) unresolved() bool { return c.past != nil && c.past.at == nil }

// resolve finds the snapshot that a transaction is to read at. It goes on with Start.
func (h *Host) resolve(f Asker) Outcome {
	w := f.Base().past.want
	return h.ask(f, func(e *msg.Envelope, request kv.TxnRef) {
		e.Body = &msg.FindSnapshot{Request: request, Gateway: h.Node, Name: w.Name, Number: w.Number, AsOf: w.AsOf}
	})
}

// resolved: the snapshot is found, or there is none.
func (h *Host) resolved(f Flow, r *msg.SnapshotResponse) Outcome {
	if r.Failure != nil {
		return Aborted(r.Failure)
	}
	c, p := f.Base(), &r.Pins[0]
	c.past.pin, c.past.at = p, msg.Clock(p.Clock)
	if c.How.After != nil && !c.past.at.Covers(c.How.After) {
		text := fmt.Sprintf("snapshot %d is older than the causality token", p.Number)
		return Aborted(env.Invalid(text, "read at a later snapshot, or without the token"))
	}
	return f.Start(h)
}

// readAt has a transaction read at the state of a round from now on.
func (h *Host) readAt(c *Call, p *round.Round) {
	h.Rounds.Use(p)
	c.past = &past{kept: &p.State, at: &p.At}
}

// leavePast has the next attempt read the present, unless its client wants the past.
func (c *Call) leavePast() {
	if c.past != nil && c.past.want.IsZero() {
		c.past = nil
		c.redirects.ForgetPast()
	}
}

// askPast sends one shard's part of a read of the past. It fails if the shard has no part in the
// state.
func (h *Host) askPast(c *Call, r *readreq.Reading, s kv.ShardID, ops []msg.Op) *msg.Failure {
	q := &msg.Read{Ops: c.redirects.Forward(ops), Index: c.past.at.At(s)}
	if c.past.kept != nil {
		if !c.past.kept.Has(s) {
			text := "shard " + s.String() + " did not respond to the snapshot round in time"
			return env.Failure(msg.ReasonLapsed, kv.KindAborted, text)
		}
		q.Kept, q.Incarnation = c.past.kept.Name, c.past.kept.Incs[s]
	}
	if c.past.pin != nil {
		q.Pin = c.past.pin.Number
	}
	r.Ask(h.Env, s, q, c.LastAsk())
	return nil
}

// needs says what a transaction needs of a round, if it is to read on some shards: it waits for a
// slow one only if it reads there.
func (h *Host) needs(c *Call, ps piece.Pieces) {
	c.seat.Need = round.Prompt
	if slices.ContainsFunc(ps, func(p piece.Piece) bool { return h.Shards.IsLeftOut(p.Shard) }) {
		c.waitsFor(ps.Shards()...)
	}
}

// waitsFor has the transaction wait for a state in which some shards have a part.
func (c *Call) waitsFor(s ...kv.ShardID) { c.seat.Need, c.seat.Shards = round.Some, s }

// covers reports whether a state has all shards on which a transaction is to read.
func covers(s *round.State, ps piece.Pieces) bool {
	return !slices.ContainsFunc(ps, func(p piece.Piece) bool { return !s.Has(p.Shard) })
}

// Stamp says in a Done which state a transaction saw, and refuses one that is older than the
// token that came with it: the token is then of another cluster, or this one has lost what it
// had acknowledged.
func (c *Call) Stamp(d *Done) {
	if c.past != nil && c.past.pin != nil {
		d.Pins = []msg.Snapshot{*c.past.pin}
	}
	if !d.Committed {
		return
	}
	if c.past != nil && c.past.at != nil && c.past.kept == nil {
		d.At = msg.Indexes(c.past.at)
	}
	if c.How.After == nil || !c.ReadOnly {
		return
	}
	saw := d.Clock()
	for _, e := range saw.Entries() {
		if e.Index < c.How.After.At(e.Shard) {
			text := "the causality token names a state that this cluster has not reached"
			*d = Done{Failure: env.Invalid(text, foreignToken)}
			return
		}
	}
}
