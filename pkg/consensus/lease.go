package consensus

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"go.etcd.io/raft/v3/tracker"
)

// lease is what a leader knows of the promises to it, in its term.
type lease struct {
	// echoes are the greatest times of sending that the other replicas have acknowledged.
	echoes map[ReplicaID]int64
	// reports are what the last responses of the other replicas have reported.
	reports map[ReplicaID]report
	// longest is the latest end of a lease in this term. A joint configuration can end the present lease
	// earlier; what earlier ends promised to gateways stays promised (R3.3).
	longest int64
	// sent is the greatest time of sending of a message of this leader, and point the last one that Point returned.
	sent, point int64
	// since is when the leader last had a lease, or when its term began, which is began.
	since, began int64
}

// report is what a response reports of its sender: when it was sent, by the sender's clock, and whether the sender can
// and wants to lead (Message).
type report struct {
	sent               int64
	declines, starting bool
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
// not be granted beyond the end (R4.3). With Config.NoLeases a leader's end is math.MaxInt64, and proves nothing.
func (r *Replica) LeaseEnd(now int64) int64 {
	if r.Leads() == 0 || r.hasGivenUp() {
		return 0
	} else if r.cfg.NoLeases || !r.rules.needsLease() {
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

// Leadership is what a leader relies on besides its lease: confirmations, if there are no leases, and its clock.
type Leadership struct{ r *Replica }

// Leadership returns it.
func (r *Replica) Leadership() Leadership { return Leadership{r} }

// Point returns the point of the present step among the messages of this leader, for IsConfirmed: the times of sending
// of those before are not above it, and those of later ones are. So it relies on no clock.
func (l Leadership) Point() int64 {
	lease := &l.r.lease
	lease.point = max(lease.point, lease.sent)
	return lease.point
}

// sendingTime is the time of sending of a message of this leader.
func (l *lease) sendingTime(now int64) int64 {
	t := max(now, l.point+1)
	l.sent = max(l.sent, t)
	return t
}

// Beat sends heartbeats now, although none may be due: a response waits for IsConfirmed. The next one is due when it
// was: with it the leader does what it does from time to time (tickLeader), however often responses wait.
func (l Leadership) Beat(now int64) {
	r := l.r
	if !r.isLeader() {
		return
	}
	r.now = now
	r.raw.Tick()
}

// IsConfirmed reports whether no replica had been elected in a later term at the point of a step: a majority has
// acknowledged a heartbeat of this term that was sent after it. Without leases, what the step reports of the present
// may then leave (R3.14).
func (l Leadership) IsConfirmed(point int64) bool {
	r := l.r
	return r.isLeader() && r.rules.isAfter(r.lease.promised(&r.handed.Conf, r.cfg.ID, math.MaxInt64), point)
}

// SetClockOff sets whether the rate of this node's clock is off (Clocks.IsOwnOff). If it is, the replica transfers
// leadership with the next Tick, or steps down, and does not campaign (R10.8). With Config.NoLeases it is not called.
func (l Leadership) SetClockOff(off bool) { l.r.clockOff = off }

// resign ends the leadership of a replica whose clock is off. The transfer entry states for how long registrations may
// be valid: 2 % are within the margin.
func (l Leadership) resign() {
	r := l.r
	if r.Transfer(r.now, r.Changes().Successor(), RegisteredUnknown) != nil {
		r.StepDown(r.now, r.term+1)
	}
	r.Causes.Lost = ClockOff
}

// ErrNoLease is the error of a transfer by a leader that has no lease. It cannot say how long registrations that
// it granted are valid, so it appends no transfer entry; the caller calls StepDown or waits.
var ErrNoLease = errors.New("this leader has no lease at present")

// ErrNotVoter is the error of a transfer to a replica that is no voter, or unfit.
var ErrNotVoter = errors.New("leadership can be transferred only to a voter that is fit")

// transfer is a leader's transfer of leadership. It never ends within the term: whatever becomes of it, the
// leader serves no more (R5.1). Otherwise the message of R5.3, which may arrive late, makes a second leader
// beside it.
type transfer struct {
	to ReplicaID
	// entry is the position of the transfer entry, and since is when it was proposed. Both are zero without one.
	entry Position
	since int64
}

// hasFailed reports whether no replica has taken over in time. The leader then steps down: its heartbeats would
// prevent every election (R5.6).
func (t *transfer) hasFailed(now int64, limit time.Duration) bool {
	return t.entry != 0 && now >= t.since+int64(limit)
}

// RegisteredUnknown says that readers may be registered until the longest lease of the term ends (R3.3).
const RegisteredUnknown = math.MaxInt64

// Transfer gives up the lease and the leadership of the shard for another voter. The last entry states how long
// registrations of readers may still be valid (R5.2): until registered, the last end of those that this leader has
// granted, by the node's clock, 0 if there are none, or RegisteredUnknown; or until what the previous leader's window
// has left, if that is longer. Without the latter, two transfers within one lease forget the first leader's readers.
//
// The caller drops its machine when the entry is proposed. It learns the next leader from that one's heartbeats.
func (r *Replica) Transfer(now int64, to ReplicaID, registered int64) error {
	r.now = now
	switch {
	case r.Leads() == 0 || r.transfer.entry != 0:
		return ErrNotLeader
	case r.LeaseEnd(now) == 0:
		return ErrNoLease
	case to == r.cfg.ID || !r.handed.IsVoter(to) || !r.Damage().isFit(to):
		return ErrNotVoter
	}
	switch {
	case r.cfg.NoLeases: // no reader relies on a registration
		registered = 0
	case registered == RegisteredUnknown:
		registered = r.lease.longest
	}
	window := max(r.rules.windowOfReaders(registered, now), r.windowLeft())
	at, err := r.propose(transferred, encodeWindow(window))
	if err != nil {
		return err
	}
	r.transfer = transfer{to: to, entry: at, since: now}
	return nil
}

// hasGivenUp reports whether the leader transfers leadership, and so has no lease, or has stopped the shard.
func (r *Replica) hasGivenUp() bool {
	return r.transfer.entry != 0 && r.rules.endsLeaseAtTransfer() || r.audit.stopped
}

// askToCampaign asks the next leader to campaign once the transfer entry is committed. Raft waits until the
// other one has the whole log.
func (r *Replica) askToCampaign() {
	if r.transfer.entry != 0 && r.isLeader() && r.commit >= r.transfer.entry {
		r.raw.TransferLeader(uint64(r.transfer.to))
	}
}

// mayTakeOver reports whether the replica campaigns because the leader of a term has asked it to. That leader
// has given up its lease, so promises to it end, here and at the voters (R5.4).
func (r *Replica) mayTakeOver(of Term) bool {
	if of < r.term {
		return false
	}
	r.promise.end(of)
	r.campaign.of = of
	return r.now >= r.promise.ends() && !r.Damage().isBarred() && !r.rules.hasNoLease(r.clockOff)
}

// isTransfer reports whether a vote request is of a campaign that the leader of a term has asked for.
func isTransfer(m *raftpb.Message, of Term) bool {
	return m.Type == raftpb.MsgVote && len(m.Context) > 0 && Term(m.Term) == of+1
}

// Follower is what a leader knows of another replica of its group.
type Follower struct {
	ID ReplicaID
	// Has is the position up to which the replica has the leader's log on its disk.
	Has Position
	// Responded is when the last heartbeat was sent that the replica has acknowledged in this term, in nanoseconds by the
	// leader's clock; 0 if there is none.
	Responded int64
	// IsCurrent: it has what the log was at most about a second ago. In the first second of a term it is false.
	IsCurrent bool
	// Declines: it wants no leadership, as its node drains or its disk is slow or nearly full.
	Declines bool
	// Starting: it has started less than Config.MaxHold ago, and cannot take over (R3.2).
	Starting bool
}

// Followers returns the other replicas in the order of their numbers, learners included. Only a leader has some.
func (r *Replica) Followers() (all []Follower) {
	if !r.isLeader() {
		return nil
	}
	r.raw.WithProgress(func(id uint64, _ raft.ProgressType, pr tracker.Progress) {
		if other := ReplicaID(id); other != r.cfg.ID {
			last := r.lease.reports[other]
			all = append(all, Follower{ID: other, Has: Position(pr.Match), Responded: r.lease.echoes[other],
				IsCurrent: r.steps.past.has(Position(pr.Match)), Declines: last.declines, Starting: last.starting})
		}
	})
	slices.SortFunc(all, func(a, b Follower) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
