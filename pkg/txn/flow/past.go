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
type pastSnapshot struct {
	requested At
	retained  *msg.Snapshot
	// kept is the round that has fixed the state, nil for a snapshot.
	round *round.State
	clock *vclock.Clock
}

// pastOf is the state of the past that a call wants to read, nil for the present.
func newPastSnapshot(how How) *pastSnapshot {
	if how.At.IsZero() {
		return nil
	}
	return &pastSnapshot{requested: how.At}
}

// foreignToken is the hint for a token that cannot be of this cluster.
const foreignToken = "it belongs to another cluster, or is older than a restored backup; read without it"

// Refuse says why a transaction cannot be run in such a way, nil if it can.
func (how *How) Validate(readOnly bool, shards int) *msg.Failure {
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
func (c *Call) needsLookUp() bool { return c.snapshot != nil && c.snapshot.clock == nil }

// resolve finds the snapshot that a transaction is to read at. It goes on with Start.
func (gw *Gateway) lookUpSnapshot(f Querier) Outcome {
	w := f.Base().snapshot.requested
	return gw.query(f, func(e *msg.Envelope, request kv.TxnRef) {
		e.Body = &msg.FindSnapshot{Request: request, Gateway: gw.Node, Name: w.Name, Number: w.Number, AsOf: w.AsOf}
	})
}

// resolved: the snapshot is found, or there is none.
func (gw *Gateway) onSnapshotFound(f Flow, r *msg.SnapshotResponse) Outcome {
	if r.Failure != nil {
		return Aborted(r.Failure)
	}
	c, p := f.Base(), &r.Pins[0]
	c.snapshot.retained, c.snapshot.clock = p, msg.Clock(p.Clock)
	if c.How.After != nil && !c.snapshot.clock.Covers(c.How.After) {
		text := fmt.Sprintf("snapshot %d is older than the causality token", p.Number)
		return Aborted(env.Invalid(text, "read at a later snapshot, or without the token"))
	}
	return f.Start(gw)
}

// readAt has a transaction read at the state of a round from now on.
func (gw *Gateway) readAtRound(c *Call, p *round.Round) {
	gw.Rounds.Use(p)
	c.snapshot = &pastSnapshot{round: &p.State, clock: &p.At}
}

// leavePast has the next attempt read the present, unless its client wants the past.
func (c *Call) resetSnapshot() {
	if c.snapshot != nil && c.snapshot.requested.IsZero() {
		c.snapshot = nil
		c.redirects.ForgetPast()
	}
}

// askPast sends one shard's part of a read of the past. It fails if the shard has no part in the
// state.
func (gw *Gateway) readPast(c *Call, r *readreq.Reading, s kv.ShardID, ops []msg.Op) *msg.Failure {
	q := &msg.Read{Ops: c.redirects.Forward(ops), Index: c.snapshot.clock.At(s)}
	if c.snapshot.round != nil {
		if !c.snapshot.round.Has(s) {
			text := "shard " + s.String() + " did not respond to the snapshot round in time"
			return env.Failure(msg.ReasonLapsed, kv.KindAborted, text)
		}
		q.Kept, q.Incarnation = c.snapshot.round.Name, c.snapshot.round.Incs[s]
	}
	if c.snapshot.retained != nil {
		q.Pin = c.snapshot.retained.Number
	}
	r.Ask(gw.Env, s, q, c.LastRequestRetry())
	return nil
}

// needs says what a transaction needs of a round, if it is to read on some shards: it waits for a
// slow one only if it reads there.
func (gw *Gateway) requireFrom(c *Call, ps piece.Pieces) {
	c.roundWait.Need = round.Prompt
	if slices.ContainsFunc(ps, func(p piece.Piece) bool { return gw.Shards.IsLeftOut(p.Shard) }) {
		c.requireShards(ps.Shards()...)
	}
}

// waitsFor has the transaction wait for a state in which some shards have a part.
func (c *Call) requireShards(s ...kv.ShardID) { c.roundWait.Need, c.roundWait.Shards = round.Some, s }

// covers reports whether a state has all shards on which a transaction is to read.
func covers(s *round.State, ps piece.Pieces) bool {
	return !slices.ContainsFunc(ps, func(p piece.Piece) bool { return !s.Has(p.Shard) })
}

// Stamp says in a Done which state a transaction saw, and refuses one that is older than the
// token that came with it: the token is then of another cluster, or this one has lost what it
// had acknowledged.
func (c *Call) Stamp(d *Done) {
	if c.snapshot != nil && c.snapshot.retained != nil {
		d.Pins = []msg.Snapshot{*c.snapshot.retained}
	}
	if !d.Committed {
		return
	}
	if c.snapshot != nil && c.snapshot.clock != nil && c.snapshot.round == nil {
		d.At = msg.Indexes(c.snapshot.clock)
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
