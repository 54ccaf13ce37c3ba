package shards

import (
	"maps"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// probedShard is a shard that did not respond in time, to a round or to a commit. A round leaves it out until it has
// answered a probe in time and RoundTimes.LeftOut has passed.
//
// Late responses have two possible causes, with opposite consequences. If many messages wait for the shard, it should
// decide more: its keys are contended. If its log is slow, it should decide nothing: the keys of other shards stay
// locked until its decision is durable. So a probe has two responses, at once and when the log is durable, and only
// the time between them counts:
//
//	gateway                  shard                        log
//	├─ probe 1 ─────────────▶│ (may wait in a queue)      │
//	│◀─ at once ─────────────┼─ append ──────────────────▶│
//	│     this time counts   │                            │
//	│◀─ durable ─────────────┤◀───────────────────────────┤
type probedShard struct {
	// suspected: a commit has waited long for its decision, but rounds do not leave it out.
	suspected bool
	// since is the begin of this state; until is its earliest end.
	since, until int64
	// probe is a read without operations; nil after a response in time. sent is when it was sent last, answered when the
	// last response arrived.
	probe          *msg.Envelope
	sent, answered int64
	// echoed is when the first response to probe number echo arrived, if its second one is missing; else 0. durable is
	// the largest number with a second response.
	echoed        int64
	echo, durable uint32
	retry         env.Retry
}

// startProbe begins to probe a shard.
func (s *Shards) startProbe(of kv.ShardID) *probedShard {
	x := &probedShard{probe: msg.ToShard(of)}
	x.probe.Body = &msg.Read{Reader: s.env.NewReader(s.env.NewID().Affinity()), Gateway: s.env.Node, Probe: true}
	s.sendProbe(x)
	s.env.StartSteadyRetry(&x.retry, probeInterval, 0)
	s.probing[of] = x
	return x
}

// sendProbe sends a probe with the next number, so that a late response to an earlier one is recognized.
func (s *Shards) sendProbe(x *probedShard) {
	again, q := *x.probe, *msg.As[msg.Read](x.probe)
	q.Number++
	again.Body = &q
	x.probe, x.sent = &again, s.env.Now
	s.env.Send(x.probe)
}

// LeaveOut makes rounds leave out a shard that did not respond in time. It reports false if they do so already.
//
//	round    s1 is silent for 30 ms: the round ends without it
//	500 ms   rounds do not contact s1, so that its silence does not block writers for 30 ms each time
//	then     until s1 answers a probe within 30 ms, durably, or restarts
func (s *Shards) LeaveOut(now int64, of kv.ShardID) bool {
	s.env.AdvanceTo(now)
	if !s.canLeaveOut(of) {
		return false
	}
	x := s.probing[of]
	if x == nil {
		x = s.startProbe(of)
	}
	x.suspected, x.since, x.until = false, s.env.Now, s.env.Now+int64(s.env.Round.LeftOut)
	return true
}

// Suspect begins to probe a shard whose decision a commit has waited for. The probe finds out whether its
// log is slow.
//
// A late decision has many possible causes: only if the probe finds the log slow does the shard get a penalty.
func (s *Shards) Suspect(is kv.ShardID) {
	if s.probing[is] == nil {
		x := s.startProbe(is)
		x.suspected, x.since = true, s.env.Now
	}
}

// IsLeftOut reports whether rounds leave out a shard.
func (s *Shards) IsLeftOut(is kv.ShardID) bool {
	x := s.probing[is]
	switch {
	case x == nil, x.suspected:
		return false
	case s.isServed(x):
		delete(s.probing, is)
		return false
	}
	return true
}

// undecidedFor is for how long no round waits for a shard that did not fix its CSN while a node was down. The value
// is somewhat arbitrary: each such round holds the shard's updates for RoundTimes.Lease.
const undecidedFor = time.Second

// OnUndecided records that shards did not fix their CSNs while a node is down. Their sealed updates may wait for
// decisions of that node until it is back, and a round that waits for these shards holds all other updates there. It
// returns WhyNoRoundOf these shards.
func (s *Shards) OnUndecided(are []kv.ShardID) *msg.Failure {
	for _, sh := range are {
		s.shard[sh].undecidedUntil = s.env.Now + int64(undecidedFor)
	}
	return s.WhyNoRoundOf(are)
}

// WhyNoRoundOf returns why no round waits for these shards now, nil if one can.
func (s *Shards) WhyNoRoundOf(need []kv.ShardID) *msg.Failure {
	if len(s.down) == 0 {
		return nil
	}
	for _, sh := range need {
		if s.env.Now >= s.shard[sh].undecidedUntil {
			continue
		}
		first := slices.Min(slices.Collect(maps.Keys(s.down)))
		what, state := s.Outage(first)
		text := "no snapshot of shard " + sh.String() + " can be taken: it may wait for decisions of " + what +
			", which " + state
		f := env.Failure(msg.ReasonExhausted, kv.KindUnavailable, text)
		f.Down = s.down[first].node
		return f
	}
	return nil
}

// IsSilent reports whether a left-out shard has not answered its probe in time.
//
// A round for such a shard registers it first, so that the others are not held for as long as it is silent.
func (s *Shards) IsSilent(is kv.ShardID) bool {
	x := s.probing[is]
	return x != nil && x.probe != nil && !x.suspected
}

// NoneLeftOut reports whether no shard is left out or probed.
func (s *Shards) NoneLeftOut() bool { return len(s.probing) == 0 }

// OnProbeResponse handles a response to a probe, and reports whether it is one. TickProbes sends another one if it
// is late.
func (s *Shards) OnProbeResponse(p *msg.ReadResponse) bool {
	of := p.Reading.Shard
	x := s.probing[of]
	if x == nil || x.probe == nil || msg.As[msg.Read](x.probe).Reader != p.Reader {
		return false
	}
	if s.hasBeenSilent(x) {
		s.startPenalty(of, x.lastResponse())
	}
	x.answered = s.env.Now
	switch {
	case p.Immediate && x.echoed == 0 && p.Number > x.durable:
		x.echo, x.echoed = p.Number, s.env.Now
	case p.Immediate:
	default:
		s.onDurable(of, x, p.Number)
	}
	return true
}

// onDurable handles the second response to a probe: the log that the shard had appended when it received it
// is durable.
func (s *Shards) onDurable(of kv.ShardID, x *probedShard, number uint32) {
	x.durable = max(x.durable, number)
	if x.echoed != 0 && number >= x.echo {
		s.evaluateLog(of, x.echoed)
		x.echoed = 0
	}
	switch {
	case x.suspected:
		delete(s.probing, of)
	case number == msg.As[msg.Read](x.probe).Number && s.env.Now-x.sent <= int64(s.env.Round.Wait):
		x.probe = nil
		s.env.WakeAt(x.until)
	}
}

const (
	// probeInterval is the time between two probes. The value is somewhat arbitrary: far less than the least time for
	// which a shard is left out.
	probeInterval = 100 * time.Millisecond
	// A log is slow if its second response is slowLog late once, or lateLog late in maxLateProbes probes in a row. The
	// values are somewhat arbitrary: a node with saturated cores appends for 100 ms now and then, and a shard that does
	// not decide makes its contended keys slower than such a log does.
	lateLog, maxLateProbes, slowLog = 150 * time.Millisecond, 3, 500 * time.Millisecond
	// After silentAfter without a response a shard is not chosen to decide. The value is somewhat arbitrary: requests
	// queue for less, since a node admits no more than it can execute in that time.
	silentAfter = time.Second
	// minPenalty and maxPenalty bound the time for which a slow shard is not chosen to decide. It doubles when the shard
	// is slow again within relapseWithin. The values are somewhat arbitrary: an update that such a shard decides keeps
	// keys of other shards locked for as long as the disk takes.
	minPenalty, maxPenalty, relapseWithin = time.Second, 30 * time.Second, 2 * time.Second
)

// lastResponse is the time of the last response of a shard, or of the begin of probing.
func (x *probedShard) lastResponse() int64 { return max(x.since, x.answered) }

func (s *Shards) hasBeenSilent(x *probedShard) bool {
	return s.env.Now-x.lastResponse() >= int64(silentAfter)
}

// evaluateLog evaluates the time between the two responses to a probe; the first one arrived at since.
func (s *Shards) evaluateLog(of kv.ShardID, since int64) {
	k := &s.shard[of]
	switch delay := time.Duration(s.env.Now - since); {
	case delay < lateLog:
		k.lateProbes = 0
		return
	case delay < slowLog && k.lateProbes+1 < maxLateProbes:
		k.lateProbes++
		return
	}
	s.startPenalty(of, since)
}

// startPenalty excludes a shard that was slow since a time from deciding, if another shard can. It does so for some
// time beyond the next fast response: a disk that is slow under load is fast while nothing is written.
func (s *Shards) startPenalty(is kv.ShardID, since int64) {
	k := &s.shard[is]
	if k.penalty == 0 || since > k.slowUntil+int64(relapseWithin) {
		k.penalty = int64(minPenalty)
	} else {
		k.penalty = min(2*k.penalty, int64(maxPenalty))
	}
	k.slowUntil = s.env.Now + k.penalty
}

// CanDecide reports whether a shard is suitable as a last agent: its log is not slow and has no penalty.
//
// It affects speed only: if no other shard of the transaction can decide, a slow one does.
func (s *Shards) CanDecide(of kv.ShardID) bool {
	x := s.probing[of]
	switch {
	case s.env.Now < s.shard[of].slowUntil:
		return false
	case x == nil || x.probe == nil:
		return true
	}
	return !s.hasBeenSilent(x) && (x.echoed == 0 || s.env.Now-x.echoed < int64(slowLog))
}

// onRestart drops the history of a shard: it does not apply to the new incarnation.
func (s *Shards) onRestart(is kv.ShardID) {
	delete(s.probing, is)
	s.shard[is].lateProbes, s.shard[is].penalty, s.shard[is].slowUntil = 0, 0, 0
	if s.env.Replicated {
		s.env.OnLeader()
	}
}

// TickProbes sends the probes that are due.
func (s *Shards) TickProbes() {
	for _, sh := range s.env.EveryShard() {
		x := s.probing[sh]
		if x == nil {
			continue
		}
		switch {
		case x.probe == nil:
			if s.env.Now < x.until {
				s.env.WakeAt(x.until)
			}
		case s.env.IsDue(&x.retry, 0):
			s.sendProbe(x)
		}
	}
}
