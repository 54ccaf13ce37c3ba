package sim

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/txn"
)

// startFaults spreads the crashes over the time that the clients may take.
func (w *world) startFaults() {
	left := w.opt.Crashes
	for range w.opt.Cuts {
		w.after(w.upTo(100*time.Millisecond)+w.upTo(2*w.opt.Down), func() {
			n := w.nodes[w.rng.IntN(len(w.nodes))]
			n.cut = w.now + int64(w.upTo(w.opt.Down))
			w.trace("%v is CUT off until %v", n.id, time.Duration(n.cut))
		})
	}
	if left == 0 {
		return
	}
	var next func()
	next = func() {
		if left == 0 || w.busy == 0 || w.calm {
			return
		}
		left--
		w.fault()
		w.after(w.about(w.opt.Every)+w.opt.Down/2, next)
	}
	w.after(w.about(w.opt.Every), next)
}

// fault is one crash of some kind.
func (w *world) fault() {
	n, f := w.nodes[w.rng.IntN(len(w.nodes))], w.opt.Faults
	at := w.rng.IntN(f.Gateway + f.Torn + f.Log + f.Node)
	switch {
	case at < f.Gateway:
		n.crashGateway()
	case at < f.Gateway+f.Torn:
		n.torn = true
	case at < f.Gateway+f.Torn+f.Log:
		w.disks[w.rng.IntN(len(w.disks))].crash()
	default:
		n.crashGateway()
		for _, d := range n.disks {
			d.crash()
		}
		n.tellDown(true)
	}
}

// startDrains spreads the drains over the time that the clients may take.
func (w *world) startDrains() {
	for range w.opt.Drains {
		w.after(w.upTo(200*time.Millisecond)+w.upTo(2*w.opt.Down), func() { w.nodes[w.rng.IntN(len(w.nodes))].drain() })
	}
}

// drain has the gateways learn one by one that the node's shards are about to stop, those
// of the node last. Then it stops, at some time; and when it is back they learn that, too.
func (n *node) drain() {
	w := n.w
	if w.calm || !n.up() {
		return
	}
	w.sum.Drains++
	w.trace("%v DRAINS", n.id)
	for _, o := range w.nodes {
		for _, s := range n.shards {
			inc, late := s.m.Incarnation(), w.about(time.Millisecond)
			if o == n {
				late += w.opt.Down / 4
			}
			w.after(late, func() {
				if o.gwUp {
					o.toAll(func(m *txn.Gateway) { m.Shards().SetLeaving(s.id, inc) })
				}
			})
		}
	}
	w.after(w.opt.Down/4+w.upTo(w.opt.Down), func() {
		n.crashGateway()
		for _, d := range n.disks {
			d.crash()
		}
		n.tellDown(true)
		n.tellBack()
	})
}

func (n *node) up() bool {
	return n.gwUp && !slices.ContainsFunc(n.disks, func(d *disk) bool { return !d.up })
}

// tellBack has all gateways know the shards' lives when the node is back. What was told of
// the lives before has come by then.
func (n *node) tellBack() {
	n.w.after(n.w.opt.Down+50*time.Millisecond, func() {
		if !n.up() {
			n.tellBack()
			return
		}
		for _, o := range n.w.nodes {
			for _, s := range n.shards {
				inc := s.m.Incarnation()
				o.toAll(func(m *txn.Gateway) { m.Shards().Learn(s.id, inc) })
			}
		}
	})
}

// startSlow spreads slow disks, and processes that stand still, over the time that the clients may
// take. Neither loses anything.
func (w *world) startSlow() {
	o := &w.opt
	for range o.SlowDisks {
		w.after(w.upTo(o.SlowFor), func() {
			n, by, until := w.nodes[w.rng.IntN(len(w.nodes))], w.about(o.SlowBy), w.now+int64(w.upTo(o.SlowFor))
			w.trace("%v has fsyncs that are slower by %v until %v", n.id, by, time.Duration(until))
			for _, d := range n.disks {
				d.slowBy, d.slowUntil = by, until
			}
		})
	}
	for range o.Stops {
		w.after(w.upTo(o.SlowFor), func() {
			n := w.nodes[w.rng.IntN(len(w.nodes))]
			n.stopped = w.now + int64(w.upTo(o.SlowFor)/4)
			w.trace("%v STANDS STILL until %v", n.id, time.Duration(n.stopped))
		})
	}
}

// whenAwake has something happen in the node's process: now, or when that goes on.
func (n *node) whenAwake(f func()) {
	if n.stopped <= n.w.now || n.w.calm {
		f()
		return
	}
	n.w.at(n.stopped, func() { n.whenAwake(f) })
}

// slower is by how much an fsync that begins now is slower.
func (d *disk) slower() time.Duration {
	if d.slowUntil <= d.w.now || d.w.calm {
		return 0
	}
	return d.slowBy
}
