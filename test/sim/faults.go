package sim

import "time"

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
