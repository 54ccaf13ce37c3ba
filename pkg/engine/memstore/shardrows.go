package memstore

import (
	"slices"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// reader is a view of a shard: a list of its rows, whose bytes are never changed.
type reader struct {
	rows    []engine.ShardRow
	replica []byte
	encoder engine.ChunkEncoder
}

// ReadShard implements engine.Engine.
func (s *Store) ReadShard(shard kv.ShardID) (engine.ShardReader, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, errClosed
	}
	r := &reader{}
	if rs := s.shards[shard]; rs != nil {
		r.rows = rs.all()
		if v, ok := rs.other[entry.TableReplica].Get(""); ok {
			r.replica = clone(v)
		}
	}
	return r, nil
}

// all lists the rows in the order of their encoded keys: the newest version of a key first.
func (rs *rows) all() (all []engine.ShardRow) {
	rs.versions.Scan(func(k string, c *chain) bool {
		for _, v := range slices.Backward(c.versions) {
			all = append(all, engine.ShardRow{Table: entry.TableVersion,
				Row: entry.Row{Key: []byte(k), CSN: v.csn, Value: v.value}})
		}
		return true
	})
	for t := range rs.other {
		rs.other[t].Scan(func(k string, v []byte) bool {
			all = append(all, engine.ShardRow{Table: entry.Table(t), Row: entry.Row{Key: []byte(k), Value: v}})
			return true
		})
	}
	return all
}

func (r *reader) Replica() []byte { return r.replica }

func (r *reader) Next() ([]byte, error) {
	for full := false; len(r.rows) > 0 && !full; r.rows = r.rows[1:] {
		full = r.encoder.Add(&r.rows[0])
	}
	return r.encoder.Chunk(), nil
}

func (*reader) Close() error { return nil }

// writer collects the new rows of a shard in a store of their own.
type writer struct {
	*engine.ChunkDecoder
	s     *Store
	shard kv.ShardID
	rows  *Store
}

// ReplaceShard implements engine.Engine.
func (s *Store) ReplaceShard(shard kv.ShardID) (engine.ShardWriter, error) {
	return &writer{ChunkDecoder: engine.NewChunkDecoder(shard), s: s, shard: shard, rows: NewAutoSync()}, nil
}

func (w *writer) Add(chunk []byte) error {
	return w.Decode(chunk, func(r *engine.ShardRow) error {
		w.rows.apply(w.shard, &entry.Entry{Table: r.Table, Key: r.Key, CSN: r.CSN, Value: r.Value}, nil)
		return nil
	})
}

// Replace is one batch: it is durable by SyncTo, and a crash before that reverts it.
func (w *writer) Replace() (engine.Position, error) {
	if err := w.Complete(); err != nil {
		return 0, err
	}
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errClosed
	}
	s.last++
	s.stats.Appends++
	old := s.swap(w.shard, w.rows.shard(w.shard))
	if s.autoSync {
		s.stats.Syncs++
		s.durable = s.last
	} else {
		s.undo = append(s.undo, batchUndo{at: s.last, ops: []undoOp{{shard: w.shard, rows: old}}})
	}
	return s.last, nil
}

func (*writer) Close() error { return nil }

// swap replaces the rows of a shard and returns those of before.
func (s *Store) swap(shard kv.ShardID, r *rows) (old *rows) {
	old = s.shard(shard)
	before, _ := old.check()
	after, _ := r.check()
	s.shards[shard] = r
	s.bytes = s.bytes - before + after
	return old
}
