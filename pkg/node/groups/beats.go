package groups

import (
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Heartbeats of all groups leave together, and so do the responses: one message for a pair of nodes (R7.3).
//
//	leaders' node                                         followers' node
//	every Hold/beatGrains: all replicas that lead tick ─▶ the goroutine of the connection passes them to the replicas
//	the goroutine of the connection counts them       ◀─ their responses
//
// A replica that is in a turn is woken instead, and does the same in its next turn. So no turn delays the heartbeats of
// other groups, and an idle group needs no goroutine.

// beats is what a replica does without a turn.
type beats struct{ *replica }

// beatGrains is how many times within D leaders send heartbeats, and heartbeatShare the share of D after which one is
// due: a little less, so that none misses the next time.
const (
	beatGrains     = 8
	heartbeatShare = 10
)

// beat has the replicas that lead send their heartbeats.
func (s *Set) beat() {
	grain := time.Duration(int64(s.opt.Hold) / beatGrains)
	for {
		now := s.opt.Clock.Now()
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(max(grain-time.Duration(now)%grain, minSleep)):
		}
		var out outgoing
		for _, r := range s.replicas {
			beats{r}.try(&out)
		}
		s.send(&out)
	}
}

// send is the turn of a leader without messages, ends and steps.
func (r beats) send(now int64) {
	if r.rep != nil && r.Machine() != nil {
		r.inform(now)
		r.tick(now)
		r.truncate(now)
		change(r).step(now)
	}
}

// inform has the replica know its node's disk, its clock, and whether it drains: before anything else of a turn.
func (r *replica) inform(now int64) {
	g := r.rep.Group()
	g.Disk.Set(r.set.diskBusy(now), r.set.diskLow.Load())
	g.Leadership().SetClockOff(r.set.clocks.isOwnOff(r.peers))
	g.Declines = r.set.declines.Load()
}

// tick lets the replica do what is due.
func (r *replica) tick(now int64) {
	r.rep.Group().Tick(now)
	r.past.observe(r.rep.Group())
	r.perform(now)
}

// try calls send and adds what is to be sent to out, or wakes the replica if that is in a turn.
func (r beats) try(out *outgoing) {
	if !r.TryLock() {
		r.Wake()
		return
	}
	led := r.Machine() != nil
	r.send(r.set.opt.Clock.Now())
	r.leave(out, led)
}

// leave unlocks the replica. If it has just ceased to lead, its next turn is due earlier than it knows.
func (r beats) leave(out *outgoing, led bool) {
	if led && r.Machine() == nil {
		r.Wake()
	}
	out.take(&r.out)
	r.Unlock()
}

// receive passes messages of a node to the replica: at once, if it can, or to its next turn.
func (r beats) receive(out *outgoing, from kv.NodeID, msgs []consensus.Message) {
	if areBeats(msgs) && r.TryLock() {
		led := r.Machine() != nil
		done := r.receiveNow(from, msgs)
		r.leave(out, led)
		if done {
			return
		}
	}
	r.in.receive(from, msgs)
	r.Wake()
}

// receiveNow passes heartbeats or responses to heartbeats to the replica, unless something else waits for its turn,
// or it may begin to lead or to serve: that takes longer.
func (r beats) receiveNow(from kv.NodeID, msgs []consensus.Message) (done bool) {
	if r.rep == nil || !r.in.isEmpty() {
		return false
	}
	now := r.set.opt.Clock.Now()
	lead, _ := r.rep.Group().Leader()
	follows, serves := lead == msgs[0].From, r.Machine() != nil && r.rep.LeaseEnd(now) != 0
	if !follows && !serves {
		return false
	}
	r.inform(now)
	for i := range msgs {
		r.replica.receive(now, &received{from: from, message: &msgs[i]})
	}
	r.perform(now)
	return true
}

// areBeats reports whether messages are heartbeats or responses to heartbeats only.
func areBeats(msgs []consensus.Message) bool {
	for i := range msgs {
		if t := msgs[i].Raft.Type; t != raftpb.MsgHeartbeat && t != raftpb.MsgHeartbeatResp || msgs[i].Gone {
			return false
		}
	}
	return true
}

// take moves what is to be sent, except messages that are forwarded: only turns have these.
func (o *outgoing) take(from *outgoing) {
	o.envelopes = append(o.envelopes, from.envelopes...)
	for to, msgs := range from.replicas {
		o.post(to, msgs...)
	}
	from.envelopes, from.replicas = nil, nil
}
