package pebblestore

import (
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/enginekey"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// readPages finds the pages that no version names, in one state of the store: a
// page and what names it come in one batch.
func (s *Store) readPages(shard kv.ShardID, r *entry.Read, res *entry.ReadResult) (err error) {
	snap := s.db.NewSnapshot()
	defer func() { err = errors.Join(err, snap.Close()) }()
	lower, upper := enginekey.Bounds(shard, entry.TablePage, r.Span)
	if enginekey.Compare(lower, upper) >= 0 {
		return nil
	}
	it, err := snap.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	w := engine.PageWalk{Limit: r.Limit, Versions: func(user []byte,
		visit func([]byte)) error {
		return versions(snap, shard, user, visit)
	}}
	var room []byte
	for ok := it.First(); ok; ok = it.Next() {
		k, err := enginekey.Decode(it.Key(), room)
		if err != nil {
			return err
		}
		room = k.User
		if !w.Page(k.User) {
			break
		}
	}
	if err := errors.Join(it.Error(), w.End()); err != nil {
		return err
	}
	res.Garbage, res.Resume = w.Garbage, w.Resume
	return nil
}

// versions visits the values of all versions of a key.
func versions(snap *pebble.Snapshot, shard kv.ShardID, user []byte, visit func([]byte)) (err error) {
	lower, upper := enginekey.Bounds(shard, entry.TableVersion, kv.Point(user))
	it, err := snap.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		visit(v)
	}
	return it.Error()
}
