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

// pastSnapshot is the snapshot that a transaction reads: a retained one, or one of a round.
//
//	At (client)   ── lookUpSnapshot ─▶ retained, clock      requested is set
//	50 ms, closed ── OnSnapshot ─────▶ round, clock         requested is zero
//
// Reads at it do not register, and hold no update. Shards retain the versions: by the registry's list
// for a retained snapshot, and while the gateway repeats that it is in use for one of a round.
type pastSnapshot struct {
	// requested is what the client names, zero for the snapshot of a round; retained is the registry's
	// entry once it is found.
	requested SnapshotRef
	retained  *msg.Snapshot
	// round is the snapshot of a round, which the shards retain while it is in use; nil for a retained
	// one.
	round *round.Snapshot
	// clock is the CSN of each shard, nil until the snapshot is known.
	clock *vclock.Clock
}

// newPastSnapshot is the snapshot that a call names, nil for the present.
func newPastSnapshot(how TxnOptions) *pastSnapshot {
	if how.At.IsZero() {
		return nil
	}
	return &pastSnapshot{requested: how.At}
}

// foreignToken is the hint for a causality token that cannot be of this cluster.
const foreignToken = "it belongs to another cluster, or is older than a restored backup; read without it"

// Validate returns why a transaction cannot be executed with these options, nil if it can.
func (how *TxnOptions) Validate(readOnly bool, shards int) *msg.Failure {
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

// needsLookUp reports whether the transaction has yet to find its retained snapshot.
func (c *Call) needsLookUp() bool { return c.snapshot != nil && c.snapshot.clock == nil }

// HeldUpBy returns why shards of a call are unavailable, or nil if that does not hold it up: a retained snapshot is
// looked up and read at replicas too, which need no leader (R10.2). If no replica can answer, a response says so.
func (c *Call) HeldUpBy(unavailable *msg.Failure) *msg.Failure {
	atReplicas := c.snapshot != nil && !c.snapshot.requested.IsZero()
	if atReplicas && unavailable != nil && unavailable.Down == kv.NoLeader {
		return nil
	}
	return unavailable
}

// RequestedAt is when the current request of the call began, or the call if there is none.
func (c *Call) RequestedAt() int64 { return max(c.started, c.reqStart) }

// lookUpSnapshot finds the retained snapshot in the registry. A name is looked up for each
// transaction, since another snapshot may have it by now. Start continues then.
func (gw *Gateway) lookUpSnapshot(f Querier) Outcome {
	w := f.Base().snapshot.requested
	return gw.query(f, func(e *msg.Envelope, request kv.TxnRef) {
		e.Body = &msg.FindSnapshot{Request: request, Gateway: gw.Node, Name: w.Name, Number: w.Number, AsOf: w.AsOf}
	})
}

// onSnapshotFound handles the registry's response. A snapshot that does not cover the causality
// token is rejected.
func (gw *Gateway) onSnapshotFound(f Flow, r *msg.SnapshotResponse) Outcome {
	if r.Failure != nil {
		return Aborted(r.Failure)
	}
	c, p := f.Base(), &r.Snapshots[0]
	c.snapshot.retained, c.snapshot.clock = p, msg.Clock(p.Clock)
	// The client has seen a newer state, and must not read an older one by mistake.
	if c.How.After != nil && !c.snapshot.clock.Covers(c.How.After) {
		text := fmt.Sprintf("snapshot %d is older than the causality token", p.Number)
		return Aborted(env.Invalid(text, "read at a later snapshot, or without the token"))
	}
	return f.Start(gw)
}

// readAtRound makes a transaction read at the snapshot of a round from now on.
//
// The round counts the transaction as a user of its snapshot, until Leave.
func (gw *Gateway) readAtRound(c *Call, p *round.Round) {
	gw.Rounds.Retain(p)
	c.snapshot = &pastSnapshot{round: &p.Snapshot, clock: &p.At}
	c.refusedSince = 0
}

// resetSnapshot makes the next attempt read the present, unless the client names a snapshot.
func (c *Call) resetSnapshot() {
	// The snapshot of a round was for one attempt. So are redirects at a snapshot: they name shards of
	// the past.
	if c.snapshot != nil && c.snapshot.requested.IsZero() {
		c.snapshot = nil
		c.redirects.DropPast()
	}
}

// readPast sends one shard's part of a read at a snapshot. It fails if the shard has no part in it.
// The read names the incarnation that has fixed the CSN: a restarted shard may have lost versions
// below it that were not durable.
func (gw *Gateway) readPast(c *Call, r *readreq.Reading, s kv.ShardID, ops []msg.Op) *msg.Failure {
	q := &msg.Read{Ops: c.redirects.MarkRedirected(ops), CSN: c.snapshot.clock.At(s)}
	if c.snapshot.round != nil {
		if !c.snapshot.round.Has(s) {
			text := "shard " + s.String() + " did not respond to the snapshot round in time"
			return env.Failure(msg.ReasonLate, kv.KindAborted, text)
		}
		q.Round, q.Incarnation = c.snapshot.round.Name, c.snapshot.round.Incarnations[s]
	}
	if c.snapshot.retained != nil {
		q.SnapshotNumber = c.snapshot.retained.Number
	}
	r.Send(gw.Env, s, q, c.LastRequestRetry())
	return nil
}

// ConfirmsState reports whether a response to a request that was sent at a time is of the state that the transaction
// reads. Only that of a round may be kept no longer; of a retained snapshot the registry's list decides.
//
// A request from before the snapshot is not at its state, and its shard may be one that the round has left out: a view
// reads there, waits, and continues at a snapshot meanwhile.
func (c *Call) ConfirmsState(gw *Gateway, q *msg.Read, p *msg.ReadResponse, sent int64) bool {
	if c.snapshot == nil || c.snapshot.round == nil || q.Round != c.snapshot.round.Name {
		return true
	}
	return c.snapshot.round.Confirm(gw.Env, p.Reading.Shard, p.Reading.Incarnation, sent)
}

// requireFrom sets the shards that a transaction requires from a round. It waits for a slow shard
// only if it reads there.
func (gw *Gateway) requireFrom(c *Call, ps piece.Pieces) {
	c.roundWait.Need = round.Prompt
	if slices.ContainsFunc(ps, func(p piece.Piece) bool { return gw.Shards.IsLeftOut(p.Shard) }) {
		c.requireShards(ps.Shards()...)
	}
}

// requireShards makes the transaction wait for a snapshot that contains some shards.
func (c *Call) requireShards(s ...kv.ShardID) { c.roundWait.Need, c.roundWait.Shards = round.Some, s }

// covers reports whether a snapshot contains all shards on which a transaction reads.
func covers(s *round.Snapshot, ps piece.Pieces) bool {
	return !slices.ContainsFunc(ps, func(p piece.Piece) bool { return !s.Has(p.Shard) })
}

// Stamp sets the snapshot that a transaction has read. If that is older than the causality token of
// its request, the token is of another cluster, or this cluster has lost acknowledged transactions
// (a restored backup): the response becomes a failure.
//
// Example. A client has a token of commit T. The cluster loses its disks, and is restored from a backup that was taken
// before T. Without this check a read with the token would return a state without T.
func (c *Call) Stamp(d *Done) {
	if c.snapshot != nil && c.snapshot.retained != nil {
		d.Snapshots = []msg.Snapshot{*c.snapshot.retained}
	}
	if !d.Committed {
		return
	}
	if c.snapshot != nil && c.snapshot.clock != nil && c.snapshot.round == nil {
		d.ReadCSNs = msg.CSNs(c.snapshot.clock)
	}
	if c.How.After == nil || !c.ReadOnly {
		return
	}
	saw := d.Clock()
	for _, e := range saw.Entries() {
		if e.CSN < c.How.After.At(e.Shard) {
			text := "the causality token names a state that this cluster has not reached"
			*d = Done{Failure: env.Invalid(text, foreignToken)}
			return
		}
	}
}
