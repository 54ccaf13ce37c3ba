package sim

import (
	"math/rand/v2"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/world"
)

// DrawReplicas derives the options of a run with three replicas of each shard from its seed.
func DrawReplicas(seed int64) Options {
	o := Draw(seed)
	r := rand.New(rand.NewPCG(uint64(seed), 0x4e71))
	o.Nodes, o.Replicas = 3+r.IntN(3), 3
	o.Hold = time.Duration(pick(r, 60, 60, 150, 400)) * time.Millisecond
	o.Drains, o.KnownLeases = 0, false
	o.Slots, o.KeySlots, o.KeyReferences, o.KeyWaiters = 0, 0, 0, 0 // refusals are checked where shards are available
	o.Txns *= 2
	if r.IntN(4) > 0 {
		o.LeaderFaults = r.IntN(12)
		o.Crashes = r.IntN(8)
		o.Down = max(o.Down, time.Duration(pick(r, 20, 300, 1000))*time.Millisecond)
	}
	if r.IntN(2) > 0 {
		o.CheckEvery, o.Alters = time.Duration(5+r.IntN(30))*o.Hold, r.IntN(4)
	}
	return o
}

// DrawClocks derives the options of a run with three replicas and clocks that cannot be trusted: some run four times as
// fast as others, and no lease is relied on.
func DrawClocks(seed int64) Options {
	o := DrawReplicas(seed)
	o.NoLeases, o.Rates = true, [2]float64{0.5, 2}
	return o
}

// DrawMembers derives the options of a run whose groups of three replicas change among more nodes, some of which lose
// their disks. A change takes a second at least, which is how long a learner has to follow.
func DrawMembers(seed int64) Options {
	o := DrawReplicas(seed)
	r := rand.New(rand.NewPCG(uint64(seed), 0x3e3b))
	o.Nodes, o.Shards, o.Clients, o.Txns = 4+r.IntN(2), 1+r.IntN(2), 3+r.IntN(4), 30+r.IntN(30)
	o.Hold = time.Duration(pick(r, 150, 400)) * time.Millisecond
	o.Mix.Think = 100 * time.Millisecond
	o.ChangeEvery = time.Duration(pick(r, 20, 100, 300)) * time.Millisecond
	o.LostDisks, o.LeaderFaults = r.IntN(6), r.IntN(12)
	o.Crashes, o.Every = r.IntN(8), 300*time.Millisecond
	return o
}

// startLeaderFaults distributes faults of leaders over the expected length of the run. Clients near the leader go on
// with it as long as it responds.
func (w *sim) startLeaderFaults() {
	w.disturbLeaders(w.opt.LeaderFaults, w.leaderFault)
	w.disturbLeaders(w.opt.Transfers, func(s *world.Shard) { s.Transfer(w.Nodes[w.Rng.IntN(len(w.Nodes))]) })
	w.disturbLeaders(w.opt.LostDisks, func(*world.Shard) { w.Disks[w.Rng.IntN(len(w.Disks))].Lose() })
	w.disturbLeaders(w.opt.Alters, func(s *world.Shard) {
		for _, o := range w.Nodes[w.Rng.IntN(len(w.Nodes))].Shards {
			if o.ID == s.ID {
				o.Alter()
			}
		}
	})
	w.changeMembers()
}

// changeMembers has the leaders change the members of their groups, one step after another.
func (w *sim) changeMembers() {
	if w.opt.ChangeEvery == 0 || w.unfinished == 0 || w.Calm {
		return
	}
	for _, s := range w.Shards {
		s.StepMembers()
	}
	w.After(w.About(w.opt.ChangeEvery), w.changeMembers)
}

// disturbLeaders disturbs the leaders of random shards some times, at intervals of about the time for which voters
// promise their votes.
func (w *sim) disturbLeaders(times int, disturb func(*world.Shard)) {
	var next func()
	next = func() {
		if times == 0 || w.unfinished == 0 || w.Calm {
			return
		}
		times--
		disturb(w.Shards[w.Rng.IntN(len(w.Shards))])
		w.After(w.About(w.opt.Hold), next)
	}
	if times > 0 {
		w.After(w.opt.Hold+w.UpTo(w.opt.Hold), next)
	}
}

// leaderFault injects a fault at a shard's leader.
func (w *sim) leaderFault(s *world.Shard) {
	n, until := s.Node, w.Now()+int64(w.UpTo(6*w.opt.Hold))
	other := w.Nodes[w.Rng.IntN(len(w.Nodes))]
	kind := w.Rng.IntN(8)
	w.Trace("%v leads %v: fault %d until %v, other %v", n.ID, s.ID, kind, time.Duration(until), other.ID)
	switch kind {
	case 0, 1, 2:
		n.CutUntil = until
	case 3:
		w.CutLinks[[2]kv.NodeID{n.ID, other.ID}] = until
	case 4:
		for _, o := range w.Nodes {
			w.CutLinks[[2]kv.NodeID{o.ID, n.ID}] = until
		}
	case 5:
		n.StoppedUntil = w.Now() + int64(w.UpTo(3*w.opt.Hold))
	case 6:
		s.Transfer(other)
	default: // two transfers within one lease
		s.Transfer(other)
		w.After(w.UpTo(w.opt.Hold), func() { w.Shards[s.ID].Transfer(n) })
	}
}
