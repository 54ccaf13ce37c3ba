package sim

import (
	"slices"
	"time"

	"github.com/linchpindb/linchpin/pkg/txn"
)

// startFaults distributes the crashes over the expected length of the run.
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
		if left == 0 || w.unfinished == 0 || w.calm {
			return
		}
		left--
		w.crashRandom()
		w.after(w.about(w.opt.Every)+w.opt.Down/2, next)
	}
	w.after(w.about(w.opt.Every), next)
}

// crashRandom injects one crash of a random kind.
func (w *world) crashRandom() {
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
		n.announceDown(true)
	}
}

// startDrains distributes the drains over the expected length of the run.
func (w *world) startDrains() {
	for range w.opt.Drains {
		w.after(w.upTo(200*time.Millisecond)+w.upTo(2*w.opt.Down), func() { w.nodes[w.rng.IntN(len(w.nodes))].drain() })
	}
}

// drain announces to one gateway after another that the node's shards are about to stop, to the gateway of the node
// itself last. Then the node stops, and starts again, and that is announced too.
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
					o.onAllMachines(func(m *txn.Gateway) { m.Shards().SetDraining(s.id, inc) })
				}
			})
		}
	}
	w.after(w.opt.Down/4+w.upTo(w.opt.Down), func() {
		n.crashGateway()
		for _, d := range n.disks {
			d.crash()
		}
		n.announceDown(true)
		n.announceRestart()
	})
}

func (n *node) up() bool {
	return n.gwUp && !slices.ContainsFunc(n.disks, func(d *disk) bool { return !d.up })
}

// announceRestart sends the shards' incarnations to all gateways when the node is up again. All announcements of
// earlier incarnations have arrived by then.
func (n *node) announceRestart() {
	n.w.after(n.w.opt.Down+50*time.Millisecond, func() {
		if !n.up() {
			n.announceRestart()
			return
		}
		for _, o := range n.w.nodes {
			for _, s := range n.shards {
				inc := s.m.Incarnation()
				o.onAllMachines(func(m *txn.Gateway) { m.Shards().Learn(s.id, inc) })
			}
		}
	})
}

// startSlow distributes slow disks and stalled processes over the expected length of the run. Neither loses data.
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
			w.trace("%v STALLS until %v", n.id, time.Duration(n.stopped))
		})
	}
}

// whenAwake runs f in the node's process: now, or when the process is no longer stalled.
func (n *node) whenAwake(f func()) {
	if n.stopped <= n.w.now || n.w.calm {
		f()
		return
	}
	n.w.at(n.stopped, func() { n.whenAwake(f) })
}

// extraSyncTime returns the additional time of an fsync that begins now.
func (d *disk) extraSyncTime() time.Duration {
	if d.slowUntil <= d.w.now || d.w.calm {
		return 0
	}
	return d.slowBy
}
