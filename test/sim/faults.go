package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/txn"
)

// startFaults distributes the crashes over the expected length of the run.
func (w *sim) startFaults() {
	left := w.opt.Crashes
	for range w.opt.Cuts {
		w.After(w.UpTo(100*time.Millisecond)+w.UpTo(2*w.opt.Down), func() {
			n := w.nodes[w.Rng.IntN(len(w.nodes))]
			n.CutUntil = w.Now() + int64(w.UpTo(w.opt.Down))
			w.Trace("%v is CUT off until %v", n.ID, time.Duration(n.CutUntil))
			n.announceCut()
		})
	}
	if left == 0 {
		return
	}
	var next func()
	next = func() {
		if left == 0 || w.unfinished == 0 || w.Calm {
			return
		}
		left--
		w.crashRandom()
		w.After(w.About(w.opt.Every)+w.opt.Down/2, next)
	}
	w.After(w.About(w.opt.Every), next)
}

// downAfter is for how long a node is silent before others count it as down.
const downAfter = 3 * time.Second

// announceCut has the node and the others count each other as down while a cut lasts that is long enough.
func (n *node) announceCut() {
	w := n.w
	announce := func(at int64, down bool) {
		w.At(at, func() {
			for _, o := range w.nodes {
				if o != n && !(down && w.Calm) {
					o.setDown(n, down)
					n.setDown(o, down)
				}
			}
		})
	}
	if began := w.Now() + int64(downAfter); began < n.CutUntil {
		announce(began, true)
		announce(n.CutUntil, false)
	}
}

func (n *node) setDown(o *node, down bool) {
	if n.GatewayUp {
		n.OnAllMachines(func(m *txn.Gateway) { m.SetDown(n.Local(), o.ID, down) })
	}
}

// crashRandom injects one crash of a random kind.
func (w *sim) crashRandom() {
	n, f := w.nodes[w.Rng.IntN(len(w.nodes))], w.opt.Faults
	at := w.Rng.IntN(f.Gateway + f.Torn + f.Log + f.Node)
	switch {
	case at < f.Gateway:
		n.CrashGateway()
	case at < f.Gateway+f.Torn:
		n.Torn = true
	case at < f.Gateway+f.Torn+f.Log:
		w.Disks[w.Rng.IntN(len(w.Disks))].Crash()
	default:
		n.Crash()
	}
}

// startDrains distributes the drains over the expected length of the run.
func (w *sim) startDrains() {
	for range w.opt.Drains {
		w.After(w.UpTo(200*time.Millisecond)+w.UpTo(2*w.opt.Down), func() { w.nodes[w.Rng.IntN(len(w.nodes))].drain() })
	}
}

// drain announces to one gateway after another that the node's shards are about to stop, to the gateway of the node
// itself last. Then the node stops, and starts again, and that is announced too.
func (n *node) drain() {
	w := n.w
	if w.Calm || !n.Up() {
		return
	}
	w.sum.Drains++
	w.Trace("%v DRAINS", n.ID)
	for _, o := range w.nodes {
		for _, s := range n.Shards {
			inc, late := s.M.Incarnation(), w.About(time.Millisecond)
			if o == n {
				late += w.opt.Down / 4
			}
			w.After(late, func() {
				if o.GatewayUp {
					o.OnAllMachines(func(m *txn.Gateway) { m.Shards().SetDraining(s.ID, inc) })
				}
			})
		}
	}
	w.After(w.opt.Down/4+w.UpTo(w.opt.Down), func() {
		n.Crash()
		n.announceRestart()
	})
}

// announceRestart sends the shards' incarnations to all gateways when the node is up again. All announcements of
// earlier incarnations have arrived by then.
func (n *node) announceRestart() {
	n.w.After(n.w.opt.Down+50*time.Millisecond, func() {
		if !n.Up() {
			n.announceRestart()
			return
		}
		for _, o := range n.w.nodes {
			for _, s := range n.Shards {
				inc := s.M.Incarnation()
				o.OnAllMachines(func(m *txn.Gateway) { m.Shards().Learn(s.ID, inc) })
			}
		}
	})
}

// startSlow distributes slow disks and stalled processes over the expected length of the run. Neither loses data.
func (w *sim) startSlow() {
	o := &w.opt
	for range o.SlowDisks {
		w.After(w.UpTo(o.SlowFor), func() {
			n, by, until := w.nodes[w.Rng.IntN(len(w.nodes))], w.About(o.SlowBy), w.Now()+int64(w.UpTo(o.SlowFor))
			w.Trace("%v has fsyncs that are slower by %v until %v", n.ID, by, time.Duration(until))
			for _, d := range n.Disks {
				d.SlowBy, d.SlowUntil = by, until
			}
		})
	}
	for range o.Stops {
		w.After(w.UpTo(o.SlowFor), func() {
			n := w.nodes[w.Rng.IntN(len(w.nodes))]
			n.StoppedUntil = w.Now() + int64(w.UpTo(o.SlowFor)/4)
			w.Trace("%v STALLS until %v", n.ID, time.Duration(n.StoppedUntil))
		})
	}
}
