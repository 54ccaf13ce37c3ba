package groups

import (
	"github.com/linchpindb/linchpin/pkg/node/balance"
)

// Balance begins to return a shard to the node that should lead it, if one is due (package balance). The node calls it
// a few times a second, from one goroutine.
func (s *Set) Balance() {
	if s.declines.Load() {
		return // it gives away all that it leads
	}
	now := s.opt.Clock.Now()
	var led []balance.Led
	for _, r := range s.replicas {
		r.Lock()
		if l, leads := ledBy(r, now); leads {
			led = append(led, l)
		}
		r.Unlock()
	}
	if l, ok := s.balancer.Next(now, s.opt.ID, led); ok {
		r := s.replicas[l.Shard]
		r.Lock()
		r.transferLater(causeBalance, l.Preferred)
		r.Unlock()
	}
}

// ledBy returns what the balance depends on, if the replica leads the shard.
func ledBy(r *replica, now int64) (l balance.Led, leads bool) {
	if r.rep == nil || r.Machine() == nil || r.handover.wanted {
		return l, false
	}
	g := r.rep.Group()
	state := g.State()
	l = balance.Led{Shard: r.shard, Preferred: r.set.opt.Placement.Node(r.shard), Since: r.past.ledSince,
		IsWhole: !isChanging(&state) && len(state.Unfit) == 0 &&
			len(state.Conf.Voters) == r.set.opt.Placement.Replicas}
	for _, f := range g.Followers() {
		l.IsWhole = l.IsWhole && f.IsCurrent && transfer{r}.canLead(now, &state, &f)
	}
	return l, true
}
