package sim

import (
	"time"

	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/shard"
)

// FullCounts counts what happened on disks without space.
type FullCounts struct {
	// Fills is how many times a disk was low on space.
	Fills int
	// FullReads counts the readers that were served on a disk without space, FullDeletes the
	// deletions that were admitted where it was low.
	FullReads, FullDeletes int
}

func (c *FullCounts) add(o FullCounts) {
	c.Fills += o.Fills
	c.FullReads += o.FullReads
	c.FullDeletes += o.FullDeletes
}

// startFills has disks run low on room, and some be full, for a while: one after the
// other, or several at once, until the clients are done. Then all have room.
func (w *world) startFills() {
	if w.opt.Fills == 0 {
		return
	}
	left := w.opt.Fills
	var next func()
	next = func() {
		if left == 0 || w.busy == 0 || w.calm {
			return
		}
		left--
		w.fill(w.disks[w.rng.IntN(len(w.disks))])
		w.after(w.about(w.opt.FillFor), next)
	}
	w.after(w.about(w.opt.FillFor/2), next)
}

// fill takes the room of a disk, and gives it back some time later.
func (w *world) fill(d *disk) {
	if d.level != shard.DiskRoomy {
		return
	}
	d.since = w.now
	d.level = pick(w.rng, shard.DiskLow, shard.DiskFull)
	w.trace("%v has a disk of level %d", d.n.id, d.level)
	w.sum.Fills++
	w.after(w.opt.FillFor/2+w.upTo(w.opt.FillFor), func() {
		if w.opt.filled != nil && !w.calm {
			w.opt.filled(d)
		}
		d.level = shard.DiskRoomy
	})
}

// checkRoom holds what becomes visible on a disk without room: nothing that was begun
// after that was known, but deletions where it is only low.
func (s *shell) checkRoom(txn kv.TxnRef, e *entry.Effect, v *entry.Value) {
	d, w := s.disk, s.w
	if d.level == shard.DiskRoomy || w.movers[txn.TxnID] {
		return
	}
	t := w.log.find(txn)
	if t == nil || t.start <= d.since {
		return
	}
	if d.level == shard.DiskFull || v.Exists() {
		w.fail("%v: %s wrote %q, though the disk had no room for it (level %d) when it began", s.id, name(txn), e.Key, d.level)
	}
	w.sum.FullDeletes++
}

// readOnFull counts a reader that was served on a disk that had no room all the time.
func (w *world) readOnFull(t *txnRecord) {
	for _, c := range t.calls {
		for i := range c.ops {
			op := &c.ops[i]
			if op.IsRange() {
				continue
			}
			at := w.router.Shard(op.Key)
			for _, s := range w.shards {
				if s.id == at && s.disk.level != shard.DiskRoomy && s.disk.since < t.start {
					w.sum.FullReads++
					return
				}
			}
		}
	}
}

// refusedForRoom counts what the shards have refused for want of room in this life.
func (w *world) refusedForRoom() (n uint64) {
	for _, s := range w.shards {
		if s.m != nil {
			n += s.m.Levels().NoRoom
		}
	}
	return n
}

// drawFills has one run in six fill disks. They are a stream of random numbers of
// their own, so that all else of a seed is as it would be without.
func drawFills(o *Options, some func(n int) int) {
	if some(6) == 0 {
		o.Fills, o.FillFor = 1+some(4), time.Duration(20+some(200))*time.Millisecond
	}
}
