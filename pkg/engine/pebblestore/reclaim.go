package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/linchpindb/linchpin/pkg/engine/enginekey"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// What is deleted gives its room back when compactions have carried the deletions
// down to what they delete, and compactions go by how much has been written. A disk
// that is nearly full takes no writes but deletions, which are small: they would lie
// in the memtable for ever, and so would what they delete on the disk. So while the
// disk is short of room the store notes between which rows it has deleted, table by
// table, and Reclaim has just those compacted.

// reclaims are the rows among which something was deleted.
type reclaims struct {
	// on: notes are taken.
	on atomic.Bool
	// all: ReclaimAll is in flight.
	all atomic.Bool

	mu    sync.Mutex
	among map[tableOf]span
}

// tableOf names a table of a shard.
type tableOf struct {
	shard kv.ShardID
	table entry.Table
}

// span is from a user key to another, both included.
type span struct{ first, last []byte }

// Sparing says whether the disk is short of room, so that what is deleted is noted for
// Reclaim. It may be called by any goroutine.
func (s *Store) Sparing(on bool) {
	s.reclaims.on.Store(on)
	if !on {
		s.reclaims.take()
	}
}

// deleted notes that rows of a user key are deleted.
func (r *reclaims) deleted(shard kv.ShardID, table entry.Table, key []byte) {
	if !r.on.Load() || table != entry.TableVersion && table != entry.TablePage {
		return // the other tables are small
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	at := tableOf{shard, table}
	known, ok := r.among[at]
	if r.among == nil {
		r.among = map[tableOf]span{}
	}
	if !ok || bytes.Compare(key, known.first) < 0 {
		known.first = clone(key)
	}
	if !ok || bytes.Compare(key, known.last) > 0 {
		known.last = clone(key)
	}
	r.among[at] = known
}

// take gives what was noted, and forgets it.
func (r *reclaims) take() map[tableOf]span {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := r.among
	r.among = nil
	return out
}

// Reclaim has what was deleted since the last call give its room back, if it was
// noted (Sparing): it rewrites the tables that have rows among what was deleted. That
// takes from milliseconds to, for a store whose keys are deleted all over the place,
// as long as to write it; and for a moment it needs room for one compaction's
// tables. What could not be rewritten is left for the store's own compactions. It ends
// early when ctx does. Close waits for it.
func (s *Store) Reclaim(ctx context.Context) error {
	s.life.RLock()
	defer s.life.RUnlock()
	if s.closed {
		return errClosed
	}
	for at, among := range s.reclaims.take() {
		start := enginekey.AppendPrefix(nil, at.shard, at.table, among.first)
		end := enginekey.AppendPrefixEnd(nil, at.shard, at.table, among.last)
		if err := s.db.Compact(ctx, start, end, false); err != nil {
			return fmt.Errorf("pebblestore: cannot compact deleted data: %w", err)
		}
	}
	return nil
}
