package shards

import (
	"maps"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/mutant"
	"github.com/linchpindb/linchpin/pkg/txn/env"
)

// leftOut is a shard that did not answer in time: a round, which leaves it out until it has answered a
// probe in time and RoundTimes.LeftOut has passed, or a commit.
//
// That it answers late may have two causes. Where many messages wait for a shard it should decide all
// the more, since its keys are contended. Where its log is slow it should not: what it has decided
// keeps the keys of other shards locked until that is durable. So a probe is answered twice, at once and
// when the log is durable, and only the time between the two counts.
type leftOut struct {
	// suspected: it is not left out of rounds, but a commit awaits its decision for long.
	suspected bool
	// since is from when it is left out, until when it may be back.
	since, until int64
	// probe is a read of nothing; nil once it is answered in time. sent is when it was sent last,
	// answered when the last answer came.
	probe          *msg.Envelope
	sent, answered int64
	// echoed is when the probe with the number echo was answered at once, if its log was not durable
	// since; else 0. durable is the greatest number with which it was.
	echoed        int64
	echo, durable uint32
	retry         env.Retry
}

// probe sends a shard a probe.
func (s *Shards) probe(of kv.ShardID) *leftOut {
	x := &leftOut{probe: msg.ToShard(of)}
	x.probe.Body = &msg.Read{Reader: s.env.NewReader(s.env.NewID().Affinity()), Gateway: s.env.Node, Probe: true}
	s.sendProbe(x)
	s.env.StartSteady(&x.retry, probeEvery, 0)
	s.out[of] = x
	return x
}

// sendProbe sends a probe under its next number: one that was sent before may be answered late.
func (s *Shards) sendProbe(x *leftOut) {
	again, q := *x.probe, *msg.As[msg.Read](x.probe)
	q.Number++
	again.Body = &q
	x.probe, x.sent = &again, s.env.Now
	s.env.Send(x.probe)
}

// LeaveOut notes that a shard did not answer a round in time, and reports whether that is news.
func (s *Shards) LeaveOut(now int64, of kv.ShardID) bool {
	s.env.At(now)
	if s.IsLeftOut(of) || s.env.Mutants.Has(mutant.LeftOutForgotten) {
		return false
	}
	x := s.out[of]
	if x == nil {
		x = s.probe(of)
	}
	x.suspected, x.since, x.until = false, s.env.Now, s.env.Now+int64(s.env.Round.LeftOut)
	return true
}

// Suspect notes that a commit awaits a shard's decision for long. That may have many causes: a probe
// finds out whether its log is slow.
func (s *Shards) Suspect(is kv.ShardID) {
	if s.out[is] == nil {
		x := s.probe(is)
		x.suspected, x.since = true, s.env.Now
	}
}

// IsLeftOut reports whether a shard did not answer in time, and has not been back since.
func (s *Shards) IsLeftOut(is kv.ShardID) bool {
	x := s.out[is]
	switch {
	case x == nil, x.suspected:
		return false
	case x.probe == nil && (s.env.Now >= x.until || s.env.Mutants.Has(mutant.LeftOutBackAtOnce)):
		delete(s.out, is)
		return false
	}
	return true
}

// undecidedFor is for how long no round waits for a shard that did not fix its state while a node was
// down. Somewhat arbitrary: a round holds the shard's updates for RoundTimes.Lease each time.
const undecidedFor = time.Second

// Undecided notes that shards did not fix their states while a node is down: their sealed updates may
// wait for decisions of that node, until it is back, and a round that waited with them would hold all
// other updates there. It gives NoRoundOf these shards.
func (s *Shards) Undecided(are []kv.ShardID) *msg.Failure {
	for _, sh := range are {
		s.shard[sh].undecidedUntil = s.env.Now + int64(undecidedFor)
	}
	return s.NoRoundOf(are)
}

// NoRoundOf says why no round waits for these shards now, nil if one can.
func (s *Shards) NoRoundOf(need []kv.ShardID) *msg.Failure {
	if len(s.down) == 0 {
		return nil
	}
	for _, sh := range need {
		if s.env.Now >= s.shard[sh].undecidedUntil {
			continue
		}
		n := slices.Min(slices.Collect(maps.Keys(s.down)))
		text := "no snapshot of shard " + sh.String() + " can be taken: it may wait for decisions of node " + n.String() + ", which is down"
		f := env.Failure(msg.ReasonExhausted, kv.KindUnavailable, text)
		f.Down = n
		return f
	}
	return nil
}

// IsSilent reports whether a shard that is left out has not answered its probe in time.
func (s *Shards) IsSilent(is kv.ShardID) bool {
	x := s.out[is]
	return x != nil && x.probe != nil && !x.suspected
}

// NoneLeftOut reports whether no shard was left out lately.
func (s *Shards) NoneLeftOut() bool { return len(s.out) == 0 }

// Probed takes an answer to a probe, and reports whether it is one. A shard that answers late is sent
// another one by TickProbes.
func (s *Shards) Probed(p *msg.ReadResponse) bool {
	of := p.Reading.Shard
	x := s.out[of]
	if x == nil || x.probe == nil || msg.As[msg.Read](x.probe).Reader != p.Reader {
		return false
	}
	if s.unheard(x) {
		s.punish(of, x.heard())
	}
	x.answered = s.env.Now
	switch {
	case p.AtOnce && x.echoed == 0 && p.Number > x.durable:
		x.echo, x.echoed = p.Number, s.env.Now
	case p.AtOnce:
	default:
		s.durable(of, x, p.Number)
	}
	return true
}

// durable notes that the log is durable that was written when a probe came.
func (s *Shards) durable(of kv.ShardID, x *leftOut, number uint32) {
	x.durable = max(x.durable, number)
	if x.echoed != 0 && number >= x.echo {
		s.judge(of, x.echoed)
		x.echoed = 0
	}
	switch {
	case x.suspected:
		delete(s.out, of)
	case number == msg.As[msg.Read](x.probe).Number && s.env.Now-x.sent <= int64(s.env.Round.Wait):
		x.probe = nil
		s.env.Timed(x.until)
	}
}

const (
	// probeEvery is the time between two probes of a shard that has not answered one in time. Somewhat
	// arbitrary: far less than the time for which it is left out at least.
	probeEvery = 100 * time.Millisecond
	// lateLog is how late a log is that is slow if it is so lateTimes probes in a row; slowLog is how
	// late one is that is slow if it is so once. Somewhat arbitrary: a node whose cores are saturated
	// appends for 100 ms now and then, and a shard that decides nothing for that reason makes its
	// contended keys slower than such a log does.
	lateLog, lateTimes, slowLog = 150 * time.Millisecond, 3, 500 * time.Millisecond
	// silentFor is from when on a shard that answers nothing is not awaited. Somewhat arbitrary:
	// requests queue up for less, since a node admits no more than it can execute in that time.
	silentFor = time.Second
	// leastPenalty and mostPenalty are for how long a slow shard decides nothing when it is back, which
	// doubles each time that it is slow again within relapse. Somewhat arbitrary: an update that it
	// decides keeps keys of other shards locked for as long as the disk takes.
	leastPenalty, mostPenalty, relapse = time.Second, 30 * time.Second, 2 * time.Second
)

// heard is when a shard was heard of last, as far as that matters.
func (x *leftOut) heard() int64 { return max(x.since, x.answered) }

func (s *Shards) unheard(x *leftOut) bool { return s.env.Now-x.heard() >= int64(silentFor) }

// judge notes how long a log took to be durable that was written when a probe came.
func (s *Shards) judge(of kv.ShardID, since int64) {
	k := &s.shard[of]
	switch took := time.Duration(s.env.Now - since); {
	case took < lateLog:
		k.late = 0
		return
	case took < slowLog && k.late+1 < lateTimes:
		k.late++
		return
	}
	s.punish(of, since)
}

// punish has a shard that was slow since a time decide nothing for a while if another shard can: a disk
// that is slow under load answers at once when nothing is written.
func (s *Shards) punish(is kv.ShardID, since int64) {
	k := &s.shard[is]
	if k.penalty == 0 || since > k.slowUntil+int64(relapse) {
		k.penalty = int64(leastPenalty)
	} else {
		k.penalty = min(2*k.penalty, int64(mostPenalty))
	}
	k.slowUntil = s.env.Now + k.penalty
}

// MayDecide reports whether a shard is as good as any to decide: its log is not slow, and was not
// lately.
func (s *Shards) MayDecide(of kv.ShardID) bool {
	x := s.out[of]
	switch {
	case s.env.Now < s.shard[of].slowUntil:
		return false
	case x == nil || x.probe == nil:
		return true
	}
	return !s.unheard(x) && (x.echoed == 0 || s.env.Now-x.echoed < int64(slowLog))
}

// restarted forgets that a shard was slow: its new incarnation has not been yet.
func (s *Shards) restarted(is kv.ShardID) {
	delete(s.out, is)
	s.shard[is].late, s.shard[is].penalty, s.shard[is].slowUntil = 0, 0, 0
}

// TickProbes sends again the probes that have no answer in time.
func (s *Shards) TickProbes() {
	for _, sh := range s.env.EveryShard() {
		x := s.out[sh]
		if x == nil {
			continue
		}
		switch {
		case x.probe == nil:
			if s.env.Now < x.until {
				s.env.Timed(x.until)
			}
		case s.env.Due(&x.retry, 0):
			s.sendProbe(x)
		}
	}
}
