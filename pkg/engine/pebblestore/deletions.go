package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sort"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/linchpindb/linchpin/pkg/engine/enginekey"
)

// deletionRanges are the key ranges of deletions, one for each table of the last level that
// they overlap. What is behind the last table counts as one more.
type deletionRanges struct {
	bottom []pebble.SSTableInfo
	of     []span // first is nil if there are no deletions
}

// deletionRanges reads the tables that contain deletions and returns the ranges in the
// order of keys. It leaves out the last level, from which pebble removes deletions on its own. Tables
// that a compaction removes meanwhile are skipped; then complete is false, since their deletions may be
// in other tables now.
func (c *compaction) deletionRanges(ctx context.Context, levels [][]pebble.SSTableInfo) (ranges []span, complete bool,
	err error) {
	complete = true
	bottom := levels[len(levels)-1]
	d := &deletionRanges{bottom, make([]span, len(bottom)+1)}
	o := &pebble.Options{Comparer: comparer}
	o.EnsureDefaults()
	for _, level := range levels[:len(levels)-1] {
		for i := range level {
			if level[i].TableStats.NumDeletions == 0 {
				continue
			}
			if ctx.Err() != nil {
				return nil, false, ctx.Err()
			}
			err := c.readDeletions(ctx, &level[i], o.MakeReaderOptions(), d)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				complete = false
			case err != nil:
				return nil, false, fmt.Errorf("cannot read deletions: %w", err)
			}
		}
	}
	for _, r := range d.of {
		if r.first != nil {
			ranges = append(ranges, r)
		}
	}
	return ranges, complete, nil
}

// readDeletions adds the deletions of a table to d.
func (c *compaction) readDeletions(ctx context.Context, t *pebble.SSTableInfo, o sstable.ReaderOptions,
	d *deletionRanges) (failed error) {
	f, err := c.fs.Open(c.fs.PathJoin(c.dir, t.BackingSSTNum.String()+tableSuffix), vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	r, err := sstable.NewReader(ctx, readable, o)
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	defer func() { failed = errors.Join(failed, r.Close()) }()
	points, err := r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return err
	}
	for row := points.First(); row != nil; row = points.Next() {
		switch row.Kind() {
		case pebble.InternalKeyKindDelete, pebble.InternalKeyKindDeleteSized:
			d.add(row.K.UserKey, row.K.UserKey)
		}
	}
	if err := errors.Join(points.Error(), points.Close()); err != nil {
		return err
	}
	ranges, err := r.NewRawRangeDelIter(ctx, sstable.NoFragmentTransforms, sstable.NoReadEnv)
	if err != nil || ranges == nil {
		return err
	}
	defer ranges.Close()
	next, err := ranges.First()
	for ; next != nil; next, err = ranges.Next() {
		d.add(next.Start, next.End)
	}
	return err
}

// add adds the deletion of all keys from first to last.
func (d *deletionRanges) add(first, last []byte) {
	i := sort.Search(len(d.bottom), func(i int) bool { return enginekey.Compare(d.bottom[i].Largest.UserKey, first) >= 0 })
	for ; i < len(d.bottom) && enginekey.Compare(d.bottom[i].Largest.UserKey, last) < 0; i++ {
		d.widen(i, first, d.bottom[i].Largest.UserKey)
		first = d.bottom[i].Largest.UserKey
	}
	d.widen(i, first, last)
}

// widen makes the range of a table include the keys from first to last.
func (d *deletionRanges) widen(i int, first, last []byte) {
	r := &d.of[i]
	if r.first == nil || enginekey.Compare(first, r.first) < 0 {
		r.first = clone(first)
	}
	if r.last == nil || enginekey.Compare(last, r.last) > 0 {
		r.last = clone(last)
	}
}
