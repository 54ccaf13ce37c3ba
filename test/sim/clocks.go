package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// adjustedClock is a node's clock. Its time of day is set wrong at times.
type adjustedClock struct{ n *node }

func (t adjustedClock) Now() int64  { return t.n.local(t.n.w.now) }
func (t adjustedClock) Wall() int64 { return t.n.wall() + t.n.jump }

// newClock makes the clock that package node would use for ids and for low watermarks.
func newClock(n *node) *clock.Hybrid {
	return clock.NewHybrid(adjustedClock{n}, n.w.retention()/4)
}

func (w *world) retention() time.Duration {
	if w.opt.Retention > 0 {
		return w.opt.Retention
	}
	return kv.DefaultRetention
}

// startJumps makes times of day jump forwards, backwards and back to the correct time, and has nodes exchange clock
// readings.
func (w *world) startJumps() {
	if w.opt.Jumps == 0 {
		return
	}
	for range w.opt.Jumps {
		w.after(w.upTo(time.Duration(w.opt.Jumps)*w.opt.JumpFor), w.jump)
	}
	var exchange func()
	exchange = func() {
		if w.unfinished == 0 || w.calm {
			return
		}
		for _, n := range w.nodes {
			n.announceClock()
		}
		w.after(w.retention()/20, exchange)
	}
	exchange()
}

// canAdoptJumps reports whether a wrong time of day may last for so long that nodes adopt it.
func (w *world) canAdoptJumps() bool { return w.opt.Jumps > 0 && w.opt.Retention > 0 }

// jump sets the time of day of one node, or of all.
func (w *world) jump() {
	by := int64(w.upTo(2*w.opt.JumpBy) - w.opt.JumpBy)
	if w.rng.IntN(2) == 0 {
		by = 0
	}
	one := w.rng.IntN(len(w.nodes))
	if w.rng.IntN(3) == 0 {
		one = -1
	}
	for i, n := range w.nodes {
		if one < 0 || one == i {
			n.jump = by
			w.trace("%v: the time of day is off by %v", n.id, time.Duration(by))
		}
	}
}

// announceClock sends the node's time of day and the id times of its shards to the other nodes. Messages are delayed or
// lost.
func (n *node) announceClock() {
	w := n.w
	for _, o := range w.nodes {
		if o == n || w.chance(w.opt.Loss) {
			continue
		}
		wall := adjustedClock{n}.Wall()
		least, ok := n.clk.MinIDTime(n.local(w.now))
		w.after(w.about(time.Millisecond), func() {
			now := o.local(w.now)
			o.clk.ObservePeer(n.id, now, wall)
			if ok {
				o.clk.RaiseMinIDTime(least - now)
			}
		})
	}
}

// raiseClock raises the node's clock to the shard's low watermark.
func (s *shell) raiseClock() {
	if offset, ok := s.m.IDOffset(); ok && s.w.opt.Jumps > 0 {
		s.n.clk.RaiseMinIDTime(offset)
	}
}

// idTime returns the time that the shard uses for its low watermark; 0 stands for the time of day.
func (s *shell) idTime() int64 {
	if s.w.opt.Jumps == 0 {
		return 0
	}
	return s.n.clk.GCTime(s.n.local(s.w.now))
}

// peers compares the clocks of the other nodes with this node's, as package node does.
func (s *shell) peers() shard.Peers {
	agree, known := s.n.clk.Agreement(s.n.local(s.w.now), time.Minute)
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
func (w *world) checkAge(t *txnRecord, f *msg.Failure) {
	if w.opt.Jumps == 0 && w.opt.Skew >= w.retention() {
		return // the clocks differ by too much, and are not set
	}
	if f != nil && f.Reason == msg.ReasonTooOld && kv.Kind(f.Kind) == kv.KindTooOld &&
		w.now < int64(float64(w.retention())/fastest) {
		w.fail("%s, begun at %v, was rejected as too old: %s", name(t.ref), time.Duration(t.start), f.Text)
	}
}
