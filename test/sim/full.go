package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
	"github.com/linchpindb/linchpin/test/world"
)

// startFills has disks run low on free space, or out of it, for some time each: one after another or several at once,
// until the clients are done. Then all disks have space.
func (w *sim) startFills() {
	if w.opt.Fills == 0 {
		return
	}
	left := w.opt.Fills
	var next func()
	next = func() {
		if left == 0 || w.unfinished == 0 || w.Calm {
			return
		}
		left--
		w.fill(w.Disks[w.Rng.IntN(len(w.Disks))])
		w.After(w.About(w.opt.FillFor), next)
	}
	w.After(w.About(w.opt.FillFor/2), next)
}

// fill takes the free space of a disk, and returns it some time later.
func (w *sim) fill(d *world.Disk) {
	if d.Level != shard.DiskEnough {
		return
	}
	w.filledAt[d] = w.Now()
	d.Level = pick(w.Rng, shard.DiskLow, shard.DiskFull)
	w.Trace("%v has a disk of level %d", d.Node.ID, d.Level)
	w.sum.Fills++
	w.After(w.opt.FillFor/2+w.UpTo(w.opt.FillFor), func() {
		if w.opt.onFillEnd != nil && !w.Calm {
			w.opt.onFillEnd(w, d)
		}
		d.Level = shard.DiskEnough
	})
}

// checkSpace fails if a disk without free space gets a version of a transaction that began after the level was known. A
// disk with low space may get deletions.
func (s *shell) checkSpace(txn kv.TxnRef, e *entry.Effect, v *entry.Value) {
	d, w := s.Disk, s.w
	if d.Level == shard.DiskEnough || w.movers[txn.TxnID] {
		return
	}
	t := w.log.find(txn)
	if t == nil || t.start <= w.filledAt[d] {
		return
	}
	if d.Level == shard.DiskFull || v.Exists() {
		w.Fail("%v: %s wrote %q, although the disk was at level %d when it began", s.ID, name(txn), e.Key,
			d.Level)
	}
	w.sum.FullDeletes++
}

// countReadOnFull counts a reader that was served on a disk that was low or full since before the reader began.
func (w *sim) countReadOnFull(t *txnRecord) {
	for _, c := range t.calls {
		for i := range c.ops {
			op := &c.ops[i]
			if op.IsRange() {
				continue
			}
			at := w.Router.Shard(op.Key)
			for _, s := range w.shards {
				if s.ID == at && s.Disk.Level != shard.DiskEnough && w.filledAt[s.Disk] < t.start {
					w.sum.FullReads++
					return
				}
			}
		}
	}
}

// refusedForSpace returns how many pieces the shards have rejected for lack of free space in their current
// incarnations.
func (w *sim) refusedForSpace() (n uint64) {
	for _, s := range w.shards {
		if s.M != nil {
			n += s.M.Status(0).Stats.NoSpaceRejections
		}
	}
	return n
}

// drawFills fills disks in one run of six. It has a stream of random numbers of its own, so that the rest of a seed's
// run is the same as without it.
func drawFills(o *Options, some func(n int) int) {
	if some(6) == 0 {
		o.Fills, o.FillFor = 1+some(4), time.Duration(20+some(200))*time.Millisecond
	}
}
