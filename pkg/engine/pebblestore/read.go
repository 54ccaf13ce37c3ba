package pebblestore

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/enginekey"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Read answers one question.
func (s *Store) Read(shard kv.ShardID, r entry.Read) (res entry.ReadResult) {
	res = entry.ReadResult{ID: r.ID, Kind: r.Kind}
	res.Err = engine.CheckRead(&r)
	if res.Err != nil {
		return res
	}
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		res.Err = errClosed
		return res
	}
	g := s.gaps.of(shard)
	g.swap.RLock()
	defer g.swap.RUnlock()
	if err := s.read(shard, &r, &res); err != nil {
		return entry.ReadResult{ID: r.ID, Kind: r.Kind, Err: readError(err, r.Key)}
	}
	return res
}

// read dispatches. Damaged blocks that pass their checksum make pebble panic;
// that is the block's fault, not the process'.
func (s *Store) read(shard kv.ShardID, r *entry.Read, res *entry.ReadResult) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &kv.Error{Kind: kv.KindCorrupt, Op: -1, Key: r.Key, Text: fmt.Sprintf("the store at %s cannot be read: %v",
				s.dir, p), Hint: hintRestore}
		}
	}()
	switch r.Kind {
	case entry.ReadKey:
		return s.readKey(shard, r, res)
	case entry.ReadRow:
		return s.readRow(shard, r, res)
	case entry.ReadRange:
		return s.readRange(shard, r, res)
	case entry.ReadPages:
		return s.readPages(shard, r, res)
	case entry.ReadRows:
		return s.readRows(shard, r, res)
	default:
		return s.readGarbage(shard, r, res)
	}
}

const hintRestore = "check the disk; restore the store from a backup"

// readError gives an error of the database a kind, and names the key that was
// read, if it is about one.
func readError(err error, key []byte) error {
	var known *kv.Error
	switch {
	case errors.As(err, &known):
		return known
	case pebble.IsCorruptionError(err):
		what, _, _ := strings.Cut(err.Error(), "\n") // the rest is the same again
		return &kv.Error{Kind: kv.KindCorrupt, Op: -1, Key: key, Text: "a file of the store is damaged: " + what,
			Hint: hintRestore}
	}
	return &kv.Error{Kind: kv.KindInternal, Op: -1, Text: "the store cannot be read: " + err.Error(),
		Hint: "check the disk"}
}

func clone(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }

func (s *Store) readKey(shard kv.ShardID, r *entry.Read, res *entry.ReadResult) (err error) {
	// Missing keys are asked for as often as present ones, so the lowest
	// level's bloom filters are worth their place too.
	it, err := s.db.NewIter(&pebble.IterOptions{UseL6Filters: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	seek := enginekey.AppendVersion(make([]byte, 0, len(r.Key)+24), shard, r.Key, r.CSN)
	if !it.SeekPrefixGE(seek) {
		return it.Error()
	}
	for {
		row, err := current(it, r.Key)
		if err != nil {
			return err
		}
		if _, err := engine.Live(r.Key, row.Value); err != nil {
			return err
		}
		res.Rows = append(res.Rows, row)
		if !entry.IsDelta(row.Value) {
			return nil
		}
		if !below(it, row.CSN, &seek) {
			if err := it.Error(); err != nil {
				return err
			}
			return engine.NoBaseError(r.Key)
		}
	}
}

// fewStale is over how many forgotten states of rows a step to the next row may
// lead before it is worth a seek. Somewhat arbitrary.
const fewStale = 32

// below goes to the row below the one at a CSN, of the same key. Of a row
// that was written over again and again there are as many states as long as
// they are in memory: a step passes over each of them, and a seek over all.
func below(it *pebble.Iterator, at kv.CSN, seek *[]byte) bool {
	if at == 0 {
		return false
	}
	steps := func() int {
		stats := it.Stats()
		return stats.ForwardStepCount[pebble.InternalIterCall] - stats.ForwardStepCount[pebble.InterfaceCall]
	}
	if n := it.Stats().ForwardStepCount[pebble.InterfaceCall]; n > 0 && steps() > fewStale*n {
		*seek = enginekey.AppendCSN((*seek)[:enginekey.Split(*seek)], at-1)
		return it.SeekPrefixGE(*seek)
	}
	return it.Next()
}

// current copies the version that it stands on, whose user key is known.
func current(it *pebble.Iterator, user []byte) (entry.Row, error) {
	csn, ok := enginekey.CSN(it.Key())
	if !ok {
		_, err := enginekey.Decode(it.Key(), nil)
		return entry.Row{}, err
	}
	v, err := it.ValueAndErr()
	if err != nil {
		return entry.Row{}, err
	}
	return entry.Row{Key: clone(user), CSN: csn, Value: clone(v)}, nil
}

func (s *Store) readRow(shard kv.ShardID, r *entry.Read, res *entry.ReadResult) error {
	v, closer, err := s.db.Get(enginekey.AppendPrefix(nil, shard, r.Table, r.Key))
	if errors.Is(err, pebble.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	res.Rows = []entry.Row{{Key: clone(r.Key), Value: clone(v)}}
	return closer.Close()
}

func (s *Store) readRows(shard kv.ShardID, r *entry.Read, res *entry.ReadResult) (err error) {
	lower, upper := enginekey.Bounds(shard, r.Table, r.Span)
	if enginekey.Compare(lower, upper) >= 0 {
		return nil
	}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for ok := it.First(); ok; ok = it.Next() {
		if n := len(res.Rows); r.Limit > 0 && n == r.Limit {
			res.Resume = kv.Next(res.Rows[n-1].Key)
			break
		}
		k, err := enginekey.Decode(it.Key(), nil)
		if err != nil {
			return err
		}
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		res.Rows = append(res.Rows, entry.Row{Key: clone(k.User), Value: clone(v)})
	}
	return it.Error()
}

// Recover visits the rows of the tables that a restarted shard needs.
func (s *Store) Recover(shard kv.ShardID, visit func(entry.Table, entry.Row) error) error {
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return errClosed
	}
	g := s.gaps.of(shard)
	g.swap.RLock()
	defer g.swap.RUnlock()
	for _, t := range engine.RecoverTables() {
		if err := s.recoverTable(shard, t, visit); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) recoverTable(shard kv.ShardID, table entry.Table, visit func(entry.Table, entry.Row) error) error {
	it, err := s.db.NewIter(&pebble.IterOptions{
		LowerBound: enginekey.AppendTableStart(nil, shard, table),
		UpperBound: enginekey.AppendTableStart(nil, shard, table+1),
	})
	if err != nil {
		return readError(err, nil)
	}
	for ok := it.First(); ok; ok = it.Next() {
		k, err := enginekey.Decode(it.Key(), nil)
		var v []byte
		if err == nil {
			v, err = it.ValueAndErr()
		}
		if err != nil {
			return readError(errors.Join(err, it.Close()), nil)
		}
		if err := visit(table, entry.Row{Key: k.User, Value: clone(v)}); err != nil {
			_ = it.Close()
			return err
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return readError(err, nil)
	}
	return nil
}
