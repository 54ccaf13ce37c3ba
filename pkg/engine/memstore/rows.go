package memstore

import (
	"fmt"
	"sort"

	"github.com/tidwall/btree"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// rows are those of one shard.
//
// Invariants:
//  1. no chain is empty;
//  2. the indexes of a chain rise.
type rows struct {
	versions btree.Map[string, *chain]
	// other has the tables above version, by their number.
	other [entry.LastTable + 1]btree.Map[string, []byte]
}

// chain is the versions of one key, oldest first, so that the usual write
// appends.
type chain struct {
	vs []version
}

// version is one version. Its value is never changed in place.
type version struct {
	index kv.Index
	value []byte
}

// above is the position of the oldest version with an index above i.
func (c *chain) above(i kv.Index) int {
	n := len(c.vs)
	if n == 0 || c.vs[n-1].index <= i {
		return n
	}
	return sort.Search(n, func(k int) bool { return c.vs[k].index > i })
}

// set puts a version in its place and returns what it replaced.
func (c *chain) set(v version) (old []byte, had bool) {
	at := c.above(v.index)
	if at > 0 && c.vs[at-1].index == v.index {
		old, c.vs[at-1].value = c.vs[at-1].value, v.value
		return old, true
	}
	c.vs = append(c.vs, version{})
	copy(c.vs[at+1:], c.vs[at:])
	c.vs[at] = v
	return nil, false
}

// remove takes a version away and returns it.
func (c *chain) remove(i kv.Index) (old []byte, had bool) {
	at := c.above(i) - 1
	if at < 0 || c.vs[at].index != i {
		return nil, false
	}
	old = c.vs[at].value
	copy(c.vs[at:], c.vs[at+1:])
	c.vs[len(c.vs)-1] = version{}
	c.vs = c.vs[:len(c.vs)-1]
	return old, true
}

// batchUndo is what one batch overwrote, in the order in which it did.
type batchUndo struct {
	at  engine.Position
	ops []undoOp
}

// undoOp puts one row back: to old if it had been there, else away.
type undoOp struct {
	shard kv.ShardID
	table entry.Table
	key   string
	index kv.Index
	old   []byte
	had   bool
}

func (s *Store) shard(id kv.ShardID) *rows {
	r := s.shards[id]
	if r == nil {
		r = &rows{}
		s.shards[id] = r
	}
	return r
}

// apply does one entry and notes in u how to undo it.
func (s *Store) apply(id kv.ShardID, e *entry.Entry, u *batchUndo) {
	key := string(e.Key)
	switch {
	case e.Action == entry.Set:
		value := append(make([]byte, 0, len(e.Value)), e.Value...)
		s.put(undoOp{shard: id, table: e.Table, key: key, index: e.Index, old: value, had: true}, u)
	case e.Action == entry.Delete:
		s.put(undoOp{shard: id, table: e.Table, key: key, index: e.Index}, u)
	case e.Table == entry.TableVersion:
		s.deleteVersionsBelow(id, key, e.Index, u)
	default:
		s.deleteRowsBelow(id, e.Table, key, u)
	}
}

// revert undoes a batch, last entry first.
func (s *Store) revert(u *batchUndo) {
	for i := len(u.ops) - 1; i >= 0; i-- {
		s.put(u.ops[i], nil)
	}
}

// put makes a row what op says and appends the opposite to u.
func (s *Store) put(op undoOp, u *batchUndo) {
	r := s.shard(op.shard)
	back := op
	if op.table == entry.TableVersion {
		back.old, back.had = r.putVersion(op)
	} else if op.had {
		back.old, back.had = r.other[op.table].Set(op.key, op.old)
	} else {
		back.old, back.had = r.other[op.table].Delete(op.key)
	}
	if back.had {
		s.bytes -= uint64(len(op.key) + len(back.old))
	}
	if op.had {
		s.bytes += uint64(len(op.key) + len(op.old))
	}
	if u != nil && !s.autoSync && (op.had || back.had) {
		u.ops = append(u.ops, back)
	}
}

func (r *rows) putVersion(op undoOp) (old []byte, had bool) {
	c, ok := r.versions.Get(op.key)
	if op.had {
		if !ok {
			c = &chain{}
			r.versions.Set(op.key, c)
		}
		return c.set(version{op.index, op.old})
	}
	if !ok {
		return nil, false
	}
	old, had = c.remove(op.index)
	if len(c.vs) == 0 {
		r.versions.Delete(op.key)
	}
	return old, had
}

func (s *Store) deleteVersionsBelow(id kv.ShardID, key string, below kv.Index, u *batchUndo) {
	c, ok := s.shard(id).versions.Get(key)
	if !ok {
		return
	}
	var gone []kv.Index
	for _, v := range c.vs {
		if v.index >= below {
			break
		}
		gone = append(gone, v.index)
	}
	for _, i := range gone {
		s.put(undoOp{shard: id, table: entry.TableVersion, key: key, index: i}, u)
	}
}

func (s *Store) deleteRowsBelow(id kv.ShardID, table entry.Table, below string, u *batchUndo) {
	var gone []string
	s.shard(id).other[table].Scan(func(k string, _ []byte) bool {
		if k >= below {
			return false
		}
		gone = append(gone, k)
		return true
	})
	for _, k := range gone {
		s.put(undoOp{shard: id, table: table, key: k}, u)
	}
}

// check verifies the invariants and counts the bytes stored.
func (r *rows) check() (size uint64, err error) {
	r.versions.Scan(func(k string, c *chain) bool {
		if len(c.vs) == 0 {
			err = fmt.Errorf("key %q has an empty chain", k)
		}
		for i, v := range c.vs {
			if i > 0 && c.vs[i-1].index >= v.index {
				err = fmt.Errorf("key %q: index %d follows %d", k, v.index, c.vs[i-1].index)
			}
			size += uint64(len(k) + len(v.value))
		}
		return err == nil
	})
	for t := range r.other {
		r.other[t].Scan(func(k string, v []byte) bool {
			size += uint64(len(k) + len(v))
			return true
		})
	}
	return size, err
}
