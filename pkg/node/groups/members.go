package groups

import (
	"errors"
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/consensus"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/node/replication"
)

// A replica whose disk is lost is replaced by one on the node's present disk. The leader of the group does that, one
// step at a time, and any later leader continues (R7.20; consensus.Changes):
//
//	node 3 returns with an empty disk ─▶ its place is another than that of the group's replica 3
//	add learner 4 at that place ─▶ rows and log ─▶ swap 4 in for 3 ─▶ end ─▶ release
//
// A node begins one such replacement every beginEvery. If all groups begin at once, a cluster of 17 shards on two cores
// keeps about 65 % of its load meanwhile, instead of 81 to 89 % for twice as long ("go run ./test/bench failover").
const (
	memberEvery = int64(200 * time.Millisecond)
	beginEvery  = int64(800 * time.Millisecond)
)

// change changes the replicas of a group, in steps.
type change struct{ *replica }

// step takes the next step of a change of the group's replicas, or begins one, if this node leads.
func (r change) step(now int64) {
	if now < r.memberAt || r.rep == nil || r.Machine() == nil || r.handover.wanted {
		return
	}
	r.memberAt = now + memberEvery
	what, err := r.nextStep(now)
	switch {
	case errors.Is(err, consensus.ErrChanging) || errors.Is(err, consensus.ErrNotCaughtUp) || what == "" && err == nil:
		return // it is tried again
	case err != nil:
		r.set.opt.Log.Warn("the replicas of a shard cannot be changed now", "shard", r.shard.String(), "step", what,
			"error", err)
	default:
		r.set.opt.Log.Info("the replicas of a shard change", "shard", r.shard.String(), "step", what)
	}
	r.perform(now)
}

func (r change) nextStep(now int64) (what string, err error) {
	c, state := r.rep.Group().Changes(), r.rep.Group().State()
	switch {
	case state.IsJoint() && !state.IsVoter(r.id):
		r.transferLater(causeChange, 0) // R7.16
		return "", nil
	case state.IsJoint():
		return "the new voters alone", c.EndJoint(now)
	case state.Unreleased:
		return "released", c.Release(now)
	case len(state.Conf.Learners) > 0:
		return r.swap(now, c, &state)
	}
	for _, v := range state.Conf.Voters {
		id := consensus.ReplicaID(v)
		if place, lost := r.isLost(&state, id); lost && !r.isNeeded(now, &state, id, place) && r.set.mayBegin(now) {
			_, err := c.AddLearner(now, place)
			return "a replica is made at " + place, err
		}
	}
	return "", nil
}

// mayBegin reports whether a group may begin to replace a replica. None may for beginEvery after it.
func (s *Set) mayBegin(now int64) bool {
	at := s.beginAt.Load()
	return now >= at && s.beginAt.CompareAndSwap(at, now+beginEvery)
}

// isLost reports whether the disk of a replica is lost, or the replica is unfit, and the place of its node's present
// disk.
func (r change) isLost(state *consensus.State, id consensus.ReplicaID) (place string, lost bool) {
	if id == r.id || r.set.opt.PlaceOf == nil {
		return "", false
	}
	place, known := r.set.opt.PlaceOf(r.home(id))
	return place, known && (kv.IsLaterPlace(place, placeOf(state, id)) || slices.Contains(state.Unfit, id))
}

// isNeeded reports whether a replica that is unfit is one of a majority: others are silent or about to stop. It would
// end before the one that replaces it on the same disk has the rows (makeFor).
func (r change) isNeeded(now int64, state *consensus.State, id consensus.ReplicaID, place string) bool {
	others := 1 // this leader
	for _, f := range r.rep.Group().Followers() {
		if f.ID != id && state.IsVoter(f.ID) && !f.Declines && now-f.Responded < int64(r.set.opt.Hold)/2 {
			others++
		}
	}
	return others <= len(state.Conf.Voters)/2 && !kv.IsLaterPlace(place, placeOf(state, id))
}

// placeOf returns the place of a member, "" for one of the first formation.
func placeOf(state *consensus.State, id consensus.ReplicaID) string {
	for _, m := range state.Members {
		if m.ID == id {
			return m.Place
		}
	}
	return ""
}

// swap makes the learner a voter in place of the replica that its node has lost. If its own disk is lost meanwhile, it
// is given up.
func (r change) swap(now int64, c consensus.Changes, state *consensus.State) (what string, err error) {
	in := consensus.ReplicaID(state.Conf.Learners[0])
	if _, lost := r.isLost(state, in); lost {
		return "a replica that has lost its disk is given up", c.Swap(now, 0, in)
	}
	if !c.HasCaughtUp(in) {
		return "", nil
	}
	out := consensus.ReplicaID(0)
	for _, v := range state.Conf.Voters {
		if id := consensus.ReplicaID(v); r.home(id) == r.home(in) {
			out = id
		}
	}
	return "the new replica becomes a voter", c.Swap(now, in, out)
}

// nodeOfPlace returns the node of a place, 0 for that of a founding disk.
func nodeOfPlace(place string) kv.NodeID {
	n, _, _ := kv.ParsePlace(place) // of another text it is 0 too
	return n
}

// check computes the checksum of the rows in a view, in the background, and reports it (R6.14). A block that cannot be
// read makes the replica unfit (R6.15).
func (r *replica) check(rep *replication.Replica, at consensus.Position, view engine.ShardReader, err error) {
	r.set.wg.Go(func() {
		var sum uint64
		if err == nil {
			sum, err = engine.Checksum(r.shard, view)
			_ = view.Close()
		}
		r.endLater(func(now int64) {
			switch {
			case r.rep != rep:
			case err != nil:
				r.set.opt.Log.Error("the rows of a replica cannot be read", "shard", r.shard.String(), "error", err)
				if kv.KindOf(err) == kv.KindCorrupt {
					rep.SetUnfit(now)
				}
			default:
				rep.Group().Damage().Checked(now, at, sum)
			}
		})
	})
}

// peers are the nodes of the other voters of the group.
func (r *replica) peers() (out []kv.NodeID) {
	state := r.rep.Group().State()
	for _, v := range state.Conf.Voters {
		if id := consensus.ReplicaID(v); id != r.id {
			out = append(out, r.home(id))
		}
	}
	return out
}
