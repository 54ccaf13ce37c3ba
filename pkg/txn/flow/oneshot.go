package flow

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/admission"
	"github.com/linchpindb/linchpin/pkg/txn/commitreq"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/lockreq"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/round"
	"github.com/linchpindb/linchpin/pkg/txn/shards"
)

// shutPause is after how long a reader that was turned away tries again, if no state can be
// fixed for it because a node is down or drains. Somewhat arbitrary: half of what has a key
// closed.
const shutPause = 10 * time.Millisecond

// OneShot is a transaction that is known as a whole. One that writes, or is of one shard, is
// committed at once; one that reads on several shards registers there. Which of the two it does
// is decided anew with each attempt.
type OneShot struct {
	Call
	commit  commitreq.Commit
	reading *readreq.Reading
	// locks is for the baseline that reads on several shards under locks, nil otherwise.
	locks *locks
	sharing
	// fingerprint is that of ops once they have been sent to be committed.
	fingerprint uint64
	// room is for the pieces, where there is only one.
	room [1]piece.Piece
}

// Init makes it a transaction of operations, which it numbers.
func (o *OneShot) Init(h *Host, token Token, id kv.TxnID, ops []msg.Op, deadline int64, how How) {
	o.Kind, o.How, o.Token, o.ReadOnly = OneShotKind, how, token, true
	o.Ref = kv.TxnRef{TxnID: id, Attempt: 1}
	o.ops = ops
	o.Begun = begun(h, &how)
	o.started = h.Now
	o.bound(h, deadline)
	o.from, o.by = o.started, o.deadline
	o.past = pastOf(how)
	for i := range ops {
		ops[i].Seq = uint32(i)
		o.ReadOnly = o.ReadOnly && !ops[i].Writes()
	}
}

// Start sends the commit, or the reads.
func (o *OneShot) Start(h *Host) Outcome {
	if o.unresolved() {
		return h.resolve(o)
	}
	ps := o.pieces(h)
	f := h.Door.Admit(o, ps)
	switch {
	case f != nil:
		return Failed(f)
	case o.past != nil:
		return o.readPast(h, ps)
	case !o.ReadOnly:
		return o.send(h, ps)
	case h.Shared.join(h, o):
		return GoesOn // another's answer will do
	case h.Reads == env.SnapshotReads:
		return o.read(h, ps)
	case len(ps) == 1:
		return o.send(h, ps)
	}
	return o.lock(h)
}

// pieces cuts the operations. A single piece shares them: they do not change any more.
func (o *OneShot) pieces(h *Host) piece.Pieces {
	ps := piece.Pieces(o.room[:0])
	place := func(key []byte) kv.ShardID { return h.place(&o.Call, key) }
	s, one := piece.Only(o.ops, place)
	if !one {
		ps.Cut(o.ops, h.Router.Shards(), place)
		return ps
	}
	return append(ps, piece.Piece{Shard: s, Piece: msg.Piece{Ops: o.ops}})
}

// send commits the pieces.
func (o *OneShot) send(h *Host, ps piece.Pieces) Outcome {
	if o.ReadOnly {
		return h.send(o, ps, commitreq.Request{Snapshot: h.Reads == env.SnapshotReads, MaxResponse: o.How.MaxResponse})
	}
	if o.fingerprint == 0 {
		o.fingerprint = h.Fingerprint(o.ops)
	}
	return h.send(o, ps, commitreq.Request{Fingerprint: o.fingerprint, MaxResponse: o.How.MaxResponse})
}

// Commit is the commit under way.
func (o *OneShot) Commit() *commitreq.Commit { return &o.commit }

// OnlyReads reports whether the commit applies nothing.
func (o *OneShot) OnlyReads() bool { return o.ReadOnly }

// Answered takes the decision of the last agent.
func (o *OneShot) Answered(h *Host, a *msg.CommitResponse) Outcome {
	d := Done{Committed: true, ResultsLost: a.ResultsLost, Index: msg.ShardCSN{Shard: a.Shard, Index: a.Index}}
	switch {
	case a.Failure != nil && a.Failure.Reason == msg.ReasonClosed:
		return o.TurnedAway(h)
	case a.Failure != nil && a.Failure.Reason == msg.ReasonCommitted:
		// Its client has sent it before, and what it asked for is done.
		d.ResultsLost = true
		return Over(d)
	case !a.Committed:
		return Lost(a.Failure)
	}
	if o.ReadOnly && h.Reads == env.SnapshotReads {
		d.Plan = env.PlanOneShard
	}
	if !a.ResultsLost {
		d.Results = piece.Assemble(o.ops, a.Results)
	}
	return Over(d)
}

// read sends the reads by a plan.
func (o *OneShot) read(h *Host, ps piece.Pieces) Outcome {
	plan, last := o.plan(h, ps)
	switch plan {
	case env.PlanSnapshot:
		h.needs(&o.Call, ps)
		return o.waits()
	case env.PlanOneShard:
		// One shard reads in one step, as it decides: by the same message.
		return o.send(h, ps)
	}
	h.Heat.NoteTogether(ps)
	o.register(h, plan)
	o.reading.Start(h.Env, ps, last, h.Shards.Busy(last), o.LastAsk())
	return GoesOn
}

// plan picks how to read, and the shard that reads last if there is such an order: the hottest,
// if updates of what is read have waited there lately. Readers that are registered there would
// have each other's updates wait.
func (o *OneShot) plan(h *Host, ps piece.Pieces) (env.Plan, kv.ShardID) {
	forced := o.forced(h)
	if len(ps) == 1 && forced != env.PlanSnapshot {
		return env.PlanOneShard, ps[0].Shard
	}
	last, heat := h.Heat.Hottest(ps)
	switch {
	case forced != env.PlanAny:
		return forced, last
	case (heat > 0 || last == h.Hot()) && h.Shards.UpdatesWait(last):
		return env.PlanHotLast, last
	}
	return env.PlanParallel, last
}

// forced is the plan that the request or the operator wants, PlanAny if neither does.
func (o *OneShot) forced(h *Host) env.Plan {
	if o.How.Plan != env.PlanAny {
		return o.How.Plan
	}
	return h.Plan
}

// register begins a reading.
func (o *OneShot) register(h *Host, plan env.Plan) {
	o.reading = h.newReading(o, plan)
	o.Phase = Reading
	h.Timed(o.EndAt())
}

func (o *OneShot) readPast(h *Host, ps piece.Pieces) Outcome {
	o.register(h, env.PlanSnapshot)
	for i := range ps {
		f := h.askPast(&o.Call, o.reading, ps[i].Shard, ps[i].Ops)
		if f != nil {
			return Aborted(f)
		}
	}
	return GoesOn
}

// Reading is the reading under way.
func (o *OneShot) Reading() *readreq.Reading { return o.reading }

// Took takes a shard's answer, which the reading has.
func (o *OneShot) Took(*Host, *msg.ReadResponse, []msg.Op, int64) {}

// Elsewhere begins the reading anew, with the key where it is.
func (o *OneShot) Elsewhere(h *Host, _ kv.ShardID, _ []msg.Op) Outcome {
	h.endReading(o.reading)
	var ps piece.Pieces
	ps.Cut(o.ops, h.Router.Shards(), func(key []byte) kv.ShardID { return h.place(&o.Call, key) })
	if o.past != nil {
		return o.readPast(h, ps)
	}
	return o.read(h, ps)
}

// ReadAll ends the transaction: if all leases stand, what it has read is current.
func (o *OneShot) ReadAll(h *Host) Outcome {
	s, lapsed := o.reading.Lapsed(h.Env)
	if lapsed {
		return Aborted(readreq.Lapse(s))
	}
	var parts []msg.Result
	for _, p := range o.reading.Replies() {
		parts = append(parts, p.Results...)
	}
	return Over(Done{Committed: true, Results: piece.Assemble(o.ops, parts), Plan: o.reading.Plan})
}

// TurnedAway: a shard has told the reader to read at a fixed state. It leaves the others, and
// reads everything there.
func (o *OneShot) TurnedAway(h *Host) Outcome {
	h.endReading(o.reading)
	o.Reset()
	h.needs(&o.Call, o.pieces(h))
	return o.waits()
}

// Pinned reads at a fixed state, if all shards that it needs have a part in it.
func (o *OneShot) Pinned(h *Host, p *round.Round) Outcome {
	ps := o.pieces(h)
	if o.seat.Need == round.Prompt && !covers(&p.State, ps) {
		o.seat.Drop()
		o.waitsFor(ps.Shards()...)
		return o.waits()
	}
	h.readAt(&o.Call, p)
	return o.Start(h)
}

// Unpinned: no state can be fixed.
func (o *OneShot) Unpinned(h *Host, f *msg.Failure) Outcome {
	if shards.IsNoRound(f) && o.forced(h) != env.PlanSnapshot {
		o.BackOff(h.Env, int64(shutPause))
		return GoesOn
	}
	return Aborted(f)
}

// Refused: what it asks for cannot be had.
func (o *OneShot) Refused(_ *Host, f *msg.Failure) Outcome { return Aborted(o.ofCall(f)) }

// Replied takes the snapshot that it is to read at.
func (o *OneShot) Replied(h *Host, _, m *msg.Envelope) Outcome {
	return h.resolved(o, msg.As[msg.SnapshotResponse](m))
}

// lock reads on several shards under locks, the baseline.
func (o *OneShot) lock(h *Host) Outcome {
	o.locks = newLocks()
	o.Phase = Locking
	locked, _ := o.locks.session.Wants(o.ops, h.where(&o.Call, nil))
	o.locks.ask(h, &o.Call, locked, nil)
	return o.lockedAll(h)
}

// Requests are the lock requests, Checks those that check the locks in the end.
func (o *OneShot) Requests() *lockreq.Requests { return &o.locks.requests }
func (o *OneShot) Checks() *lockreq.Checks     { return &o.locks.checks }

// Locked takes the locks and values of one shard.
func (o *OneShot) Locked(h *Host, l *msg.Lock, r *msg.LockResponse) Outcome {
	if !o.locks.granted(r) {
		return Aborted(restarted())
	}
	o.locks.session.Learn(r.Shard, l.Ops, false, r.Results)
	return o.lockedAll(h)
}

// lockedAll goes on when every lock has been granted.
func (o *OneShot) lockedAll(h *Host) Outcome {
	if o.locks.requests.Open() {
		return GoesOn
	}
	results, f := o.locks.session.Evaluate(o.ops, h.WallMillis())
	if f != nil {
		return Aborted(f)
	}
	o.locks.results = slices.Clone(results)
	return o.locks.end(h, o)
}

// Checked: everything that was read under locks was current at one instant.
func (o *OneShot) Checked(*Host) Outcome {
	return Over(Done{Committed: true, Results: o.locks.results})
}

// Awaits lists the shards that have not answered.
func (o *OneShot) Awaits() []kv.ShardID {
	switch o.Phase {
	case Reading:
		return o.reading.Awaits()
	case Locking, Checking:
		return o.locks.awaits(o.Phase)
	}
	return nil
}

// Shards lists the shards that it has to do with.
func (o *OneShot) Shards() []kv.ShardID {
	switch {
	case o.locks != nil:
		return o.locks.session.Shards()
	case o.reading != nil:
		return o.Awaits()
	}
	return o.commit.Shards()
}

// Repeat sends again what has no answer.
func (o *OneShot) Repeat(h *Host) Outcome {
	switch o.Phase {
	case Reading:
		return h.tickReading(&o.Call, o.reading)
	case Locking, Checking:
		o.locks.repeat(h, &o.Call)
	}
	return GoesOn
}

// Release gives up what it may hold.
func (o *OneShot) Release(h *Host) {
	h.endReading(o.reading)
	if o.locks != nil {
		o.locks.release(h, o.Ref)
	}
}

// Reset forgets the attempt.
func (o *OneShot) Reset() {
	o.reading, o.locks = nil, nil
	o.commit = commitreq.Commit{}
}

// End leaves the shards where it is registered.
func (o *OneShot) End(h *Host, _ *msg.Failure) { h.endReading(o.reading) }

// Seen is the state that it has read.
func (o *OneShot) Seen() []msg.ShardCSN {
	switch {
	case o.reading != nil:
		return seenBy(o.reading)
	case o.locks != nil:
		return o.locks.seen()
	}
	return nil
}

// Claim counts it for its keys.
func (o *OneShot) Claim() admission.Claim { return admission.Claim{Ops: o.ops} }

// seenBy is the commit sequence number of every shard that has answered.
func seenBy(r *readreq.Reading) (at []msg.ShardCSN) {
	for _, p := range r.Replies() {
		at = append(at, msg.ShardCSN{Shard: p.Reading.Shard, Index: p.Index})
	}
	return at
}
