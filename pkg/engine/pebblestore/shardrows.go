package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/enginekey"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// shardBounds is the range of the encoded keys of all rows of a shard.
func shardBounds(shard kv.ShardID) (start, end []byte) {
	start = []byte{byte(shard >> 8), byte(shard)}
	return start, []byte{byte((shard + 1) >> 8), byte(shard + 1)}
}

// shardReader reads with one iterator, which keeps the tables and memtables of its view. A snapshot of pebble would
// not do: it loses the rows that a replacement excises.
type shardReader struct {
	s       *Store
	it      *pebble.Iterator
	valid   bool
	replica []byte
	encoder engine.ChunkEncoder
}

// ReadShard implements engine.Engine.
func (s *Store) ReadShard(shard kv.ShardID) (_ engine.ShardReader, err error) {
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return nil, errClosed
	}
	g := s.gaps.of(shard)
	g.swap.RLock()
	defer g.swap.RUnlock()
	start, end := shardBounds(shard)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return nil, readError(err, nil)
	}
	r := &shardReader{s: s, it: it}
	key := enginekey.AppendPrefix(nil, shard, entry.TableReplica, nil)
	err = guard(func() error {
		if it.SeekGE(key) && string(it.Key()) == string(key) {
			r.replica = clone(it.Value())
		}
		r.valid = it.First()
		return it.Error()
	})
	if err != nil {
		return nil, errors.Join(err, it.Close())
	}
	return r, nil
}

// guard calls a function that reads, with damage as its error.
func guard(read func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v: %w", p, pebble.ErrCorruption)
		}
		if err != nil {
			err = readError(err, nil)
		}
	}()
	return read()
}

func (r *shardReader) Replica() []byte { return r.replica }

func (r *shardReader) Next() (chunk []byte, err error) {
	r.s.life.RLock()
	defer r.s.life.RUnlock()
	if r.s.closed {
		return nil, errClosed
	}
	err = guard(func() error {
		var user []byte
		for full := false; r.valid && !full; r.valid = r.it.Next() {
			k, err := enginekey.Decode(r.it.Key(), user)
			if err != nil {
				return err
			}
			user = k.User
			value, err := r.it.ValueAndErr()
			if err != nil {
				return err
			}
			full = r.encoder.Add(&engine.ShardRow{Table: k.Table, Row: entry.Row{Key: k.User, CSN: k.CSN, Value: value}})
		}
		return r.it.Error()
	})
	if err != nil {
		return nil, err
	}
	return r.encoder.Chunk(), nil
}

func (r *shardReader) Close() error { return r.it.Close() }

// incoming is how the names of tables begin that are not part of the store yet. A crash leaves them, and the next start
// removes them.
const incoming = "incoming-"

// removeIncoming removes what a crash has left of replacements.
func removeIncoming(fsys vfs.FS, dir string) error {
	names, err := fsys.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, incoming) {
			err = errors.Join(err, fsys.Remove(fsys.PathJoin(dir, name)))
		}
	}
	return err
}

// shardWriter builds tables of the new rows, which replace the others in one edit of the manifest.
type shardWriter struct {
	*engine.ChunkDecoder
	s     *Store
	shard kv.ShardID
	// paths are the tables, and table is the last one, nil if it is complete. bytes are those in it.
	paths []string
	table *sstable.Writer
	bytes int
	key   []byte
}

// incomingBytes bounds a table, and one row more.
const incomingBytes = 32 << 20

// ReplaceShard implements engine.Engine.
func (s *Store) ReplaceShard(shard kv.ShardID) (engine.ShardWriter, error) {
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return nil, errClosed
	}
	if err := checkBeside(s.db, shard); err != nil {
		return nil, err
	}
	return &shardWriter{ChunkDecoder: engine.NewChunkDecoder(shard), s: s, shard: shard}, nil
}

func (w *shardWriter) Add(chunk []byte) error { return w.Decode(chunk, w.add) }

func (w *shardWriter) add(r *engine.ShardRow) error {
	if w.table == nil {
		if err := w.create(); err != nil {
			return readError(err, nil)
		}
	}
	w.key = enginekey.Key{Shard: w.shard, Table: r.Table, User: r.Key, CSN: r.CSN}.Append(w.key[:0])
	if err := w.table.Set(w.key, r.Value); err != nil {
		return readError(err, nil)
	}
	w.bytes += len(w.key) + len(r.Value)
	if w.bytes < incomingBytes {
		return nil
	}
	return w.complete()
}

func (w *shardWriter) create() error {
	s := w.s
	path := s.opts.FS.PathJoin(s.dir, fmt.Sprintf("%s%d-%d%s", incoming, s.incoming.Add(1), w.shard, tableSuffix))
	f, err := s.opts.FS.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	w.paths, w.bytes = append(w.paths, path), 0
	o := s.pebbleOptions(s.opts.FS, nil, true)
	o.EnsureDefaults()
	w.table = sstable.NewWriter(objstorageprovider.NewFileWritable(f),
		o.MakeWriterOptions(0, s.db.FormatMajorVersion().MaxTableFormat()))
	return nil
}

// complete syncs the table.
func (w *shardWriter) complete() error {
	t := w.table
	w.table = nil
	if t == nil {
		return nil
	}
	if err := t.Close(); err != nil {
		return readError(err, nil)
	}
	return nil
}

// Replace implements engine.ShardWriter. What it replaces by is durable when it returns. Without a log, it waits in
// memory behind earlier batches of the shard, and may be durable before those of other shards.
func (w *shardWriter) Replace() (engine.Position, error) {
	if err := w.complete(); err != nil {
		return 0, err
	}
	if err := w.Complete(); err != nil {
		return 0, err
	}
	s := w.s
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return 0, errClosed
	}
	if err := s.failure(); err != nil {
		return 0, err
	}
	if err := checkBeside(s.db, w.shard); err != nil {
		return 0, err
	}
	start, end := shardBounds(w.shard)
	g := s.gaps.of(w.shard)
	g.swap.Lock()
	g.drop()
	_, err := s.db.IngestAndExcise(context.Background(), w.paths, nil, nil, pebble.KeyRange{Start: start, End: end})
	g.swap.Unlock()
	if err != nil {
		return 0, s.fail(err)
	}
	if err := s.failure(); err != nil {
		return 0, err
	}
	w.paths = nil // pebble has removed them
	return engine.Position(s.last.Load()), nil
}

// checkBeside reads the rows before those of a shard, and after them. If a block there is damaged, an excision of the
// shard would succeed all the same, and lose the rows beside it, which belong to other shards: pebble takes the block
// for the end of its table.
func checkBeside(db *pebble.DB, shard kv.ShardID) error {
	start, end := shardBounds(shard)
	it, err := db.NewIter(nil)
	if err != nil {
		return readError(err, nil)
	}
	it.SeekLT(start)
	err = it.Error()
	it.SeekGE(end)
	err = errors.Join(err, it.Error(), it.Close())
	if err == nil {
		return nil
	}
	return &kv.Error{Kind: kv.KindCorrupt, Op: -1,
		Text: fmt.Sprintf("the rows of %v cannot be replaced, since those beside them are damaged: %v", shard, err),
		Hint: "check the disk, empty the node's directory, and start it again: its replicas are made anew from the others"}
}

func (w *shardWriter) Close() error {
	err := w.complete()
	for _, path := range w.paths {
		err = errors.Join(err, w.s.opts.FS.Remove(path))
	}
	w.paths = nil
	return err
}
