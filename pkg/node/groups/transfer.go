package groups

import (
	"context"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// holdersTimeout is for how long a leader that transfers leadership waits for the holders of locks (R14.3).
const holdersTimeout = 200 * time.Millisecond

// cause is why a node transfers leadership.
type cause int

const (
	// causeDrain: the node drains. causeBalance: another node should lead. causeChange: the replica is to be removed.
	// causeDisk: the log's writes are late (R10.9), or the disk is nearly full.
	causeDrain cause = iota
	causeBalance
	causeChange
	causeDisk
	numCauses
)

// Causes are the names of the causes of transfers of leadership, as in Stats.Transfers.
var Causes = [numCauses]string{"drain", "balance", "change", "slow or nearly full disk"}

// handover is a transfer of leadership that is wanted, and happens at a time at the latest.
type handover struct {
	wanted bool
	by     int64
	cause  cause
	// to is the node that is to lead, 0 for any.
	to kv.NodeID
	// registeredBy is when it waits for long registrations no longer. withholds: it waits only for the holders of locks,
	// and no others are granted. readersBy, unless it is 0: it waits only for open readers until then, and no others are
	// registered.
	registeredBy int64
	withholds    bool
	readersBy    int64
}

// transferLater has the leader of the shard transfer leadership to the replica on a node, 0 for any, as soon as no
// interactive transaction holds locks, or after holdersTimeout. It does nothing if this node does not lead. A drain
// goes before another transfer that waits.
func (r *replica) transferLater(why cause, to kv.NodeID) {
	r.endLater(func(now int64) {
		if r.Machine() == nil || r.handover.wanted && why != causeDrain {
			return
		}
		if !r.handover.wanted {
			r.handover = handover{wanted: true, by: now + int64(holdersTimeout)}
		}
		r.handover.cause, r.handover.to = why, to
		r.wakeAt = min(r.wakeAt, now)
	})
}

// transfer is a leader that may be about to transfer leadership.
type transfer struct{ *replica }

// try transfers leadership if that is wanted and may happen now. What the machine has written is proposed
// before the transfer entry, and it ends.
func (r transfer) try(now int64) {
	if !r.handover.wanted || r.Machine() == nil || r.awaitReaders(now) {
		return
	}
	if now < r.handover.by && r.Machine().HasLockHolders() {
		r.wakeAt = min(r.wakeAt, r.handover.by)
		return
	}
	if r.awaitOpenReaders(now) {
		return
	}
	g := r.rep.Group()
	to, why := r.successor(now, r.handover.to), r.handover.cause
	if to == 0 {
		r.handover = handover{}
		return
	}
	registered := r.Machine().RegisteredUntil()
	r.rep.Submit(&shard.Output{Entries: r.Machine().TransferEntries()}, r.Machine().CSN())
	r.propose(now)
	if r.Machine() == nil {
		return
	}
	r.end("it transfers leadership to " + r.home(to).String() + ": " + Causes[why])
	r.set.counters.transfers[why].Add(1)
	if err := g.Transfer(now, to, registered); err != nil {
		_, term := g.Leader()
		g.StepDown(now, term+1) // the machine has ended all the same
		r.set.opt.Log.Warn("leadership is not transferred: the others elect a leader", "shard", r.shard.String(),
			"error", err)
	}
	r.perform(now)
}

// successor returns the voter to which leadership is transferred: of those that can lead, the one on the wanted node,
// or if wanted is 0 the one that has the most of the log; 0 if there is none.
func (r transfer) successor(now int64, wanted kv.NodeID) (best consensus.ReplicaID) {
	g, has := r.rep.Group(), consensus.Position(0)
	state := g.State()
	for _, f := range g.Followers() {
		if r.canLead(now, &state, &f) && f.Has >= has && (wanted == 0 || wanted == r.home(f.ID)) {
			best, has = f.ID, f.Has
		}
	}
	return best
}

// canLead reports whether leadership can be transferred to a replica: a voter that is fit, has responded recently, and
// neither has just started nor declines.
func (r transfer) canLead(now int64, state *consensus.State, f *consensus.Follower) bool {
	return now-f.Responded < int64(r.set.opt.Hold)/2 && state.IsVoter(f.ID) && !f.Declines && !f.Starting &&
		!slices.Contains(state.Unfit, f.ID)
}

// isDiskLow reports whether the node's disk is nearly full. Then this node transfers its leaderships.
func (s *Set) isDiskLow() bool {
	level, _ := s.opt.Disk()
	return level != shard.DiskEnough
}

// diskSpace is the free space by which the machine accepts or rejects writes. It rejects none while another voter can
// lead: leadership is about to be transferred, and if the disk is full before, the node ends and others go on.
func (r *replica) diskSpace(now int64) (level shard.Disk, text string) {
	level, text = r.set.opt.Disk()
	if level != shard.DiskEnough && (transfer{r}).successor(now, 0) != 0 {
		return shard.DiskEnough, ""
	}
	return level, text
}

// allDrain reports whether no other voter can take over: each declines or is down, and at least one declines.
func (r transfer) allDrain(now int64) bool {
	declines, state := false, r.rep.Group().State()
	for _, f := range r.rep.Group().Followers() {
		if !f.Declines && now-f.Responded < int64(r.set.opt.Hold) && state.IsVoter(f.ID) {
			return false
		}
		declines = declines || f.Declines
	}
	return declines
}

// transferEvery is the time between two requests to the shards that the node still leads.
const transferEvery = 50 * time.Millisecond

// Decline has other nodes give this one no shards to lead, as far as they can. Elections may still make it a leader;
// then it transfers that leadership. The node is about to stop: there is no way back.
func (s *Set) Decline() { s.declines.Store(true) }

// TransferLeaderships has other nodes lead the shards that this one leads (R5.0). It returns how many it still leads
// when ctx ends, or 0. It does not wait for shards whose other nodes drain too: the cluster stops.
func (s *Set) TransferLeaderships(ctx context.Context) (left int) {
	t := time.NewTicker(transferEvery)
	defer t.Stop()
	for {
		left = 0
		for _, r := range s.replicas {
			r.Lock()
			if r.Machine() != nil && !(transfer{r}.allDrain(s.opt.Clock.Now())) {
				left++
				r.transferLater(causeDrain, 0)
			}
			r.Unlock()
		}
		if left == 0 {
			return 0
		}
		select {
		case <-ctx.Done():
			return left
		case <-t.C:
		}
	}
}
