package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/linchpindb/linchpin/pkg/engine/enginekey"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// A deletion frees disk space only when a compaction merges it with the rows that it
// deletes, and without further writes no compaction runs. ReclaimAll compacts the key
// ranges that contain deletions:
//
//	flush the memtable, which may contain the newest deletions
//	read the tables that contain deletions, and note for each table of the last level
//	    the key range of the deletions that overlap it (deletionRanges)
//	compact these ranges one after the other, down to the last level
//
// So a few deletions do not have the whole store compacted, although the table that contains
// them spans all keys; the free space that a compaction needs is bounded; and a reclaim
// can be stopped between two ranges.

const (
	// statsTimeout bounds the wait for the statistics of new tables.
	statsTimeout = 10 * time.Second
	// removalTimeout bounds the wait for the removal of obsolete tables.
	removalTimeout = 10 * time.Second
	pollInterval   = 10 * time.Millisecond
	// maxPasses bounds how often the tables are listed anew because other compactions have
	// removed some of them.
	maxPasses = 3
)

// Reclaimed is the size of the store before and after ReclaimAll, in bytes.
type Reclaimed struct{ Before, After uint64 }

// unflushed estimates the size of the rows whose deletions are in memtables, in bytes: no
// statistics of tables have them.
type unflushed struct {
	mu      sync.Mutex
	batches []deletingBatch // in the order of their sequence numbers
	bytes   uint64          // of all batches
}

// deletingBatch is the number of bytes that a batch deletes, and the batch's sequence number.
type deletingBatch struct {
	seq   pebble.SeqNum
	bytes uint64
}

func (u *unflushed) onApplied(seq pebble.SeqNum, deleted int) {
	if deleted == 0 {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.bytes += uint64(deleted)
	u.batches = append(u.batches, deletingBatch{seq, uint64(deleted)})
}

// onFlushEnd forgets the batches that the tables of a flush contain. Others may have been applied since its
// memtables were full.
func (u *unflushed) onFlushEnd(info pebble.FlushInfo) {
	var last pebble.SeqNum
	for i := range info.Output {
		last = max(last, info.Output[i].LargestSeqNum)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	n := 0
	for ; n < len(u.batches) && u.batches[n].seq <= last; n++ {
		u.bytes -= u.batches[n].bytes
	}
	u.batches = slices.Delete(u.batches, 0, n)
}

// reclaimable estimates how many bytes of the disk deleted rows occupy.
func (u *unflushed) reclaimable(m *pebble.Metrics) uint64 {
	g := m.Table.Garbage
	u.mu.Lock()
	defer u.mu.Unlock()
	return min(g.PointDeletionsBytesEstimate+g.RangeDeletionsBytesEstimate+u.bytes, m.DiskSpaceUsage())
}

// ReclaimAll frees the disk space of deleted rows, and returns the size of the store before
// and after. Reads and writes go on meanwhile. It rewrites at most the tables that
// deletions overlap, which takes up to as long as writing the store anew. progress is called
// with the number of ranges compacted and the number found.
//
// When ctx ends, ReclaimAll returns ctx.Err(), and the compaction in flight ends on its own. If
// another ReclaimAll is in flight, the error is of kind Invalid. Close waits for it, so its
// caller should end ctx first.
func (s *Store) ReclaimAll(ctx context.Context, progress func(done, total int)) (Reclaimed, error) {
	if !s.reclaims.all.CompareAndSwap(false, true) {
		return Reclaimed{}, &kv.Error{Kind: kv.KindInvalid, Op: -1, Text: "another reclaim is running on this node",
			Hint: "wait for its end, or interrupt its command"}
	}
	defer s.reclaims.all.Store(false)
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return Reclaimed{}, errClosed
	}
	r, err := s.reclaimAll(ctx, progress)
	if err != nil && ctx.Err() != nil {
		return r, ctx.Err()
	}
	return r, reclaimError(err)
}

func (s *Store) reclaimAll(ctx context.Context, progress func(done, total int)) (Reclaimed, error) {
	r := Reclaimed{Before: s.db.Metrics().DiskSpaceUsage()}
	if err := s.flush(); err != nil {
		return r, fmt.Errorf("cannot flush deletions: %w", err)
	}
	c := compaction{s.db, s.opts.FS, s.dir}
	complete, err := false, error(nil)
	for pass := 0; pass < maxPasses && !complete; pass++ {
		complete, err = c.compactDeletions(ctx, progress)
		if err != nil {
			return r, err
		}
	}
	r.After, err = c.sizeWithoutObsolete(ctx)
	return r, err
}

// reclaimError gives an error of a reclaim its kind.
func reclaimError(err error) error {
	var known *kv.Error
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &kv.Error{Kind: kv.KindResourceExhausted, Op: -1, Text: "the disk has too little free space for a compaction",
			Hint: "free disk space outside of the store first"}
	case pebble.IsCorruptionError(err):
		return readError(err, nil)
	}
	return &kv.Error{Kind: kv.KindInternal, Op: -1, Text: "the reclaim failed: " + err.Error(), Hint: "check the disk"}
}

// compaction is one ReclaimAll on the tables of a store.
type compaction struct {
	db  *pebble.DB
	fs  vfs.FS
	dir string
}

// compactDeletions compacts the ranges that contain deletions. complete is false if it may have missed
// some.
func (c *compaction) compactDeletions(ctx context.Context, progress func(done, total int)) (complete bool, err error) {
	levels, err := c.tables(ctx)
	if err != nil {
		return false, err
	}
	ranges, complete, err := c.deletionRanges(ctx, levels)
	if err != nil {
		return false, err
	}
	for i, r := range ranges {
		progress(i, len(ranges))
		end := comparer.ImmediateSuccessor(nil, r.last[:enginekey.Split(r.last)])
		if err := c.db.Compact(ctx, r.first, end, false); err != nil {
			return false, fmt.Errorf("cannot compact deletions: %w", err)
		}
	}
	progress(len(ranges), len(ranges))
	return complete, nil
}

// tables lists the tables by level, when the statistics of all are known or statsTimeout has passed.
func (c *compaction) tables(ctx context.Context) (levels [][]pebble.SSTableInfo, err error) {
	err = poll(ctx, statsTimeout, func() (bool, error) {
		levels, err = c.db.SSTables()
		for _, level := range levels {
			for i := range level {
				if level[i].TableStats.NumEntries == 0 {
					return false, err
				}
			}
		}
		return true, err
	})
	return levels, err
}

// sizeWithoutObsolete returns the size of the store when the tables that compactions have replaced are
// removed, or removalTimeout has passed: readers may still use them.
func (c *compaction) sizeWithoutObsolete(ctx context.Context) (size uint64, err error) {
	err = poll(ctx, removalTimeout, func() (bool, error) {
		m := c.db.Metrics()
		size = m.DiskSpaceUsage()
		return m.Table.Local.ObsoleteSize+m.Table.Local.ZombieSize == 0, nil
	})
	return size, err
}

// poll calls done until it returns true or an error. A timeout is no error, the end of ctx is.
func poll(ctx context.Context, timeout time.Duration, done func() (bool, error)) error {
	for deadline := time.Now().Add(timeout); ; {
		ok, err := done()
		if ok || err != nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pollInterval):
		}
	}
}
