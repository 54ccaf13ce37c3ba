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
	pinAt int64
	// seen is the state that it had read when it went on at a fixed one.
	seen []msg.ShardCSN
}

// Start is Fetch, and Write, of what has no writes, is Finish.
func (v *View) Start(h *Host) Outcome { return v.Fetch(h) }
func (v *View) Write(h *Host) Outcome { return v.Finish(h) }

// Fetch asks the shards for what the call under way needs to know, or goes on at once.
func (v *View) Fetch(h *Host) Outcome {
	switch {
	case v.unresolved():
		return h.resolve(v)
	case v.seat.Waiting():
		v.Phase = Pinning
		return GoesOn
	}
	wanted, _ := v.session.Wants(v.ops, h.where(&v.Call, nil))
	return v.ask(h, wanted)
}

// ask asks the shards for what the view wants to see, and registers it there.
func (v *View) ask(h *Host, wanted piece.Pieces) Outcome {
	missed, again := h.missed[v.Ref.TxnID]
	if v.reading == nil && v.past == nil && v.pinAt == 0 && (again || h.Now < h.refusedUntil) && h.Shards.NoRound() == nil {
		h.needs(&v.Call, wanted)
		if again { // the attempt before was to read there at a state without that shard
			delete(h.missed, v.Ref.TxnID)
			v.waitsFor(append(wanted.Shards(), missed)...)
		}
		return v.waits()
	}
	if v.reading == nil {
		plan := env.PlanInteractive
		if v.past != nil {
			plan = env.PlanSnapshot
		}
		v.reading = h.newReading(v, plan)
		v.pinBy(h, h.Now+int64(h.OpenBudget))
	}
	v.Phase = Reading
	for i := range wanted {
		p := &wanted[i]
		for j := range p.Ops {
			p.Ops[j].ForUpdate = false
		}
		if v.past != nil {
			f := h.askPast(&v.Call, v.reading, p.Shard, p.Ops)
			if f != nil {
				h.miss(v.Ref.TxnID, p.Shard)
				return Aborted(f)
			}
			continue
		}
		v.reading.Ask(h.Env, p.Shard, &msg.Read{Ops: p.Ops, LeaseNanos: int64(h.Lease)}, v.LastAsk())
	}
	h.Timed(v.EndAt())
	if !v.reading.Open() {
		v.evaluate(h)
	}
	return GoesOn
}

// Reading is the reading under way.
func (v *View) Reading() *readreq.Reading { return v.reading }

// Took takes what was read on one shard. If the view holds an update there it is to hold it no
// longer than the budget, counted from when the first of those that hold it began.
func (v *View) Took(h *Host, p *msg.ReadResponse, ops []msg.Op, sent int64) {
	v.session.Learn(p.Reading.Shard, ops, false, p.Results)
	if p.HeldNanos > 0 {
		v.pinBy(h, sent+int64(h.OpenBudget)-p.HeldNanos)
	}
}

// ReadAll executes the call.
func (v *View) ReadAll(h *Host) Outcome {
	v.evaluate(h)
	return GoesOn
}

// Crowded (docs/protocol.md, section 5, Starvation): where an update has been held for so long
// that views are refused, those that come next would be too, after they have held others. They
// read at a fixed state from the start.
func (v *View) Crowded(h *Host, p *msg.ReadResponse) {
	closed := p.Failure != nil && p.Failure.Reason == msg.ReasonClosed
	if h.OpenBudget >= 0 && (closed || p.HeldNanos >= int64(kv.DefaultHoldBound)) {
		h.refusedUntil = h.Now + int64(h.CrowdFor)
	}
}

// Elsewhere asks for keys where they are. The view stays registered where it is; nothing else
// that it has read has to be read again.
func (v *View) Elsewhere(h *Host, at kv.ShardID, ops []msg.Op) Outcome {
	var wanted piece.Pieces
	for _, op := range ops {
		s := at // which has a part of every range
		if !op.IsRange() {
			s = h.place(&v.Call, op.Key)
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
	return v.ask(h, wanted)
}

// TurnedAway: a shard has told the view to go on at a fixed state.
func (v *View) TurnedAway(h *Host) Outcome {
	v.reading.Left = true
	return v.pin(h)
}

// Refused: a shard has failed a request.
func (v *View) Refused(h *Host, f *msg.Failure) Outcome {
	f = v.ofCall(f)
	if !concludes(h, f) {
		return Aborted(f)
	}
	v.conclude(f, h.Now)
	return v.Finish(h)
}

// Replied takes the snapshot that it is to read at.
func (v *View) Replied(h *Host, _, m *msg.Envelope) Outcome {
	return h.resolved(v, msg.As[msg.SnapshotResponse](m))
}

// Finish ends the view: if its leases stand, all it has read is current now.
func (v *View) Finish(h *Host) Outcome {
	if v.reading != nil {
		s, lapsed := v.reading.Lapsed(h.Env)
		if lapsed && !h.Mutants.Has(mutant.OpenEndUnchecked) {
			return Aborted(readreq.Lapse(s))
		}
	}
	d := Done{Committed: !v.rollback, Plan: env.PlanInteractive, Failure: v.concluded}
	if v.past != nil {
		d.Plan = env.PlanSnapshot
	}
	return Over(d)
}

// pinBy has the view go on at a fixed state from a time, or earlier: 50 ms after it registered
// first, and no later than 50 ms after another reader began to hold what it holds too.
func (v *View) pinBy(h *Host, at int64) {
	if h.OpenBudget < 0 || v.past != nil || v.seat.Waiting() {
		return
	}
	if v.pinAt == 0 || at < v.pinAt {
		v.pinAt = at
	}
	h.Timed(v.pinAt)
}

// pin has a state fixed while the view is still registered. A call that comes meanwhile waits,
// and so does one that is under way: what its reads would come to may be newer than the state,
// and is not used.
func (v *View) pin(h *Host) Outcome {
	v.pinAt = 0
	if v.Phase == Reading {
		v.Phase = Pinning
		v.reading.GiveUp(h.Env)
	}
	if h.Mutants.Has(mutant.OpenLeftBeforePin) {
		h.endReading(v.reading)
		v.reading = nil
	}
	if v.reading != nil {
		o := h.tickLeases(v.reading)
		if !o.Goes() {
			return o
		}
	}
	v.seat.Need = round.Prompt
	return waitsForState
}

// Pinned: the view, which was registered until now, reads at the fixed state from here on and
// holds no update any more. What it has read before was current at the instant of the state.
func (v *View) Pinned(h *Host, p *round.Round) Outcome {
	wanted := v.wantsMore(h, p)
	if len(wanted) > 0 {
		v.seat.Drop()
		v.waitsFor(wanted...)
		return waitsForState
	}
	if v.reading != nil {
		s, lapsed := v.reading.Lapsed(h.Env)
		if lapsed {
			v.seat.Drop()
			return Aborted(readreq.Lapse(s))
		}
		v.seen = seenBy(v.reading)
		h.endReading(v.reading)
		v.reading = nil
	}
	h.readAt(&v.Call, p)
	if v.Phase == Pinning {
		return v.Fetch(h)
	}
	return GoesOn
}

// wantsMore lists the shards on which the call under way reads, if one has no part in the state. A
// view that has read nothing, and so holds nobody, waits for a state in which it has.
func (v *View) wantsMore(h *Host, p *round.Round) []kv.ShardID {
	reads := v.reading != nil && len(v.reading.Replies()) > 0
	if reads || v.Phase != Pinning || v.seat.Need != round.Prompt {
		return nil
	}
	wanted, _ := v.session.Wants(v.ops, h.where(&v.Call, nil))
	if covers(&p.State, wanted) {
		return nil
	}
	return wanted.Shards()
}

// mostMissed bounds the views of which it is remembered which shard they missed. Somewhat arbitrary:
// far more than fail before their clients begin them anew.
const mostMissed = 1024

// miss notes that a view was to read on a shard that has no part in the state at which it reads. When
// its client begins it anew it waits for that shard.
func (h *Host) miss(id kv.TxnID, s kv.ShardID) {
	if len(h.missed) == mostMissed {
		clear(h.missed)
	}
	h.missed[id] = s
}

// Unpinned: there will be no such state. A view that was only to hold no update does not need
// the node for which there is none: it reads on where it is registered, or leaves and begins
// anew.
func (v *View) Unpinned(h *Host, f *msg.Failure) Outcome {
	switch {
	case v.Phase == Idle: // it stays registered
		v.pinAt = h.Now + int64(h.OpenBudget)
		h.Timed(v.pinAt)
		return GoesOn
	case !shards.IsNoRound(f):
		return Aborted(f)
	case v.reading == nil || !v.reading.Left:
		v.pinAt = h.Now + int64(h.OpenBudget)
		return v.Fetch(h)
	case len(v.ops) > 0 && v.ops[0].Seq == 0:
		// It has left a shard, and cannot read on under the same name. Its client has been told
		// nothing yet: it begins anew.
		h.endReading(v.reading)
		v.reading, v.pinAt = nil, 0
		v.session.Unlearn()
		v.BackOff(h.Env, int64(shutPause))
		return GoesOn
	}
	text := "the view cannot continue: other transactions wait for it, " +
		"and no snapshot can be taken to continue at: " + f.Text
	return Aborted(env.Failure(msg.ReasonExhausted, kv.KindUnavailable, text))
}

// Awaits lists the shards that have not answered.
func (v *View) Awaits() []kv.ShardID {
	if v.Phase == Reading {
		return v.reading.Awaits()
	}
	return nil
}

// Shards lists the shards that it has read on.
func (v *View) Shards() []kv.ShardID { return v.session.Shards() }

// Repeat sends again what has no answer, renews leases, and has the view go on at a fixed state
// in time.
func (v *View) Repeat(h *Host) Outcome {
	switch {
	case v.Phase == Idle:
		return v.tickIdle(h)
	case v.Phase == Reading && v.pinDue(h):
		return v.pin(h)
	case v.Phase == Reading:
		v.timedPin(h)
		return h.tickReading(&v.Call, v.reading)
	case v.Phase == Pinning && v.reading != nil: // it stays registered until the state is fixed
		return h.tickReading(&v.Call, v.reading)
	}
	return GoesOn
}

// pinDue reports whether the view is to go on at a fixed state now. It is later if a node is
// down or drains, without which no state can be fixed.
func (v *View) pinDue(h *Host) bool {
	if v.pinAt == 0 || h.Now < v.pinAt {
		return false
	}
	if h.Shards.NoRound() != nil {
		v.pinAt = h.Now + int64(h.OpenBudget)
		return false
	}
	return true
}

func (v *View) tickIdle(h *Host) Outcome {
	o := v.idleTooLong(h)
	if !o.Goes() || v.reading == nil {
		v.timedPin(h)
		return o
	}
	o = h.tickReading(&v.Call, v.reading)
	if o.Goes() && v.pinAt != 0 && h.Now >= v.pinAt {
		return v.pin(h)
	}
	v.timedPin(h)
	return o
}

// timedPin has Tick called when the view is to go on at a fixed state.
func (v *View) timedPin(h *Host) {
	if v.pinAt != 0 {
		h.Timed(v.pinAt)
	}
}

// Release leaves the shards where it is registered, and so does End.
func (v *View) Release(h *Host)             { h.endReading(v.reading) }
func (v *View) End(h *Host, _ *msg.Failure) { h.endReading(v.reading) }

// Seen is the state that it has read.
func (v *View) Seen() []msg.ShardCSN {
	if v.reading == nil {
		return v.seen
	}
	return append(seenBy(v.reading), v.seen...)
}
