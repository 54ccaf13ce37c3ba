package consensus

import (
	"math"
	"slices"

	"go.etcd.io/raft/v3/raftpb"
)

// lease is what a leader knows of the promises to it, in its term.
type lease struct {
	// echoes are the greatest times of sending that the other replicas have acknowledged.
	echoes map[ReplicaID]int64
	// longest is the latest end of a lease in this term. A joint configuration can end the present lease
	// earlier; what earlier ends promised to gateways stays promised (R3.3).
	longest int64
	// since is when the leader last had a lease, or when its term began, which is began.
	since, began int64
}

// promised returns the latest time s such that a majority of the voters has acknowledged a heartbeat that was
// sent at s or later (R3.5). While the configuration is joint, majorities of both sets of voters are needed.
// The leader counts as of now, if it is a voter.
func (l *lease) promised(conf *raftpb.ConfState, self ReplicaID, now int64) int64 {
	s := l.promisedBy(conf.Voters, self, now)
	if len(conf.VotersOutgoing) > 0 {
		s = min(s, l.promisedBy(conf.VotersOutgoing, self, now))
	}
	return s
}

func (l *lease) promisedBy(voters []uint64, self ReplicaID, now int64) int64 {
	var room [8]int64
	times := room[:0]
	for _, id := range voters {
		if ReplicaID(id) == self {
			times = append(times, now)
		} else {
			times = append(times, l.echoes[ReplicaID(id)])
		}
	}
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[(len(times)-1)/2]
}

// LeaseEnd returns when the leader's lease ends, in nanoseconds by its clock, and zero if it has none at a time:
// it is not a leader that has begun, or it transfers leadership. A step of the shard is valid if the clock was
// read after its messages were taken, and the lease ends later than that (R3.6). A registration of a reader must
// not be granted beyond the end (R4.3).
func (r *Replica) LeaseEnd(now int64) int64 {
	if r.Leads() == 0 || r.hasGivenUp() {
		return 0
	} else if !r.rules.needsLease() {
		return math.MaxInt64
	}
	end := r.leaseEnd(now)
	if end <= now {
		return 0
	}
	return end
}

// leaseEnd renews what is known of the lease of a leader.
func (r *Replica) leaseEnd(now int64) int64 {
	s := r.lease.promised(r.rules.counted(&r.handed.Conf, r.cfg.ID), r.cfg.ID, now)
	if s == 0 {
		return 0
	}
	end := s + r.rules.lessMargin(r.cfg.Hold)
	if end > now {
		r.lease.longest = r.rules.longest(r.lease.longest, end)
		r.lease.since = now
		if r.rules.bindsLeader() {
			r.promise.bindSelf(r.term, r.lease.longest)
		}
	}
	return end
}

// IsConfirmed reports whether no other replica led at a time of an earlier step, by the leader's clock: a majority has
// acknowledged a heartbeat that was sent after it. Without leases, an unregistered read of that step may then leave
// (R3.14).
func (r *Replica) IsConfirmed(now, step int64) bool {
	return r.isLeader() && r.rules.isAfter(r.lease.promised(&r.handed.Conf, r.cfg.ID, now), step)
}
