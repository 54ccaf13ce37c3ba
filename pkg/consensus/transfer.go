package consensus

import (
	"errors"
	"math"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"
)

// ErrNoLease is the error of a transfer by a leader that has no lease. It cannot say how long registrations that
// it granted are valid, so it appends no transfer entry; the caller calls StepDown or waits.
var ErrNoLease = errors.New("this leader has no lease at present")

// ErrNotVoter is the error of a transfer to a replica that is no voter.
var ErrNotVoter = errors.New("leadership can be transferred only to a voter")

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
	case to == r.cfg.ID || !slices.Contains(r.handed.Conf.Voters, uint64(to)):
		return ErrNotVoter
	}
	if registered == RegisteredUnknown {
		registered = r.lease.longest
	}
	window := max(r.rules.windowOfReaders(registered, now), r.windowLeft())
	at, err := r.propose(transferred, encodeWindow(window))
	if err != nil {
		return err
	}
	r.transfer = transfer{to: to, entry: at, since: now}
	r.askToCampaign()
	return nil
}

// hasGivenUp reports whether the leader transfers leadership, and so has no lease.
func (r *Replica) hasGivenUp() bool { return r.transfer.entry != 0 && r.rules.endsLeaseAtTransfer() }

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
	r.campaignFor = of
	return r.now >= r.promise.ends() && !r.unfit
}

// isTransfer reports whether a vote request is of a campaign that the leader of a term has asked for.
func isTransfer(m *raftpb.Message, of Term) bool {
	return m.Type == raftpb.MsgVote && len(m.Context) > 0 && Term(m.Term) == of+1
}
