package flow

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/round"
	"github.com/linchpindb/linchpin/pkg/txn/shards"
)

// View is an interactive transaction that only reads, and takes no locks: it registers in the
// snapshot-queues of the shards as it goes. One that has been open for long goes on at a fixed
// state, and holds no update any more.
type View struct {
	Interactive
	reading *readreq.Reading
	// pinAt is when it is to go on at a fixed state, 0 for not. A view that has asked for a state in
	// vain has one before it registers anywhere, and does not ask again at once: the machine that it
	// borrows from may know of a shard that is about to stop, and this one not.
	snapshotAt int64
	// seen is the state that it had read when it went on at a fixed one.
	readBefore []msg.ShardCSN
}

// Start is Fetch, and Write, of what has no writes, is Finish.
func (v *View) Start(gw *Gateway) Outcome        { return v.Fetch(gw) }
func (v *View) CommitWrites(gw *Gateway) Outcome { return v.FinishReads(gw) }

// Fetch asks the shards for what the call under way needs to know, or goes on at once.
func (v *View) Fetch(gw *Gateway) Outcome {
	switch {
	case v.needsLookUp():
		return gw.lookUpSnapshot(v)
	case v.roundWait.Waiting():
		v.Phase = AwaitingSnapshot
		return Continue
	}
	wanted, _ := v.session.Wants(v.ops, gw.sessionWhere(&v.Call, nil))
	return v.read(gw, wanted)
}

// ask asks the shards for what the view wants to see, and registers it there.
func (v *View) read(gw *Gateway, wanted piece.Pieces) Outcome {
	missed, again := gw.missedShards[v.Ref.TxnID]
	if v.reading == nil && v.snapshot == nil && v.snapshotAt == 0 && (again || gw.Now < gw.viewsAtSnapshotUntil) && gw.Shards.NoRound() == nil {
		gw.requireFrom(&v.Call, wanted)
		if again { // the attempt before was to read there at a state without that shard
			delete(gw.missedShards, v.Ref.TxnID)
			v.requireShards(append(wanted.Shards(), missed)...)
		}
		return v.awaitSnapshot()
	}
	if v.reading == nil {
		plan := env.PlanInteractive
		if v.snapshot != nil {
			plan = env.PlanSnapshot
		}
		v.reading = gw.newReading(v, plan)
		v.requestSnapshotBy(gw, gw.Now+int64(gw.OpenBudget))
	}
	v.Phase = Reading
	for i := range wanted {
		p := &wanted[i]
		for j := range p.Ops {
			p.Ops[j].ForUpdate = false
		}
		if v.snapshot != nil {
			f := gw.readPast(&v.Call, v.reading, p.Shard, p.Ops)
			if f != nil {
				gw.noteMissedShard(v.Ref.TxnID, p.Shard)
				return Aborted(f)
			}
			continue
		}
		v.reading.Ask(gw.Env, p.Shard, &msg.Read{Ops: p.Ops, LeaseNanos: int64(gw.Lease)}, v.LastRequestRetry())
	}
	gw.Timed(v.AbortAt())
	if !v.reading.Open() {
		v.evaluate(gw)
	}
	return Continue
}

// Reading is the reading under way.
func (v *View) Reading() *readreq.Reading { return v.reading }

// Took takes what was read on one shard. If the view holds an update there it is to hold it no
// longer than the budget, counted from when the first of those that hold it began.
func (v *View) OnRead(gw *Gateway, p *msg.ReadResponse, ops []msg.Op, sent int64) {
	v.session.Learn(p.Reading.Shard, ops, false, p.Results)
	if p.HeldNanos > 0 {
		v.requestSnapshotBy(gw, sent+int64(gw.OpenBudget)-p.HeldNanos)
	}
}

// ReadAll executes the call.
func (v *View) OnAllRead(gw *Gateway) Outcome {
	v.evaluate(gw)
	return Continue
}

// Crowded (docs/protocol.md, section 5, Starvation): where an update has been held for so long
// that views are refused, those that come next would be too, after they have held others. They
// read at a fixed state from the start.
func (v *View) NoteTimeBlocked(gw *Gateway, p *msg.ReadResponse) {
	closed := p.Failure != nil && p.Failure.Reason == msg.ReasonClosed
	if gw.OpenBudget >= 0 && (closed || p.HeldNanos >= int64(kv.DefaultHoldBound)) {
		gw.viewsAtSnapshotUntil = gw.Now + int64(gw.CrowdFor)
	}
}

// Elsewhere asks for keys where they are. The view stays registered where it is; nothing else
// that it has read has to be read again.
func (v *View) OnRedirect(gw *Gateway, at kv.ShardID, ops []msg.Op) Outcome {
	var wanted piece.Pieces
	for _, op := range ops {
		s := at // which has a part of every range
		if !op.IsRange() {
			s = gw.shardOf(&v.Call, op.Key)
		}
		p := wanted.At(s)
		p.Ops = append(p.Ops, op)
	}
	asked := wanted.Shards()
	v.reading.Again(
		func(s kv.ShardID) bool { return slices.Contains(asked, s) },
		func(s kv.ShardID, ops []msg.Op) {
			p := wanted.At(s)
			p.Ops = append(p.Ops, ops...)
		})
	return v.read(gw, wanted)
}

// TurnedAway: a shard has told the view to go on at a fixed state.
func (v *View) OnClosed(gw *Gateway) Outcome {
	v.reading.Left = true
	return v.requestSnapshot(gw)
}

// Refused: a shard has failed a request.
func (v *View) OnFailure(gw *Gateway, f *msg.Failure) Outcome {
	f = v.renumber(f)
	if !needsValidation(gw, f) {
		return Aborted(f)
	}
	v.validateFailure(f, gw.Now)
	return v.FinishReads(gw)
}

// Replied takes the snapshot that it is to read at.
func (v *View) OnQueryResponse(gw *Gateway, _, m *msg.Envelope) Outcome {
	return gw.onSnapshotFound(v, msg.As[msg.SnapshotResponse](m))
}

// Finish ends the view: if its leases stand, all it has read is current now.
func (v *View) FinishReads(gw *Gateway) Outcome {
	if v.reading != nil {
		s, lapsed := v.reading.Lapsed(gw.Env)
		if lapsed && !gw.Mutants.Has(mutant.OpenEndUnchecked) {
			return Aborted(readreq.Lapse(s))
		}
	}
	d := Done{Committed: !v.rollsBack, Plan: env.PlanInteractive, Failure: v.validatedFailure}
	if v.snapshot != nil {
		d.Plan = env.PlanSnapshot
	}
	return Finished(d)
}

// pinBy has the view go on at a fixed state from a time, or earlier: 50 ms after it registered
// first, and no later than 50 ms after another reader began to hold what it holds too.
func (v *View) requestSnapshotBy(gw *Gateway, at int64) {
	if gw.OpenBudget < 0 || v.snapshot != nil || v.roundWait.Waiting() {
		return
	}
	if v.snapshotAt == 0 || at < v.snapshotAt {
		v.snapshotAt = at
	}
	gw.Timed(v.snapshotAt)
}

// pin has a state fixed while the view is still registered. A call that comes meanwhile waits,
// and so does one that is under way: what its reads would come to may be newer than the state,
// and is not used.
func (v *View) requestSnapshot(gw *Gateway) Outcome {
	v.snapshotAt = 0
	if v.Phase == Reading {
		v.Phase = AwaitingSnapshot
		v.reading.GiveUp(gw.Env)
	}
	if gw.Mutants.Has(mutant.OpenLeftBeforePin) {
		gw.endReading(v.reading)
		v.reading = nil
	}
	if v.reading != nil {
		o := gw.tickLeases(v.reading)
		if !o.Continues() {
			return o
		}
	}
	v.roundWait.Need = round.Prompt
	return awaitsSnapshot
}

// Pinned: the view, which was registered until now, reads at the fixed state from here on and
// holds no update any more. What it has read before was current at the instant of the state.
func (v *View) OnSnapshot(gw *Gateway, p *round.Round) Outcome {
	wanted := v.uncoveredShards(gw, p)
	if len(wanted) > 0 {
		v.roundWait.Drop()
		v.requireShards(wanted...)
		return awaitsSnapshot
	}
	if v.reading != nil {
		s, lapsed := v.reading.Lapsed(gw.Env)
		if lapsed {
			v.roundWait.Drop()
			return Aborted(readreq.Lapse(s))
		}
		v.readBefore = readCSNs(v.reading)
		gw.endReading(v.reading)
		v.reading = nil
	}
	gw.readAtRound(&v.Call, p)
	if v.Phase == AwaitingSnapshot {
		return v.Fetch(gw)
	}
	return Continue
}

// wantsMore lists the shards on which the call under way reads, if one has no part in the state. A
// view that has read nothing, and so holds nobody, waits for a state in which it has.
func (v *View) uncoveredShards(gw *Gateway, p *round.Round) []kv.ShardID {
	reads := v.reading != nil && len(v.reading.Replies()) > 0
	if reads || v.Phase != AwaitingSnapshot || v.roundWait.Need != round.Prompt {
		return nil
	}
	wanted, _ := v.session.Wants(v.ops, gw.sessionWhere(&v.Call, nil))
	if covers(&p.State, wanted) {
		return nil
	}
	return wanted.Shards()
}

// mostMissed bounds the views of which it is remembered which shard they missed. Somewhat arbitrary:
// far more than fail before their clients begin them anew.
const maxMissedShards = 1024

// miss notes that a view was to read on a shard that has no part in the state at which it reads. When
// its client begins it anew it waits for that shard.
func (gw *Gateway) noteMissedShard(id kv.TxnID, s kv.ShardID) {
	if len(gw.missedShards) == maxMissedShards {
		clear(gw.missedShards)
	}
	gw.missedShards[id] = s
}

// Unpinned: there will be no such state. A view that was only to hold no update does not need
// the node for which there is none: it reads on where it is registered, or leaves and begins
// anew.
func (v *View) OnNoSnapshot(gw *Gateway, f *msg.Failure) Outcome {
	switch {
	case v.Phase == Idle: // it stays registered
		v.snapshotAt = gw.Now + int64(gw.OpenBudget)
		gw.Timed(v.snapshotAt)
		return Continue
	case !shards.IsNoRound(f):
		return Aborted(f)
	case v.reading == nil || !v.reading.Left:
		v.snapshotAt = gw.Now + int64(gw.OpenBudget)
		return v.Fetch(gw)
	case len(v.ops) > 0 && v.ops[0].Seq == 0:
		// It has left a shard, and cannot read on under the same name. Its client has been told
		// nothing yet: it begins anew.
		gw.endReading(v.reading)
		v.reading, v.snapshotAt = nil, 0
		v.session.Unlearn()
		v.BackOff(gw.Env, int64(noRoundPause))
		return Continue
	}
	text := "the view cannot continue: other transactions wait for it, " +
		"and no snapshot can be taken to continue at: " + f.Text
	return Aborted(env.Failure(msg.ReasonExhausted, kv.KindUnavailable, text))
}

// Awaits lists the shards that have not answered.
func (v *View) PendingShards() []kv.ShardID {
	if v.Phase == Reading {
		return v.reading.Awaits()
	}
	return nil
}

// Shards lists the shards that it has read on.
func (v *View) Shards() []kv.ShardID { return v.session.Shards() }

// Repeat sends again what has no answer, renews leases, and has the view go on at a fixed state
// in time.
func (v *View) Retry(gw *Gateway) Outcome {
	switch {
	case v.Phase == Idle:
		return v.tickIdle(gw)
	case v.Phase == Reading && v.isSnapshotDue(gw):
		return v.requestSnapshot(gw)
	case v.Phase == Reading:
		v.scheduleSnapshot(gw)
		return gw.tickReading(&v.Call, v.reading)
	case v.Phase == AwaitingSnapshot && v.reading != nil: // it stays registered until the state is fixed
		return gw.tickReading(&v.Call, v.reading)
	}
	return Continue
}

// pinDue reports whether the view is to go on at a fixed state now. It is later if a node is
// down or drains, without which no state can be fixed.
func (v *View) isSnapshotDue(gw *Gateway) bool {
	if v.snapshotAt == 0 || gw.Now < v.snapshotAt {
		return false
	}
	if gw.Shards.NoRound() != nil {
		v.snapshotAt = gw.Now + int64(gw.OpenBudget)
		return false
	}
	return true
}

func (v *View) tickIdle(gw *Gateway) Outcome {
	o := v.checkIdle(gw)
	if !o.Continues() || v.reading == nil {
		v.scheduleSnapshot(gw)
		return o
	}
	o = gw.tickReading(&v.Call, v.reading)
	if o.Continues() && v.snapshotAt != 0 && gw.Now >= v.snapshotAt {
		return v.requestSnapshot(gw)
	}
	v.scheduleSnapshot(gw)
	return o
}

// timedPin has Tick called when the view is to go on at a fixed state.
func (v *View) scheduleSnapshot(gw *Gateway) {
	if v.snapshotAt != 0 {
		gw.Timed(v.snapshotAt)
	}
}

// Release leaves the shards where it is registered, and so does End.
func (v *View) Release(gw *Gateway)             { gw.endReading(v.reading) }
func (v *View) End(gw *Gateway, _ *msg.Failure) { gw.endReading(v.reading) }

// Seen is the state that it has read.
func (v *View) ReadCSNs() []msg.ShardCSN {
	if v.reading == nil {
		return v.readBefore
	}
	return append(readCSNs(v.reading), v.readBefore...)
}
