package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// timepiece is a node's clock, of which the time of day is set now and then.
type timepiece struct{ n *node }

func (t timepiece) Now() int64  { return t.n.local(t.n.w.now) }
func (t timepiece) Wall() int64 { return t.n.wall() + t.n.jump }

// newClock makes the clock by which a node's ids are made, and forgotten: the node's own
// (package node).
func newClock(n *node) *clock.Hybrid {
	return clock.NewHybrid(timepiece{n}, n.w.retention()/4)
}

func (w *world) retention() time.Duration {
	if w.opt.Retention > 0 {
		return w.opt.Retention
	}
	return kv.DefaultRetention
}

// startJumps has times of day jump, either way, and back to where they were, and nodes
// tell each other of their clocks.
func (w *world) startJumps() {
	if w.opt.Jumps == 0 {
		return
	}
	for range w.opt.Jumps {
		w.after(w.upTo(time.Duration(w.opt.Jumps)*w.opt.JumpFor), w.jump)
	}
	var tell func()
	tell = func() {
		if w.busy == 0 || w.calm {
			return
		}
		for _, n := range w.nodes {
			n.tellTimes()
		}
		w.after(w.retention()/20, tell)
	}
	tell()
}

// believesJumps reports whether a time of day may be wrong for so long that it is believed.
func (w *world) believesJumps() bool { return w.opt.Jumps > 0 && w.opt.Retention > 0 }

// jump sets the time of day of a node, or of all.
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

// tellTimes tells the others of the node's clock, and of what its shards forget by. Words
// are lost, and take their time.
func (n *node) tellTimes() {
	w := n.w
	for _, o := range w.nodes {
		if o == n || w.chance(w.opt.Loss) {
			continue
		}
		wall := timepiece{n}.Wall()
		least, ok := n.clk.Least(n.local(w.now))
		w.after(w.about(time.Millisecond), func() {
			now := o.local(w.now)
			o.clk.Heard(n.id, now, wall)
			if ok {
				o.clk.Push(least - now)
			}
		})
	}
}

// push takes what a shard forgets by into the node's clock.
func (s *shell) push() {
	if offset, ok := s.m.IDOffset(); ok && s.w.opt.Jumps > 0 {
		s.n.clk.Push(offset)
	}
}

// idTime is the time by which the shard forgets; 0 for the time of day.
func (s *shell) idTime() int64 {
	if s.w.opt.Jumps == 0 {
		return 0
	}
	return s.n.clk.Agreed(s.n.local(s.w.now))
}

// peers is how the other nodes' clocks compare with this node's, as package node decides it.
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

// checkAge: what has only just begun is not too old, whatever clocks show, as long as
// nothing has become old enough to be forgotten by the fastest of them.
func (w *world) checkAge(t *txnRecord, f *msg.Failure) {
	if w.opt.Jumps == 0 && w.opt.Skew >= w.retention() {
		return // the clocks are too far apart, and nobody sets them
	}
	if f != nil && f.Reason == msg.ReasonTooOld && kv.Kind(f.Kind) == kv.KindTooOld && w.now < int64(float64(w.retention())/fastest) {
		w.fail("%s, begun at %v, was refused as too old: %s", name(t.ref), time.Duration(t.start), f.Text)
	}
}
