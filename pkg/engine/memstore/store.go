// Package memstore is an engine in memory, for simulations and for tests of the layers above an engine. It
// starts no goroutine and reads no clock, so that a simulation is a function of its seed.
//
// It differs from the store on disk in one respect: the simulation controls durability. Batches are applied
// at once and become durable by SyncTo. Crash reverts a suffix of the batches, never a durable one, and
// leaves the store as if it had been reopened.
//
// For every batch that is not durable the store records what its entries have overwritten, and a crash
// restores that in reverse order. SyncTo drops these records. So appends and syncs are cheap, and a crash
// costs as much as the work that is lost.
//
// The versions of a key are a slice ordered by CSN; keys are in a B-tree per shard, so that ranges are
// walks.
package memstore

import (
	"errors"
	"fmt"
	"sync"

	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Store implements engine.Engine.
type Store struct {
	// autoSync makes every batch durable at once.
	autoSync bool

	mu sync.RWMutex
	// changed is signalled when durable increases or the store is closed.
	changed *sync.Cond
	shards  map[kv.ShardID]*rows
	// undo has a batch for each position above durable, oldest first.
	undo []batchUndo
	// last is the newest position, durable the newest durable one. durable <= last, and len(undo) == last -
	// durable unless autoSync or a crash skipped positions.
	last, durable engine.Position
	bytes         uint64
	closed        bool
	stats         engine.Stats
}

var _ engine.Engine = (*Store)(nil)

// New makes an empty store whose batches become durable by SyncTo only.
func New() *Store {
	s := &Store{shards: map[kv.ShardID]*rows{}}
	s.changed = sync.NewCond(&s.mu)
	return s
}

// NewAutoSync makes an empty store whose batches are durable when they are appended, for use outside of a
// simulation.
func NewAutoSync() *Store {
	s := New()
	s.autoSync = true
	return s
}

var errClosed = &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "the store is closed"}

// Append implements engine.Engine. It records how to undo the batch.
func (s *Store) Append(groups []entry.Group) (engine.Position, error) {
	for i := range groups {
		for j := range groups[i].Entries {
			if err := engine.CheckEntry(&groups[i].Entries[j]); err != nil {
				return 0, err
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, errClosed
	}
	s.last++
	u := batchUndo{at: s.last}
	for i := range groups {
		for j := range groups[i].Entries {
			s.apply(groups[i].Shard, &groups[i].Entries[j], &u)
			s.stats.Entries++
		}
	}
	s.stats.Appends++
	if s.autoSync {
		s.stats.Syncs++
		s.durable = s.last
	} else {
		s.undo = append(s.undo, u)
	}
	return s.last, nil
}

// SyncTo makes all batches up to p durable. A position that is already durable, or was lost in a crash, has
// no effect.
func (s *Store) SyncTo(p engine.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for n < len(s.undo) && s.undo[n].at <= p {
		s.durable = s.undo[n].at
		s.undo[n] = batchUndo{}
		n++
	}
	if n == 0 {
		return
	}
	s.undo = s.undo[n:]
	s.stats.Syncs++
	s.changed.Broadcast()
}

// Durable is the newest durable position.
func (s *Store) Durable() engine.Position {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.durable
}

// Last is the newest position.
func (s *Store) Last() engine.Position {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.last
}

// Crash reverts every batch above keep that is not durable. What remains is a prefix of the batches that
// contains all durable ones, and all of it is durable. The store is open afterwards, even if it was closed.
// Positions continue from the last one, so that a lost position never identifies another batch.
func (s *Store) Crash(keep engine.Position) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := len(s.undo) - 1; i >= 0 && s.undo[i].at > keep; i-- {
		s.revert(&s.undo[i])
	}
	s.undo = nil
	s.durable = s.last
	s.closed = false
	s.stats = engine.Stats{}
	s.changed.Broadcast()
}

// WaitDurable waits for another goroutine to call SyncTo; with NewAutoSync it returns at once.
func (s *Store) WaitDurable(p engine.Position) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p > s.last {
		return kv.Errorf(kv.KindInternal, "position %d does not exist; the last is %d", p, s.last)
	}
	for s.durable < p && !s.closed {
		s.changed.Wait()
	}
	if s.durable < p {
		return errClosed
	}
	return nil
}

// Stats returns statistics since the store was made or crashed.
func (s *Store) Stats() engine.Stats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	st := s.stats
	st.DiskBytes = s.bytes
	return st
}

// Close makes everything durable. The rows remain: Crash reopens the store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	s.undo, s.durable, s.closed = nil, s.last, true
	s.changed.Broadcast()
	return nil
}

// Check verifies the store's invariants and returns the violations.
func (s *Store) Check() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.durable > s.last {
		return fmt.Errorf("memstore: durable %d is after last %d", s.durable, s.last)
	}
	at := s.durable
	for i := range s.undo {
		if s.undo[i].at <= at {
			return fmt.Errorf("memstore: undo notes out of order at %d", s.undo[i].at)
		}
		at = s.undo[i].at
	}
	var size uint64
	var errs []error
	for id, r := range s.shards {
		n, err := r.check()
		if err != nil {
			errs = append(errs, fmt.Errorf("memstore: shard %v: %w", id, err))
		}
		size += n
	}
	if size != s.bytes {
		errs = append(errs, fmt.Errorf("memstore: %d bytes counted, %d stored", s.bytes, size))
	}
	return errors.Join(errs...)
}
