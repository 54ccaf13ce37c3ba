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
const noRoundPause = 10 * time.Millisecond

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
	pieceBuf [1]piece.Piece
}

// Init makes it a transaction of operations, which it numbers.
func (o *OneShot) Init(gw *Gateway, token Token, id kv.TxnID, ops []msg.Op, deadline int64, how How) {
	o.Kind, o.How, o.Token, o.ReadOnly = OneShotKind, how, token, true
	o.Ref = kv.TxnRef{TxnID: id, Attempt: 1}
	o.ops = ops
	o.Begun = beginTime(gw, &how)
	o.started = gw.Now
	o.setDeadline(gw, deadline)
	o.reqStart, o.reqDeadline = o.started, o.deadline
	o.snapshot = newPastSnapshot(how)
	for i := range ops {
		ops[i].Seq = uint32(i)
		o.ReadOnly = o.ReadOnly && !ops[i].Writes()
	}
}

// Start sends the commit, or the reads.
func (o *OneShot) Start(gw *Gateway) Outcome {
	if o.needsLookUp() {
		return gw.lookUpSnapshot(o)
	}
	ps := o.pieces(gw)
	f := gw.Admitter.Admit(o, ps)
	switch {
	case f != nil:
		return Failed(f)
	case o.snapshot != nil:
		return o.readPast(gw, ps)
	case !o.ReadOnly:
		return o.sendCommit(gw, ps)
	case gw.SharedReads.tryJoin(gw, o):
		return Continue // another's answer will do
	case gw.Reads == env.SnapshotReads:
		return o.read(gw, ps)
	case len(ps) == 1:
		return o.sendCommit(gw, ps)
	}
	return o.lockReads(gw)
}

// pieces cuts the operations. A single piece shares them: they do not change any more.
func (o *OneShot) pieces(gw *Gateway) piece.Pieces {
	ps := piece.Pieces(o.pieceBuf[:0])
	place := func(key []byte) kv.ShardID { return gw.shardOf(&o.Call, key) }
	s, one := piece.Only(o.ops, place)
	if !one {
		ps.Cut(o.ops, gw.Router.Shards(), place)
		return ps
	}
	return append(ps, piece.Piece{Shard: s, Piece: msg.Piece{Ops: o.ops}})
}

// send commits the pieces.
func (o *OneShot) sendCommit(gw *Gateway, ps piece.Pieces) Outcome {
	if o.ReadOnly {
		return gw.sendCommit(o, ps, commitreq.Request{Snapshot: gw.Reads == env.SnapshotReads, MaxResponse: o.How.MaxResponse})
	}
	if o.fingerprint == 0 {
		o.fingerprint = gw.Fingerprint(o.ops)
	}
	return gw.sendCommit(o, ps, commitreq.Request{Fingerprint: o.fingerprint, MaxResponse: o.How.MaxResponse})
}

// Commit is the commit under way.
func (o *OneShot) Commit() *commitreq.Commit { return &o.commit }

// OnlyReads reports whether the commit applies nothing.
func (o *OneShot) IsReadOnly() bool { return o.ReadOnly }

// Answered takes the decision of the last agent.
func (o *OneShot) OnCommitResponse(gw *Gateway, a *msg.CommitResponse) Outcome {
	d := Done{Committed: true, ResultsLost: a.ResultsLost, Index: msg.ShardCSN{Shard: a.Shard, Index: a.Index}}
	switch {
	case a.Failure != nil && a.Failure.Reason == msg.ReasonClosed:
		return o.OnClosed(gw)
	case a.Failure != nil && a.Failure.Reason == msg.ReasonCommitted:
		// Its client has sent it before, and what it asked for is done.
		d.ResultsLost = true
		return Finished(d)
	case !a.Committed:
		return AbortConfirmed(a.Failure)
	}
	if o.ReadOnly && gw.Reads == env.SnapshotReads {
		d.Plan = env.PlanOneShard
	}
	if !a.ResultsLost {
		d.Results = piece.Assemble(o.ops, a.Results)
	}
	return Finished(d)
}

// read sends the reads by a plan.
func (o *OneShot) read(gw *Gateway, ps piece.Pieces) Outcome {
	plan, last := o.choosePlan(gw, ps)
	switch plan {
	case env.PlanSnapshot:
		gw.requireFrom(&o.Call, ps)
		return o.awaitSnapshot()
	case env.PlanOneShard:
		// One shard reads in one step, as it decides: by the same message.
		return o.sendCommit(gw, ps)
	}
	gw.Heat.NoteTogether(ps)
	o.register(gw, plan)
	o.reading.Start(gw.Env, ps, last, gw.Shards.Busy(last), o.LastRequestRetry())
	return Continue
}

// plan picks how to read, and the shard that reads last if there is such an order: the hottest,
// if updates of what is read have waited there lately. Readers that are registered there would
// have each other's updates wait.
func (o *OneShot) choosePlan(gw *Gateway, ps piece.Pieces) (env.Plan, kv.ShardID) {
	forced := o.forcedPlan(gw)
	if len(ps) == 1 && forced != env.PlanSnapshot {
		return env.PlanOneShard, ps[0].Shard
	}
	last, heat := gw.Heat.Hottest(ps)
	switch {
	case forced != env.PlanAny:
		return forced, last
	case (heat > 0 || last == gw.Hot()) && gw.Shards.UpdatesWait(last):
		return env.PlanHotLast, last
	}
	return env.PlanParallel, last
}

// forced is the plan that the request or the operator wants, PlanAny if neither does.
func (o *OneShot) forcedPlan(gw *Gateway) env.Plan {
	if o.How.Plan != env.PlanAny {
		return o.How.Plan
	}
	return gw.Plan
}

// register begins a reading.
func (o *OneShot) register(gw *Gateway, plan env.Plan) {
	o.reading = gw.newReading(o, plan)
	o.Phase = Reading
	gw.Timed(o.AbortAt())
}

func (o *OneShot) readPast(gw *Gateway, ps piece.Pieces) Outcome {
	o.register(gw, env.PlanSnapshot)
	for i := range ps {
		f := gw.readPast(&o.Call, o.reading, ps[i].Shard, ps[i].Ops)
		if f != nil {
			return Aborted(f)
		}
	}
	return Continue
}

// Reading is the reading under way.
func (o *OneShot) Reading() *readreq.Reading { return o.reading }

// Took takes a shard's answer, which the reading has.
func (o *OneShot) OnRead(*Gateway, *msg.ReadResponse, []msg.Op, int64) {}

// Elsewhere begins the reading anew, with the key where it is.
func (o *OneShot) OnRedirect(gw *Gateway, _ kv.ShardID, _ []msg.Op) Outcome {
	gw.endReading(o.reading)
	var ps piece.Pieces
	ps.Cut(o.ops, gw.Router.Shards(), func(key []byte) kv.ShardID { return gw.shardOf(&o.Call, key) })
	if o.snapshot != nil {
		return o.readPast(gw, ps)
	}
	return o.read(gw, ps)
}

// ReadAll ends the transaction: if all leases stand, what it has read is current.
func (o *OneShot) OnAllRead(gw *Gateway) Outcome {
	s, lapsed := o.reading.Lapsed(gw.Env)
	if lapsed {
		return Aborted(readreq.Lapse(s))
	}
	var parts []msg.Result
	for _, p := range o.reading.Replies() {
		parts = append(parts, p.Results...)
	}
	return Finished(Done{Committed: true, Results: piece.Assemble(o.ops, parts), Plan: o.reading.Plan})
}

// TurnedAway: a shard has told the reader to read at a fixed state. It leaves the others, and
// reads everything there.
func (o *OneShot) OnClosed(gw *Gateway) Outcome {
	gw.endReading(o.reading)
	o.Reset()
	gw.requireFrom(&o.Call, o.pieces(gw))
	return o.awaitSnapshot()
}

// Pinned reads at a fixed state, if all shards that it needs have a part in it.
func (o *OneShot) OnSnapshot(gw *Gateway, p *round.Round) Outcome {
	ps := o.pieces(gw)
	if o.roundWait.Need == round.Prompt && !covers(&p.State, ps) {
		o.roundWait.Drop()
		o.requireShards(ps.Shards()...)
		return o.awaitSnapshot()
	}
	gw.readAtRound(&o.Call, p)
	return o.Start(gw)
}

// Unpinned: no state can be fixed.
func (o *OneShot) OnNoSnapshot(gw *Gateway, f *msg.Failure) Outcome {
	if shards.IsNoRound(f) && o.forcedPlan(gw) != env.PlanSnapshot {
		o.BackOff(gw.Env, int64(noRoundPause))
		return Continue
	}
	return Aborted(f)
}

// Refused: what it asks for cannot be had.
func (o *OneShot) OnFailure(_ *Gateway, f *msg.Failure) Outcome { return Aborted(o.renumber(f)) }

// Replied takes the snapshot that it is to read at.
func (o *OneShot) OnQueryResponse(gw *Gateway, _, m *msg.Envelope) Outcome {
	return gw.onSnapshotFound(o, msg.As[msg.SnapshotResponse](m))
}

// lock reads on several shards under locks, the baseline.
func (o *OneShot) lockReads(gw *Gateway) Outcome {
	o.locks = newLocks()
	o.Phase = Locking
	locked, _ := o.locks.session.Wants(o.ops, gw.sessionWhere(&o.Call, nil))
	o.locks.requestLocks(gw, &o.Call, locked, nil)
	return o.onAllLocked(gw)
}

// Requests are the lock requests, Checks those that check the locks in the end.
func (o *OneShot) Requests() *lockreq.Requests { return &o.locks.requests }
func (o *OneShot) Checks() *lockreq.Checks     { return &o.locks.checks }

// Locked takes the locks and values of one shard.
func (o *OneShot) OnLocks(gw *Gateway, l *msg.Lock, r *msg.LockResponse) Outcome {
	if !o.locks.addGrants(r) {
		return Aborted(locksLost())
	}
	o.locks.session.Learn(r.Shard, l.Ops, false, r.Results)
	return o.onAllLocked(gw)
}

// lockedAll goes on when every lock has been granted.
func (o *OneShot) onAllLocked(gw *Gateway) Outcome {
	if o.locks.requests.Open() {
		return Continue
	}
	results, f := o.locks.session.Evaluate(o.ops, gw.WallMillis())
	if f != nil {
		return Aborted(f)
	}
	o.locks.results = slices.Clone(results)
	return o.locks.finishReads(gw, o)
}

// Checked: everything that was read under locks was current at one instant.
func (o *OneShot) OnChecked(*Gateway) Outcome {
	return Finished(Done{Committed: true, Results: o.locks.results})
}

// Awaits lists the shards that have not answered.
func (o *OneShot) PendingShards() []kv.ShardID {
	switch o.Phase {
	case Reading:
		return o.reading.Awaits()
	case Locking, Checking:
		return o.locks.pendingShards(o.Phase)
	}
	return nil
}

// Shards lists the shards that it has to do with.
func (o *OneShot) Shards() []kv.ShardID {
	switch {
	case o.locks != nil:
		return o.locks.session.Shards()
	case o.reading != nil:
		return o.PendingShards()
	}
	return o.commit.Shards()
}

// Repeat sends again what has no answer.
func (o *OneShot) Retry(gw *Gateway) Outcome {
	switch o.Phase {
	case Reading:
		return gw.tickReading(&o.Call, o.reading)
	case Locking, Checking:
		o.locks.retry(gw, &o.Call)
	}
	return Continue
}

// Release gives up what it may hold.
func (o *OneShot) Release(gw *Gateway) {
	gw.endReading(o.reading)
	if o.locks != nil {
		o.locks.release(gw, o.Ref)
	}
}

// Reset forgets the attempt.
func (o *OneShot) Reset() {
	o.reading, o.locks = nil, nil
	o.commit = commitreq.Commit{}
}

// End leaves the shards where it is registered.
func (o *OneShot) End(gw *Gateway, _ *msg.Failure) { gw.endReading(o.reading) }

// Seen is the state that it has read.
func (o *OneShot) ReadCSNs() []msg.ShardCSN {
	switch {
	case o.reading != nil:
		return readCSNs(o.reading)
	case o.locks != nil:
		return o.locks.readCSNs()
	}
	return nil
}

// Claim counts it for its keys.
func (o *OneShot) Claim() admission.Claim { return admission.Claim{Ops: o.ops} }

// seenBy is the commit sequence number of every shard that has answered.
func readCSNs(r *readreq.Reading) (at []msg.ShardCSN) {
	for _, p := range r.Replies() {
		at = append(at, msg.ShardCSN{Shard: p.Reading.Shard, Index: p.Index})
	}
	return at
}
