package groups

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// holdersTimeout is for how long a leader that transfers leadership waits for the holders of locks (R14.3).
const holdersTimeout = 200 * time.Millisecond

// handover is a transfer of leadership that is wanted, and happens at a time at the latest.
type handover struct {
	wanted bool
	by     int64
	// to is the replica to which leadership goes, 0 for any that can lead. why is why, "" if it was requested.
	to  consensus.ReplicaID
	why string
}

// transferLater has the leader of the shard transfer leadership to another replica as soon as no interactive
// transaction holds locks, or after holdersTimeout. It does nothing if this node does not lead.
func (r *replica) transferLater() { r.transferTo(0, "") }

// leaveDisk transfers leadership to a replica, as the disk of this node is slow (R10.9) or nearly full.
func (r *replica) leaveDisk(to consensus.ReplicaID) {
	why := ": its disk is slow, writes of the log have been late for 1s"
	if r.set.diskLow.Load() {
		why = ": its disk is nearly full"
	}
	r.transferTo(to, why)
}

func (r *replica) transferTo(to consensus.ReplicaID, why string) {
	r.endLater(func(now int64) {
		if r.Machine() == nil || r.handover.wanted {
			return
		}
		r.handover = handover{wanted: true, by: now + int64(holdersTimeout), to: to, why: why}
		r.wakeAt = min(r.wakeAt, now)
	})
}

// tryTransfer transfers leadership if that is wanted and may happen now. What the machine has written is proposed
// before the transfer entry, and it ends.
func (r *replica) tryTransfer() {
	now := r.set.opt.Clock.Now()
	if !r.handover.wanted || r.Machine() == nil {
		return
	}
	if now < r.handover.by && r.Machine().HasLockHolders() {
		r.wakeAt = min(r.wakeAt, r.handover.by)
		return
	}
	g := r.rep.Group()
	to := r.handover.to
	if to == 0 {
		to = r.successor(now)
	}
	if to == 0 {
		r.handover.wanted = false
		return
	}
	registered := r.Machine().RegisteredUntil()
	r.rep.Submit(&shard.Output{Entries: r.Machine().TransferEntries()}, r.Machine().CSN())
	r.propose()
	if r.Machine() == nil {
		return
	}
	r.end("it transfers leadership to " + r.home(to).String() + r.handover.why)
	if err := g.Transfer(now, to, registered); err != nil {
		_, term := g.Leader()
		g.StepDown(now, term+1) // the machine has ended all the same
		r.set.opt.Log.Warn("leadership is not transferred: the others elect a leader", "shard", r.shard.String(),
			"error", err)
	}
	r.perform(now)
}

// transferEvery is the time between two requests to the shards that the node still leads.
const transferEvery = 50 * time.Millisecond

// TransferLeaderships has other nodes lead the shards that this one leads (R5.0). It returns how many it still leads
// when ctx ends, or 0.
func (s *Set) TransferLeaderships(ctx context.Context) (left int) {
	t := time.NewTicker(transferEvery)
	defer t.Stop()
	for {
		left = 0
		for _, r := range s.replicas {
			r.Lock()
			if r.Machine() != nil {
				left++
				r.transferLater()
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
