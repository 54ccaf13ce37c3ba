package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/world"
)

// adjustedClock is a node's clock, as package node uses it for ids and for low watermarks. Its time of day is wrong at
// times.
type adjustedClock struct{ n *world.Node }

func (t adjustedClock) Now() int64  { return t.n.Local() }
func (t adjustedClock) Wall() int64 { return t.n.WallClock() }

func (o *Options) retention() time.Duration {
	if o.Retention > 0 {
		return o.Retention
	}
	return kv.DefaultRetention
}

// startJumps makes times of day jump forwards, backwards and back to the correct time, and has nodes exchange clock
// readings.
func (w *sim) startJumps() {
	if w.opt.Jumps == 0 {
		return
	}
	for range w.opt.Jumps {
		w.After(w.UpTo(time.Duration(w.opt.Jumps)*w.opt.JumpFor), w.jump)
	}
	var exchange func()
	exchange = func() {
		if w.unfinished == 0 || w.Calm {
			return
		}
		for _, n := range w.nodes {
			n.announceClock()
		}
		w.After(w.opt.retention()/20, exchange)
	}
	exchange()
}

// canAdoptJumps reports whether a wrong time of day may last for so long that nodes adopt it.
func (w *sim) canAdoptJumps() bool { return w.opt.Jumps > 0 && w.opt.Retention > 0 }

// jump sets the time of day of one node, or of all.
func (w *sim) jump() {
	by := int64(w.UpTo(2*w.opt.JumpBy) - w.opt.JumpBy)
	if w.Rng.IntN(2) == 0 {
		by = 0
	}
	one := w.Rng.IntN(len(w.nodes))
	if w.Rng.IntN(3) == 0 {
		one = -1
	}
	for i, n := range w.nodes {
		if one < 0 || one == i {
			n.Jump = by
			w.Trace("%v: the time of day is off by %v", n.ID, time.Duration(by))
		}
	}
}

// announceClock sends the node's time of day and the id times of its shards to the other nodes. Messages are delayed or
// lost.
func (n *node) announceClock() {
	w := n.w
	for _, o := range w.nodes {
		if o == n || w.Chance(w.opt.Loss) {
			continue
		}
		wall := n.WallClock()
		least, ok := n.clk.MinIDTime(n.Local())
		w.After(w.About(time.Millisecond), func() {
			now := o.Local()
			o.clk.ObservePeer(n.ID, now, wall)
			if ok {
				o.clk.RaiseMinIDTime(least - now)
			}
		})
	}
}

// raiseClock raises the node's clock to the shard's low watermark.
func (s *shell) raiseClock(m *shard.Machine) {
	if offset, ok := m.IDOffset(); ok && s.w.opt.Jumps > 0 {
		s.n.clk.RaiseMinIDTime(offset)
	}
}

// idTime returns the time that the shard uses for its low watermark; 0 stands for the time of day.
func (s *shell) idTime() int64 {
	if s.w.opt.Jumps == 0 {
		return 0
	}
	return s.n.clk.GCTime(s.n.Local())
}

// peers compares the clocks of the other nodes with this node's, as package node does.
func (s *shell) peers() shard.Peers {
	agree, known := s.n.clk.Agreement(s.n.Local(), time.Minute)
	switch {
	case known == 0:
		return shard.PeersUnknown
	case 2*agree >= known:
		return shard.PeersAgree
	}
	return shard.PeersDiffer
}

// checkAge fails if a transaction that has just begun is rejected as too old. It checks nothing if by the fastest clock
// of the cluster an id may already have passed the retention.
func (w *sim) checkAge(t *txnRecord, f *msg.Failure) {
	if w.opt.Jumps == 0 && w.opt.Skew >= w.opt.retention() {
		return // the clocks differ by too much, and are not set
	}
	if f != nil && f.Reason == msg.ReasonTooOld && kv.Kind(f.Kind) == kv.KindTooOld &&
		w.Now() < int64(float64(w.opt.retention())/w.Rates[1]) {
		w.Fail("%s, begun at %v, was rejected as too old: %s", name(t.ref), time.Duration(t.start), f.Text)
	}
}
