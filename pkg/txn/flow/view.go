package flow

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
	"github.com/linchpindb/linchpin/pkg/txn/piece"
	"github.com/linchpindb/linchpin/pkg/txn/readreq"
	"github.com/linchpindb/linchpin/pkg/txn/round"
	"github.com/linchpindb/linchpin/pkg/txn/shards"
)

// View is an interactive read-only transaction. It takes no locks: it registers in the
// snapshot-queues of the shards that it reads, and conflicting updates wait for it. After 50 ms it
// continues at a snapshot, and holds no update any more:
//
//	View V                 shard A                 round of V's gateway
//	  ├─ read x ─────────────▶│ registered; update T of x is held
//	  ├─ 50 ms ──────────────────────────────────────▶│ fixes a CSN on each shard
//	  │◀─ snapshot ───────────────────────────────────┤
//	  ├─ deregister ─────────▶│ T seals, and commits
//	  ├─ read y at the CSN ──▶│
//
// V's leases are valid when the round is fixed, so what V has read is current at that instant,
// which becomes the instant of all of its reads.
type View struct {
	Interactive
	reading *readreq.Reading
	// snapshotAt is when the view requests a snapshot, 0 for never. It is also set while the view is
	// not registered, if no round could begin: then the view registers instead of requesting a
	// snapshot again at once. (The machine that lends snapshots may know of a drain of which this one
	// does not.)
	snapshotAt int64
	// readBefore are the CSNs of what it had read before it continued at a snapshot.
	readBefore []msg.ShardCSN
}

// Start implements Flow. A view has no writes, so CommitWrites is FinishReads.
func (v *View) Start(gw *Gateway) Outcome        { return v.Fetch(gw) }
func (v *View) CommitWrites(gw *Gateway) Outcome { return v.FinishReads(gw) }

// Fetch requests the values that the current request needs. While the view waits for a snapshot,
// its reads wait, too: a value read now could be newer than the snapshot.
func (v *View) Fetch(gw *Gateway) Outcome {
	switch {
	case v.needsLookUp():
		return gw.lookUpSnapshot(v)
	case v.roundWait.Waiting():
		v.Phase = AwaitingSnapshot
		return Continue
	}
	needed, _ := v.session.NeededReads(v.ops, gw.sessionWhere(&v.Call, nil))
	return v.read(gw, needed)
}

// read sends reads, which register the view, or read at its snapshot. It requests a snapshot first
// if
//
//   - views have been refused lately: this one would be refused as well, after it has held other
//     updates; or
//   - the last attempt of the view failed because a shard had no part in its snapshot. This one waits
//     for a round that includes the shard.
func (v *View) read(gw *Gateway, pieces piece.Pieces) Outcome {
	missed, again := gw.missedShards[v.Ref.TxnID]
	needsSnapshot := again || gw.Now < gw.viewsAtSnapshotUntil
	isFirst := v.reading == nil && v.snapshot == nil && v.snapshotAt == 0
	if isFirst && needsSnapshot && gw.Shards.WhyNoRound() == nil {
		gw.requireFrom(&v.Call, pieces)
		if again {
			delete(gw.missedShards, v.Ref.TxnID)
			v.requireShards(append(pieces.Shards(), missed)...)
		}
		return v.awaitSnapshot()
	}
	// The 50 ms run from the first read that registers.
	if v.reading == nil {
		plan := env.PlanInteractive
		if v.snapshot != nil {
			plan = env.PlanSnapshot
		}
		v.reading = gw.newReading(v, plan)
		v.requestSnapshotBy(gw, gw.Now+int64(gw.OpenBudget))
	}
	v.Phase = Reading
	for i := range pieces {
		p := &pieces[i]
		for j := range p.Ops {
			// A view takes no early locks.
			p.Ops[j].ForUpdate = false
		}
		if v.snapshot != nil {
			f := gw.readPast(&v.Call, v.reading, p.Shard, p.Ops)
			// The snapshot has no part of the shard. The view cannot continue, since it may have read at the
			// snapshot before. Its next attempt waits for a round with that shard.
			if f != nil {
				gw.noteMissedShard(v.Ref.TxnID, p.Shard)
				return Aborted(f)
			}
			continue
		}
		v.reading.Send(gw.Env, p.Shard, &msg.Read{Ops: p.Ops, LeaseNanos: int64(gw.Lease)}, v.LastRequestRetry())
	}
	gw.WakeAt(v.AbortAt())
	if !v.reading.HasPending() {
		v.evaluate(gw)
	}
	return Continue
}

// Reading returns the current reading.
func (v *View) Reading() *readreq.Reading { return v.reading }

// OnRead records what was read on one shard. If the view holds an update there that other readers
// have held for some time, the update's time blocked counts against the view's budget: the view
// must release the update 50 ms after the first reader began to hold it.
//
//	 0 ms   reader R begins to hold A       20 ms   V registers, and holds A as well
//	50 ms   V requests a snapshot, and not at 70 ms: A must not be held for longer by each new view
func (v *View) OnRead(gw *Gateway, p *msg.ReadResponse, ops []msg.Op, sent int64) {
	v.session.StoreResults(p.Reading.Shard, ops, false, p.Results)
	if p.HeldNanos > 0 {
		v.requestSnapshotBy(gw, sent+int64(gw.OpenBudget)-p.HeldNanos)
	}
}

// OnAllRead executes the request.
func (v *View) OnAllRead(gw *Gateway) Outcome {
	v.evaluate(gw)
	return Continue
}

// NoteTimeBlocked makes new views read at a snapshot from the start for a second, if an update is
// blocked for so long that its shard refuses registration (docs/protocol.md, section 5,
// Starvation).
//
// Otherwise each new view would register on its first shards, hold updates there, and then be refused by the shard of
// the blocked update.
func (v *View) NoteTimeBlocked(gw *Gateway, p *msg.ReadResponse) {
	closed := p.Failure != nil && p.Failure.Reason == msg.ReasonClosed
	if gw.OpenBudget >= 0 && (closed || p.HeldNanos >= int64(kv.DefaultMaxTimeBlocked)) {
		gw.viewsAtSnapshotUntil = gw.Now + int64(gw.SnapshotFirstFor)
	}
}

// OnRedirect reads keys on the shards to which they have moved. The view stays registered on the
// old shard as well, so that neither side can change what it has read; other reads need not be
// repeated. Responses of the new shards that are outstanding are requested again together with the
// keys.
func (v *View) OnRedirect(gw *Gateway, at kv.ShardID, ops []msg.Op) Outcome {
	var needed piece.Pieces
	for _, op := range ops {
		// A range has a part on every shard; only its keys move.
		s := at
		if !op.IsRange() {
			s = gw.shardOf(&v.Call, op.Key)
		}
		p := needed.At(s)
		p.Ops = append(p.Ops, op)
	}
	shards := needed.Shards()
	v.reading.WithdrawRequests(
		func(s kv.ShardID) bool { return slices.Contains(shards, s) },
		func(s kv.ShardID, ops []msg.Op) {
			p := needed.At(s)
			p.Ops = append(p.Ops, ops...)
		})
	return v.read(gw, needed)
}

// OnClosed: a shard has refused registration, and the view continues at a snapshot. It is not
// registered on that shard, so without a snapshot it cannot continue.
//
//	V is registered on shard 1; shard 2 refuses: an update of y has been blocked for more than 20 ms
//	V requests a snapshot, stays registered on shard 1, and waits for no response of shard 2
//	the round is fixed: V deregisters on shard 1, and reads y at the snapshot
func (v *View) OnClosed(gw *Gateway) Outcome {
	v.reading.Deregistered = true
	return v.requestSnapshot(gw)
}

// OnFailure: a shard has failed a read. If the client may have caused that by what it read, the
// leases are checked first; see validateFailure.
func (v *View) OnFailure(gw *Gateway, f *msg.Failure) Outcome {
	f = v.renumber(f)
	if !needsValidation(gw, f) {
		return Aborted(f)
	}
	v.validateFailure(f, gw.Now)
	return v.FinishReads(gw)
}

// OnQueryResponse receives the retained snapshot to read.
func (v *View) OnQueryResponse(gw *Gateway, _, m *msg.Envelope) Outcome {
	return gw.onSnapshotFound(v, msg.As[msg.SnapshotResponse](m))
}

// FinishReads ends the view. If all leases are valid, all of its reads are current now.
func (v *View) FinishReads(gw *Gateway) Outcome {
	s, expired := v.expiredLease(gw)
	if expired {
		return Aborted(readreq.ExpiredLeaseFailure(s))
	}
	d := Done{Committed: !v.rollsBack, Plan: env.PlanInteractive, Failure: v.validatedFailure}
	if v.snapshot != nil {
		d.Plan = env.PlanSnapshot
	}
	return Finished(d)
}

// requestSnapshotBy requests a snapshot at a time, unless one is requested earlier.
//
// A negative budget disables snapshots for views: they hold updates as long as they last.
func (v *View) requestSnapshotBy(gw *Gateway, at int64) {
	if gw.OpenBudget < 0 || v.snapshot != nil || v.roundWait.Waiting() {
		return
	}
	if v.snapshotAt == 0 || at < v.snapshotAt {
		v.snapshotAt = at
	}
	gw.WakeAt(v.snapshotAt)
}

// requestSnapshot waits for a round while the view stays registered. Reads in flight are abandoned:
// their values may be newer than the snapshot.
func (v *View) requestSnapshot(gw *Gateway) Outcome {
	v.snapshotAt = 0
	if v.Phase == Reading {
		v.Phase = AwaitingSnapshot
		v.dropPendingReads(gw)
	}
	o := v.keepLeases(gw)
	if !o.Continues() {
		return o
	}
	v.roundWait.Need = round.Prompt
	return awaitsSnapshot
}

// OnSnapshot checks that all leases are valid, so that earlier reads are current at the instant of
// the snapshot, deregisters, and continues at the snapshot.
func (v *View) OnSnapshot(gw *Gateway, p *round.Round) Outcome {
	needed := v.uncoveredShards(gw, p)
	if len(needed) > 0 {
		v.roundWait.Drop()
		v.requireShards(needed...)
		return awaitsSnapshot
	}
	if v.reading != nil {
		// The leases were valid when the round was fixed if they are valid now, after its response.
		s, lapsed := v.reading.ExpiredLease(gw.Env)
		if lapsed {
			v.roundWait.Drop()
			return Aborted(readreq.ExpiredLeaseFailure(s))
		}
		v.readBefore = readCSNs(v.reading)
		// Deregistering releases the held updates. What they change is newer than the snapshot.
		gw.endReading(v.reading)
		v.reading = nil
	}
	gw.readAtRound(&v.Call, p)
	if v.Phase == AwaitingSnapshot {
		return v.Fetch(gw)
	}
	return Continue
}

// uncoveredShards lists the shards of the current request if one of them has no part in the
// snapshot, because it did not respond to the round in time. The view then waits for a round that
// includes it. A view that has read something does not wait: it would hold updates meanwhile; it
// fails if it reads on that shard.
func (v *View) uncoveredShards(gw *Gateway, p *round.Round) []kv.ShardID {
	reads := v.reading != nil && len(v.reading.Responses()) > 0
	if reads || v.Phase != AwaitingSnapshot || v.roundWait.Need != round.Prompt {
		return nil
	}
	needed, _ := v.session.NeededReads(v.ops, gw.sessionWhere(&v.Call, nil))
	if covers(&p.Snapshot, needed) {
		return nil
	}
	return needed.Shards()
}

// maxMissedShards bounds the failed views of which the missing shard is remembered. Somewhat
// arbitrary: far more than fail before their clients begin the next attempt.
const maxMissedShards = 1024

// noteMissedShard remembers, for the next attempt of a view, that a shard had no part in its
// snapshot.
func (gw *Gateway) noteMissedShard(id kv.TxnID, s kv.ShardID) {
	if len(gw.missedShards) == maxMissedShards {
		clear(gw.missedShards)
	}
	gw.missedShards[id] = s
}

// OnNoSnapshot: no round can begin, or it has failed. A view that is registered on all shards that
// it has read does not depend on the snapshot: it stays registered and requests one later.
func (v *View) OnNoSnapshot(gw *Gateway, f *msg.Failure) Outcome {
	switch {
	case v.Phase == Idle: // it stays registered
		v.snapshotAt = gw.Now + int64(gw.OpenBudget)
		gw.WakeAt(v.snapshotAt)
		return Continue
	case !shards.IsRoundUnavailable(f):
		return Aborted(f)
	case v.reading == nil || !v.reading.Deregistered:
		v.snapshotAt = gw.Now + int64(gw.OpenBudget)
		return v.Fetch(gw)
	case len(v.ops) > 0 && v.ops[0].Seq == 0:
		// A shard has refused registration, and the view cannot register under the same name again. Its
		// client has received nothing yet, so it begins again under a new name.
		gw.endReading(v.reading)
		v.reading, v.snapshotAt = nil, 0
		v.session.DropAllReads()
		return v.retryRefused(gw, f)
	}
	text := "the view cannot continue: other transactions wait for it, " +
		"and no snapshot can be taken to continue at: " + f.Text
	return Aborted(env.Failure(msg.ReasonExhausted, kv.KindUnavailable, text))
}

// PendingShards lists the shards that have not responded.
func (v *View) PendingShards() []kv.ShardID {
	if v.Phase == Reading {
		return v.reading.PendingShards()
	}
	return nil
}

// Shards lists the shards that the view has read.
func (v *View) Shards() []kv.ShardID { return v.session.Shards() }

// Retry retries requests, renews leases, and requests a snapshot when it is time.
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

// isSnapshotDue reports whether the view has to request a snapshot now. While no round can begin,
// because a node is down or drains, it is postponed.
//
// A view that gave up its registrations for a snapshot that cannot be fixed could not go on.
func (v *View) isSnapshotDue(gw *Gateway) bool {
	if v.snapshotAt == 0 || gw.Now < v.snapshotAt {
		return false
	}
	if gw.Shards.WhyNoRound() != nil {
		v.snapshotAt = gw.Now + int64(gw.OpenBudget)
		return false
	}
	return true
}

// tickIdle is Retry between requests.
//
// The think time of the client counts: leases are renewed, and 50 ms after the first read the view requests a
// snapshot, so that the updates that it holds do not wait for its client.
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

// scheduleSnapshot schedules a Tick at snapshotAt.
func (v *View) scheduleSnapshot(gw *Gateway) {
	if v.snapshotAt != 0 {
		gw.WakeAt(v.snapshotAt)
	}
}

// Release deregisters the view, and so does End.
func (v *View) Release(gw *Gateway)             { gw.endReading(v.reading) }
func (v *View) End(gw *Gateway, _ *msg.Failure) { gw.endReading(v.reading) }

// ReadCSNs is the CSN of each shard that was read.
func (v *View) ReadCSNs() []msg.ShardCSN {
	if v.reading == nil {
		return v.readBefore
	}
	return append(readCSNs(v.reading), v.readBefore...)
}
