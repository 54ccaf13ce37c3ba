package groups

import "time"

// beatGrains is how many times within D leaders send heartbeats, and heartbeatShare the share of D after which one is
// due: a little less, so that none misses the next time.
const (
	beatGrains     = 8
	heartbeatShare = 10
)

// beat has all replicas that lead take a turn at the same times, in which they send their heartbeats: one message for a
// pair of nodes (R7.3), and so are the responses.
func (s *Set) beat() {
	grain := time.Duration(int64(s.opt.Hold) / beatGrains)
	var leaders []*replica
	for {
		now := s.opt.Clock.Now()
		select {
		case <-s.ctx.Done():
			return
		case <-time.After(max(grain-time.Duration(now)%grain, minSleep)):
		}
		leaders = leaders[:0]
		for _, r := range s.replicas {
			if to, _ := s.Leader(r.shard); to == s.opt.ID {
				leaders = append(leaders, r)
			}
		}
		s.turns.add(leaders...)
		s.turns.relieve()
	}
}

// inform has the replica know its node's disk, its clock, and whether it drains: before anything else of a turn.
func (r *replica) inform(now int64) {
	g := r.rep.Group()
	g.Disk.Set(r.set.diskBusy(now), r.set.isDiskLow())
	g.Leadership().SetClockOff(r.set.clocks.isOwnOff(r.peers))
	g.Declines = r.set.declines.Load()
}

// tick lets the replica do what is due.
func (r *replica) tick(now int64) {
	r.rep.Group().Tick(now)
	r.past.observe(r.rep.Group())
	r.perform(now)
}
