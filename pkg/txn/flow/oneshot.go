package flow

import (
	"slices"

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

// OneShot is a transaction that is complete when it arrives. Each attempt chooses anew: writes, and
// reads on one shard, are committed at once; reads on several shards register there.
//
//	writes                      prepare, commit request      2 or 3 delays
//	reads, one shard            commit request without writes  2 delays
//	reads, several shards       register and read              2 delays; 3 with the hot shard last
//	                            lock, check locks              4 delays; the baseline, and without leases
//	reads, refused (closed)     round, then reads at its CSNs  3 and 2 delays
//
// If an attempt is aborted, package txn starts the next one with the same id and age. Its client sees
// the last attempt only, and the number of those before.
type OneShot struct {
	Call
	commit  commitreq.Commit
	reading *readreq.Reading
	slow    slowFirst
	// locks is for reads under locks on several shards, the baseline; else nil.
	locks *locks
	sharing
	// fingerprint identifies ops in the commit request, 0 before the first one. If the client sends
	// its id again, the last agent compares it with that of the committed operations.
	fingerprint uint64
	// pieceBuf avoids an allocation if there is one piece only.
	pieceBuf [1]piece.Piece
}

// Init initializes a transaction of operations, which it numbers.
func (o *OneShot) Init(gw *Gateway, handle CallHandle, id kv.TxnID, ops []msg.Op, deadline int64, how TxnOptions) {
	o.Kind, o.How, o.Handle, o.ReadOnly = OneShotKind, how, handle, true
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

// Start sends the commit, or the reads. A further attempt keeps its slot.
//
//	condition, in this order             next
//	reads a retained snapshot            the registry is queried first
//	rejected by admission                fails
//	reads a snapshot                     reads at its CSNs
//	writes                               prepare requests and commit request
//	an identical read is not sent yet    shares its result
//	reads, by default                    read
//	reads under locks                    commit request on one shard, else locks
func (o *OneShot) Start(gw *Gateway) Outcome {
	if o.needsLookUp() {
		return gw.lookUpSnapshot(o)
	}
	ps := o.pieces(gw)
	// Admission precedes everything else: a rejected transaction costs the shards nothing.
	f := gw.Admitter.Admit(o, ps)
	switch {
	case f != nil:
		return Failed(f)
	case o.snapshot != nil:
		return o.readPast(gw, ps)
	case !o.ReadOnly:
		return o.sendCommit(gw, ps)
	// Another read has the same result. It finishes this one, or starts it.
	case gw.SharedReads.tryJoin(gw, o):
		return Continue
	case gw.Reads == env.SnapshotReads:
		return o.read(gw, ps)
	case len(ps) == 1:
		return o.sendCommit(gw, ps)
	}
	return o.lockReads(gw)
}

// pieces cuts the operations into a piece per shard. A single piece shares the slice of operations,
// which do not change any more.
//
// Each attempt cuts anew: a redirect of the last one, or a newer list of moved keys, may have changed the placement.
func (o *OneShot) pieces(gw *Gateway) piece.Pieces {
	ps := piece.Pieces(o.pieceBuf[:0])
	shardOf := func(key []byte) kv.ShardID { return gw.shardOf(&o.Call, key) }
	s, one := piece.OnlyShard(o.ops, shardOf)
	if !one {
		ps.Cut(o.ops, gw.Router.Shards(), shardOf)
		return ps
	}
	return append(ps, piece.Piece{Shard: s, Piece: msg.Piece{Ops: o.ops}})
}

// sendCommit commits the pieces. Without writes, it is a read of one step on one shard, which needs
// no fingerprint.
func (o *OneShot) sendCommit(gw *Gateway, ps piece.Pieces) Outcome {
	if o.ReadOnly {
		return gw.sendCommit(o, ps, commitreq.Request{Snapshot: gw.readsUnlocked(), MaxResponse: o.How.MaxResponse})
	}
	if o.fingerprint == 0 {
		o.fingerprint = gw.Fingerprint(o.ops)
	}
	return gw.sendCommit(o, ps, commitreq.Request{Fingerprint: o.fingerprint, MaxResponse: o.How.MaxResponse})
}

// readsUnlocked reports whether a one-shot read of one shard takes no locks.
func (gw *Gateway) readsUnlocked() bool { return gw.Reads == env.SnapshotReads || gw.NoLeases }

// Commit returns the current commit.
func (o *OneShot) Commit() *commitreq.Commit { return &o.commit }

// IsReadOnly reports whether the transaction has no writes.
func (o *OneShot) IsReadOnly() bool { return o.ReadOnly }

// OnCommitResponse handles the decision of the last agent.
func (o *OneShot) OnCommitResponse(gw *Gateway, a *msg.CommitResponse) Outcome {
	d := Done{Committed: true, ResultsLost: a.ResultsLost, LastAgentCSN: msg.ShardCSN{Shard: a.Shard, CSN: a.CSN}}
	switch {
	// A reader of one shard does not register, unless it has to wait for a sealed update: then the
	// queue may be closed.
	case a.Failure != nil && a.Failure.Reason == msg.ReasonClosed:
		return o.OnClosed(gw)
	case a.Failure != nil && a.Failure.Reason == msg.ReasonCommitted:
		// The id has committed before: the client has sent it again, perhaps after a timeout. The results
		// of that commit are no longer stored.
		d.ResultsLost = true
		return Finished(d)
	case !a.Committed:
		return AbortConfirmed(a.Failure)
	}
	if o.ReadOnly && gw.readsUnlocked() {
		d.Plan = env.PlanOneShard
	}
	if !a.ResultsLost {
		d.Results = piece.Join(o.ops, a.Results)
	}
	return Finished(d)
}

// read sends the reads by a read plan (docs/protocol.md, section 7).
func (o *OneShot) read(gw *Gateway, ps piece.Pieces) Outcome {
	plan, last := o.choosePlan(gw, ps)
	switch plan {
	case env.PlanSnapshot:
		gw.requireFrom(&o.Call, ps)
		return o.awaitSnapshot()
	case env.PlanOneShard:
		// One step of one shard is atomic; a commit request without writes returns its reads.
		return o.sendCommit(gw, ps)
	}
	gw.Heat.CountPairs(ps)
	o.register(gw, plan)
	o.reading.Start(gw.Env, ps, last, gw.Shards.IsBusy(last), o.LastRequestRetry())
	return Continue
}

// choosePlan chooses the read plan, and the shard that reads last: the hottest, if updates of its
// keys have waited for readers lately. A reader that reads there last need not register there, so
// two readers of a hot key do not hold each other's updates.
//
//	readers R1, R2 of k and x, registered on both    an update of k is held by R1, then by R2, then by R1 ...
//	the same, k read last and unregistered           an update of k is held for one step at most
func (o *OneShot) choosePlan(gw *Gateway, ps piece.Pieces) (env.Plan, kv.ShardID) {
	forced := o.forcedPlan(gw)
	// One step of one shard needs no plan, whatever is configured.
	if len(ps) == 1 && forced != env.PlanSnapshot {
		return env.PlanOneShard, ps[0].Shard
	}
	last, heat := gw.Heat.Hottest(ps)
	switch {
	case forced != env.PlanAny:
		return forced, last
	case (heat > 0 || last == gw.Hot()) && gw.Shards.HasWaitingUpdates(last):
		return env.PlanHotLast, last
	}
	return env.PlanParallel, last
}

// forcedPlan is the read plan of the request or, without one, of the node's configuration; PlanAny
// is the choice of the gateway.
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
	gw.WakeAt(o.AbortAt())
}

// readPast reads all pieces at the snapshot, without registering.
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

// Reading returns the current reading.
func (o *OneShot) Reading() *readreq.Reading { return o.reading }

// OnRead starts the time after which slow shards are read alone. The reading stores the response.
func (o *OneShot) OnRead(gw *Gateway, _ *msg.ReadResponse, _ []msg.Op, _ int64) { o.slow.onRead(gw) }

// OnRedirect begins a new reading, which looks for the key on its new shard. The client sees no
// abort: a reader that was redirected has returned nothing.
func (o *OneShot) OnRedirect(gw *Gateway, _ kv.ShardID, _ []msg.Op) Outcome {
	// The new reading has a new name, so values of both cannot be mixed.
	gw.endReading(o.reading)
	o.slow = slowFirst{used: o.slow.used}
	var ps piece.Pieces
	ps.Cut(o.ops, gw.Router.Shards(), func(key []byte) kv.ShardID { return gw.shardOf(&o.Call, key) })
	if o.snapshot != nil {
		return o.readPast(gw, ps)
	}
	return o.read(gw, ps)
}

// OnAllRead finishes the transaction. If all leases are valid, no update of what was read has been
// decided since, so all reads are current at this instant.
func (o *OneShot) OnAllRead(gw *Gateway) Outcome {
	if len(o.slow.rest) > 0 {
		return o.readRest(gw)
	}
	// An expired lease proves nothing: an update of a key may have been decided between its read and
	// now, so the reads may be of different instants.
	s, lapsed := o.reading.ExpiredLease(gw.Env)
	if lapsed {
		return Aborted(readreq.ExpiredLeaseFailure(s))
	}
	var parts []msg.Result
	for _, p := range o.reading.Responses() {
		parts = append(parts, p.Results...)
	}
	return Finished(Done{Committed: true, Results: piece.Join(o.ops, parts), Plan: o.reading.Plan})
}

// OnClosed: an update has waited for readers of a key for more than 20 ms, and its shard refuses
// further ones. The reader deregisters on all shards, so that it holds no update meanwhile, and
// reads everything at a snapshot.
func (o *OneShot) OnClosed(gw *Gateway) Outcome {
	gw.endReading(o.reading)
	o.Reset()
	gw.requireFrom(&o.Call, o.pieces(gw))
	return o.awaitSnapshot()
}

// OnSnapshot reads at the snapshot. If a shard that the transaction reads did not respond to the
// round in time, the snapshot has no part of it; the transaction waits for a round that includes
// it.
func (o *OneShot) OnSnapshot(gw *Gateway, p *round.Round) Outcome {
	ps := o.pieces(gw)
	// Such a round responds promptly, by excluding slow shards.
	if o.roundWait.Need == round.Prompt && !covers(&p.Snapshot, ps) {
		o.roundWait.Drop()
		o.requireShards(ps.Shards()...)
		return o.awaitSnapshot()
	}
	gw.readAtRound(&o.Call, p)
	return o.Start(gw)
}

// OnNoSnapshot: no round can begin. Without a forced plan the transaction retries as a registered
// reader, which needs no round.
//
// It pauses first: the queue that has refused it may be open again.
func (o *OneShot) OnNoSnapshot(gw *Gateway, f *msg.Failure) Outcome {
	if shards.IsRoundUnavailable(f) && o.forcedPlan(gw) != env.PlanSnapshot {
		return o.retryRefused(gw, f)
	}
	return Aborted(f)
}

// OnFailure: an operation has failed, or cannot be read.
func (o *OneShot) OnFailure(_ *Gateway, f *msg.Failure) Outcome { return Aborted(o.renumber(f)) }

// OnQueryResponse receives the retained snapshot to read.
func (o *OneShot) OnQueryResponse(gw *Gateway, _, m *msg.Envelope) Outcome {
	return gw.onSnapshotFound(o, msg.As[msg.SnapshotResponse](m))
}

// lockReads reads on several shards under locks, the baseline.
//
// It exists to measure what snapshot-queues save: four message delays instead of two, and readers that block each
// other's updates and may be wounded.
func (o *OneShot) lockReads(gw *Gateway) Outcome {
	o.locks = newLocks()
	o.Phase = Locking
	locked, _ := o.locks.session.NeededReads(o.ops, gw.sessionWhere(&o.Call, nil))
	o.locks.requestLocks(gw, &o.Call, locked, nil)
	return o.onAllLocked(gw)
}

// Requests returns the lock requests, Checks the checks of locks at the end.
func (o *OneShot) Requests() *lockreq.Requests { return &o.locks.requests }
func (o *OneShot) Checks() *lockreq.Checks     { return &o.locks.checks }

// OnLocks records the grants and values of one shard.
func (o *OneShot) OnLocks(gw *Gateway, l *msg.Lock, r *msg.LockResponse) Outcome {
	// The shard has restarted, and has lost the locks that it had granted before.
	if !o.locks.addGrants(r) {
		return Aborted(locksLost())
	}
	o.locks.session.StoreResults(r.Shard, l.Ops, false, r.Results)
	return o.onAllLocked(gw)
}

// onAllLocked executes the operations if every lock has been granted, and checks the locks.
func (o *OneShot) onAllLocked(gw *Gateway) Outcome {
	if o.locks.requests.HasPending() {
		return Continue
	}
	results, f := o.locks.session.Evaluate(o.ops, gw.WallMillis())
	if f != nil {
		return Aborted(f)
	}
	o.locks.results = slices.Clone(results)
	return o.locks.finishReads(gw, o)
}

// OnChecked: all reads under locks were current at one instant.
func (o *OneShot) OnChecked(*Gateway) Outcome {
	return Finished(Done{Committed: true, Results: o.locks.results})
}

// PendingShards lists the shards that have not responded.
func (o *OneShot) PendingShards() []kv.ShardID {
	switch o.Phase {
	case Reading:
		return o.reading.PendingShards()
	case Locking, Checking:
		return o.locks.pendingShards(o.Phase)
	}
	return nil
}

// Shards lists the shards that the attempt has contacted.
func (o *OneShot) Shards() []kv.ShardID {
	switch {
	case o.locks != nil:
		return o.locks.session.Shards()
	case o.reading != nil:
		return o.PendingShards()
	}
	return o.commit.Shards()
}

// Retry retries requests, and renews leases.
func (o *OneShot) Retry(gw *Gateway) Outcome {
	switch o.Phase {
	case Reading:
		if o.reading.Plan != env.PlanSnapshot && o.slow.isDue(gw) {
			return o.readSlowFirst(gw)
		}
		return gw.tickReading(&o.Call, o.reading)
	case Locking, Checking:
		o.locks.retry(gw, &o.Call)
	}
	return Continue
}

// Release drops registrations and locks.
func (o *OneShot) Release(gw *Gateway) {
	gw.endReading(o.reading)
	if o.locks != nil {
		o.locks.release(gw, o.Ref)
	}
}

// Reset forgets the attempt.
func (o *OneShot) Reset() {
	o.reading, o.locks, o.slow = nil, nil, slowFirst{}
	o.commit = commitreq.Commit{}
}

// End deregisters the reading.
func (o *OneShot) End(gw *Gateway, _ *msg.Failure) { gw.endReading(o.reading) }

// ReadCSNs is the CSN of each shard that was read.
func (o *OneShot) ReadCSNs() []msg.ShardCSN {
	switch {
	case o.reading != nil:
		return readCSNs(o.reading)
	case o.locks != nil:
		return o.locks.readCSNs()
	}
	return nil
}

// Claim lists the keys of all operations.
func (o *OneShot) Claim() admission.Claim { return admission.Claim{Ops: o.ops} }

// readCSNs is the CSN of each shard that has responded to a reading.
func readCSNs(r *readreq.Reading) (at []msg.ShardCSN) {
	for _, p := range r.Responses() {
		at = append(at, msg.ShardCSN{Shard: p.Reading.Shard, CSN: p.CSN})
	}
	return at
}
