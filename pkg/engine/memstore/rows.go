package memstore

import (
	"fmt"
	"sort"

	"github.com/tidwall/btree"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// rows are the rows of one shard.
//
// Invariants:
//
//  1. No chain is empty.
//  2. The CSNs of a chain are ascending.
type rows struct {
	versions btree.Map[string, *chain]
	// other are the tables above version, by number.
	other [entry.LastTable + 1]btree.Map[string, []byte]
}

// chain is the versions of one key, oldest first, so that a normal write appends.
type chain struct {
	versions []version
}

// version is one version. Its value is never changed in place.
type version struct {
	csn   kv.CSN
	value []byte
}

// positionAbove returns the position of the oldest version with a CSN above i.
func (c *chain) positionAbove(i kv.CSN) int {
	n := len(c.versions)
	if n == 0 || c.versions[n-1].csn <= i {
		return n
	}
	return sort.Search(n, func(k int) bool { return c.versions[k].csn > i })
}

// set inserts a version and returns the one that it replaces.
func (c *chain) set(v version) (old []byte, had bool) {
	at := c.positionAbove(v.csn)
	if at > 0 && c.versions[at-1].csn == v.csn {
		old, c.versions[at-1].value = c.versions[at-1].value, v.value
		return old, true
	}
	c.versions = append(c.versions, version{})
	copy(c.versions[at+1:], c.versions[at:])
	c.versions[at] = v
	return nil, false
}

// remove removes a version and returns it.
func (c *chain) remove(i kv.CSN) (old []byte, had bool) {
	at := c.positionAbove(i) - 1
	if at < 0 || c.versions[at].csn != i {
		return nil, false
	}
	old = c.versions[at].value
	copy(c.versions[at:], c.versions[at+1:])
	c.versions[len(c.versions)-1] = version{}
	c.versions = c.versions[:len(c.versions)-1]
	return old, true
}

// batchUndo is what one batch has overwritten, in order.
type batchUndo struct {
	at  engine.Position
	ops []undoOp
}

// undoOp restores one row: to old if it existed, else it deletes the row.
type undoOp struct {
	shard kv.ShardID
	table entry.Table
	key   string
	csn   kv.CSN
	old   []byte
	had   bool
	// rows are all rows of the shard, if the batch has replaced them.
	rows *rows
}

func (s *Store) shard(id kv.ShardID) *rows {
	r := s.shards[id]
	if r == nil {
		r = &rows{}
		s.shards[id] = r
	}
	return r
}

// apply applies one entry and records in u how to undo it.
func (s *Store) apply(id kv.ShardID, e *entry.Entry, u *batchUndo) {
	key := string(e.Key)
	switch {
	case e.Action == entry.Set:
		value := append(make([]byte, 0, len(e.Value)), e.Value...)
		s.put(undoOp{shard: id, table: e.Table, key: key, csn: e.CSN, old: value, had: true}, u)
	case e.Action == entry.Delete:
		s.put(undoOp{shard: id, table: e.Table, key: key, csn: e.CSN}, u)
	case e.Table == entry.TableVersion:
		s.deleteVersionsBelow(id, key, e.CSN, u)
	default:
		s.deleteRowsBelow(id, e.Table, key, u)
	}
}

// revert undoes a batch, last entry first.
func (s *Store) revert(u *batchUndo) {
	for i := len(u.ops) - 1; i >= 0; i-- {
		if r := u.ops[i].rows; r != nil {
			s.swap(u.ops[i].shard, r)
			continue
		}
		s.put(u.ops[i], nil)
	}
}

// put applies op and appends its inverse to u.
func (s *Store) put(op undoOp, u *batchUndo) {
	r := s.shard(op.shard)
	inverse := op
	if op.table == entry.TableVersion {
		inverse.old, inverse.had = r.putVersion(op)
	} else if op.had {
		inverse.old, inverse.had = r.other[op.table].Set(op.key, op.old)
	} else {
		inverse.old, inverse.had = r.other[op.table].Delete(op.key)
	}
	if inverse.had {
		s.bytes -= uint64(len(op.key) + len(inverse.old))
	}
	if op.had {
		s.bytes += uint64(len(op.key) + len(op.old))
	}
	if u != nil && !s.autoSync && (op.had || inverse.had) {
		u.ops = append(u.ops, inverse)
	}
}

func (r *rows) putVersion(op undoOp) (old []byte, had bool) {
	c, ok := r.versions.Get(op.key)
	if op.had {
		if !ok {
			c = &chain{}
			r.versions.Set(op.key, c)
		}
		return c.set(version{op.csn, op.old})
	}
	if !ok {
		return nil, false
	}
	old, had = c.remove(op.csn)
	if len(c.versions) == 0 {
		r.versions.Delete(op.key)
	}
	return old, had
}

func (s *Store) deleteVersionsBelow(id kv.ShardID, key string, below kv.CSN, u *batchUndo) {
	c, ok := s.shard(id).versions.Get(key)
	if !ok {
		return
	}
	var deleted []kv.CSN
	for _, v := range c.versions {
		if v.csn >= below {
			break
		}
		deleted = append(deleted, v.csn)
	}
	for _, i := range deleted {
		s.put(undoOp{shard: id, table: entry.TableVersion, key: key, csn: i}, u)
	}
}

func (s *Store) deleteRowsBelow(id kv.ShardID, table entry.Table, below string, u *batchUndo) {
	var deleted []string
	s.shard(id).other[table].Scan(func(k string, _ []byte) bool {
		if k >= below {
			return false
		}
		deleted = append(deleted, k)
		return true
	})
	for _, k := range deleted {
		s.put(undoOp{shard: id, table: table, key: k}, u)
	}
}

// check verifies the invariants and returns the number of stored bytes.
func (r *rows) check() (size uint64, err error) {
	r.versions.Scan(func(k string, c *chain) bool {
		if len(c.versions) == 0 {
			err = fmt.Errorf("key %q has an empty chain", k)
		}
		for i, v := range c.versions {
			if i > 0 && c.versions[i-1].csn >= v.csn {
				err = fmt.Errorf("key %q: CSN %d follows %d", k, v.csn, c.versions[i-1].csn)
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
