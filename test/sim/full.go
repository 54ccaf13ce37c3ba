package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// FullCounts counts what happened on disks without space.
type FullCounts struct {
	// Fills counts how often a disk ran low on free space.
	Fills int
	// FullReads counts the readers that a shard without free space served, FullDeletes the deletions that one with low
	// free space admitted.
	FullReads, FullDeletes int
}

func (c *FullCounts) add(o FullCounts) {
	c.Fills += o.Fills
	c.FullReads += o.FullReads
	c.FullDeletes += o.FullDeletes
}

// startFills has disks run low on free space, or out of it, for some time each: one after another or several at once,
// until the clients are done. Then all disks have space.
func (w *world) startFills() {
	if w.opt.Fills == 0 {
		return
	}
	left := w.opt.Fills
	var next func()
	next = func() {
		if left == 0 || w.unfinished == 0 || w.calm {
			return
		}
		left--
		w.fill(w.disks[w.rng.IntN(len(w.disks))])
		w.after(w.about(w.opt.FillFor), next)
	}
	w.after(w.about(w.opt.FillFor/2), next)
}

// fill takes the free space of a disk, and returns it some time later.
func (w *world) fill(d *disk) {
	if d.level != shard.DiskEnough {
		return
	}
	d.since = w.now
	d.level = pick(w.rng, shard.DiskLow, shard.DiskFull)
	w.trace("%v has a disk of level %d", d.n.id, d.level)
	w.sum.Fills++
	w.after(w.opt.FillFor/2+w.upTo(w.opt.FillFor), func() {
		if w.opt.onFillEnd != nil && !w.calm {
			w.opt.onFillEnd(d)
		}
		d.level = shard.DiskEnough
	})
}

// checkSpace fails if a disk without free space gets a version of a transaction that began after the level was known. A
// disk with low space may get deletions.
func (s *shell) checkSpace(txn kv.TxnRef, e *entry.Effect, v *entry.Value) {
	d, w := s.disk, s.w
	if d.level == shard.DiskEnough || w.movers[txn.TxnID] {
		return
	}
	t := w.log.find(txn)
	if t == nil || t.start <= d.since {
		return
	}
	if d.level == shard.DiskFull || v.Exists() {
		w.fail("%v: %s wrote %q, although the disk was at level %d when it began", s.id, name(txn), e.Key,
			d.level)
	}
	w.sum.FullDeletes++
}

// countReadOnFull counts a reader that was served on a disk that was low or full since before the reader began.
func (w *world) countReadOnFull(t *txnRecord) {
	for _, c := range t.calls {
		for i := range c.ops {
			op := &c.ops[i]
			if op.IsRange() {
				continue
			}
			at := w.router.Shard(op.Key)
			for _, s := range w.shards {
				if s.id == at && s.disk.level != shard.DiskEnough && s.disk.since < t.start {
					w.sum.FullReads++
					return
				}
			}
		}
	}
}

// refusedForSpace returns how many pieces the shards have rejected for lack of free space in their current
// incarnations.
func (w *world) refusedForSpace() (n uint64) {
	for _, s := range w.shards {
		if s.m != nil {
			n += s.m.Gauges().NoSpaceRejections
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
