package pebblestore

import (
	"github.com/cockroachdb/pebble/v2"

	"github.com/linchpindb/linchpin/pkg/engine/enginekey"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// fewVersions is up to how many old versions of a key are deleted one by one.
// Measured: with ten thousand range deletions in the memtable
// each new one costs the next reader half a millisecond, where a
// single deletion costs a few microseconds. So only chains for which the
// deletions themselves would be much are worth a range.
const fewVersions = 64

// encoder makes batches of entries, for the one goroutine at a time that calls Append.
type encoder struct {
	db       *pebble.DB
	reclaims *reclaims
	// key and note are scratch.
	key, note []byte
	// deleted is the size of the rows that the last batch deletes, in bytes: a lower bound.
	deleted int
}

// encode adds a note and the entries of all groups to the batch, in order.
func (c *encoder) encode(b *pebble.Batch, n note, groups []entry.Group) error {
	c.note = n.append(c.note[:0])
	c.deleted = 0
	if err := b.LogData(c.note, nil); err != nil {
		return readError(err, nil)
	}
	// own has the keys of which the batch itself wrote versions; it is kept
	// only when something below asks for it.
	var own map[string]bool
	if deletesVersions(groups) {
		own = map[string]bool{}
	}
	for i := range groups {
		for j := range groups[i].Entries {
			if err := c.encodeEntry(b, groups[i].Shard, &groups[i].Entries[j], own); err != nil {
				return readError(err, nil)
			}
		}
	}
	return nil
}

func deletesVersions(groups []entry.Group) bool {
	for i := range groups {
		for j := range groups[i].Entries {
			e := &groups[i].Entries[j]
			if e.Action == entry.DeleteBelow && e.Table == entry.TableVersion {
				return true
			}
		}
	}
	return false
}

func (c *encoder) encodeEntry(b *pebble.Batch, shard kv.ShardID, e *entry.Entry, own map[string]bool) error {
	if e.Action != entry.Set {
		c.reclaims.deleted(shard, e.Table, e.Key)
	}
	switch {
	case e.Action == entry.Set:
		k := c.rowKey(shard, e)
		if own != nil && e.Table == entry.TableVersion {
			own[string(k[:enginekey.Split(k)])] = true
		}
		return b.Set(k, e.Value, nil)
	case e.Action == entry.Delete:
		return b.Delete(c.rowKey(shard, e), nil)
	case e.Table == entry.TableVersion:
		return c.deleteVersions(b, shard, e, own)
	default:
		start := enginekey.AppendTableStart(nil, shard, e.Table)
		return b.DeleteRange(start, c.rowKey(shard, e), nil)
	}
}

// rowKey encodes the key of an entry into the scratch.
func (c *encoder) rowKey(shard kv.ShardID, e *entry.Entry) []byte {
	c.key = enginekey.AppendPrefix(c.key[:0], shard, e.Table, e.Key)
	if e.Table == entry.TableVersion {
		c.key = enginekey.AppendCSN(c.key, e.CSN)
	}
	return c.key
}

// deleteVersions removes the versions of e.Key below e.CSN. The newest of
// them sorts first.
func (c *encoder) deleteVersions(b *pebble.Batch, shard kv.ShardID, e *entry.Entry, own map[string]bool) error {
	if e.CSN == 0 {
		return nil
	}
	start := enginekey.AppendVersion(nil, shard, e.Key, e.CSN-1)
	end := enginekey.AppendPrefixEnd(nil, shard, e.Table, e.Key)
	// What this batch itself wrote is not seen by looking into the store.
	if own[string(start[:enginekey.Split(start)])] {
		return b.DeleteRange(start, end, nil)
	}
	few, ok := c.fewBetween(start, end)
	if !ok {
		return b.DeleteRange(start, end, nil)
	}
	for _, v := range few {
		if err := b.DeleteSized(v.key, v.valueBytes, nil); err != nil {
			return err
		}
	}
	return nil
}

// stored is the key of a version, and the size of its value.
type stored struct {
	key        []byte
	valueBytes uint32
}

// fewBetween lists the versions from start to end; ok is false when they
// are more than a few, or cannot be read. What garbage collection deletes it
// has just read, so this rarely waits for the disk.
func (c *encoder) fewBetween(start, end []byte) (few []stored, ok bool) {
	it, err := c.db.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return nil, false
	}
	bytes := 0
	for at := it.SeekPrefixGE(start); at && len(few) <= fewVersions; at = it.Next() {
		value := it.LazyValue() // only its length is read
		few = append(few, stored{clone(it.Key()), uint32(value.Len())})
		bytes += len(it.Key()) + value.Len()
	}
	c.deleted += bytes // a lower bound if they are more
	return few, it.Close() == nil && len(few) <= fewVersions
}
