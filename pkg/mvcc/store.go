package mvcc

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Intent is a prepared write of a key.
type Intent struct {
	Txn    kv.TxnRef
	Effect *entry.Effect
}

// Item is a key in memory.
type Item struct {
	Key []byte
	// Value is the newest visible value; valid if Loaded.
	Value entry.Value
	// CSN is the CSN of the row that holds Value, 0 if there is none. Value became visible at this
	// CSN, or later if no read is possible in between.
	CSN    kv.CSN
	Loaded bool
	// referencedAgain is the clock's reference bit: the item was used since it entered the cache or
	// was skipped.
	referencedAgain bool
	// refs counts the references. At this position it adds no padding.
	refs int32
	// Loading is the number of the read in flight, 0 if there is none.
	Loading uint64
	Intents []Intent
	// Used is the time of the last use since the item was loaded, in nanoseconds of the shard's
	// clock, and UsedAs its mode, adt.ModeNone before the first. Heat is measured by them.
	Used   int64
	UsedAs adt.Mode
	// Step and EntryIndex locate the last write of the value by the shard: the number of the step and the
	// position among its entries. DeferredIndex is the position among those encoded at the end of the
	// step, if it is one.
	Step                      uint64
	EntryIndex, DeferredIndex int
	// Chain describes the rows below the one that holds Value, if that is a delta.
	Chain
	// Waiting are the callers to notify when the item is loaded.
	Waiting []any
	// Loads are the reads of pages of its value in flight.
	Loads []*Load

	// size is the memory that is charged to the cache.
	size int
	// newer and older are the neighbours in the cache's ring; nil if the item is not in it.
	newer, older *Item
}

// Load is a read of a page in flight.
type Load struct {
	Page adt.Page
	// Waiting are the callers to notify when the page is loaded.
	Waiting []any
}

// References returns the number of references.
func (it *Item) References() int { return int(it.refs) }

const (
	// itemOverhead approximates the memory of an item beyond key and value, in bytes.
	itemOverhead = 200
	// pageOverhead approximates the memory of a page's entry in the directory, whether the page is
	// loaded or not.
	pageOverhead = 300
)

// memoryBytes approximates the memory of the item.
func (it *Item) memoryBytes() int {
	return itemOverhead + 2*len(it.Key) + adt.Memory(&it.Value) + pageOverhead*len(it.Pages)
}

// Store holds the keys of a shard that are in memory.
type Store struct {
	items map[string]*Item
	// ring is the sentinel of the ring of cached items: its older neighbour is the newest item, its
	// newer neighbour the next to evict. An item that is used again stays in its position and is
	// skipped once (clock algorithm): moving it at each use would touch two other items, which are
	// rarely in the processor's cache. Referenced items may be in the ring.
	ring         Item
	unreferenced int
	bytes        int // of items without references
	refs         int // of all items together
	limit        int
}

// NewStore returns a store whose cache (items without references) has a limit in bytes.
func NewStore(limit int) *Store {
	s := &Store{items: map[string]*Item{}, limit: limit}
	s.ring.newer, s.ring.older = &s.ring, &s.ring
	return s
}

// insertCached adds an item at the new end of the ring.
func (s *Store) insertCached(it *Item) {
	it.newer, it.older = &s.ring, s.ring.older
	it.newer.older, it.older.newer = it, it
}

// removeCached removes an item from the ring.
func (s *Store) removeCached(it *Item) {
	it.newer.older, it.older.newer = it.older, it.newer
	it.newer, it.older = nil, nil
}

// evict removes items without references until the cache is within its limit.
//
// It ends: each item is skipped at most once, unless it is used again, and referenced items are not counted in
// unreferenced.
func (s *Store) evict() {
	for s.bytes > s.limit && s.unreferenced > 0 {
		it := s.ring.newer
		s.removeCached(it)
		// A second chance: the item moves to the new end of the ring.
		if it.refs > 0 || it.referencedAgain {
			it.referencedAgain = false
			s.insertCached(it)
			continue
		}
		s.unreferenced--
		s.bytes -= it.size
		delete(s.items, string(it.Key))
	}
}

// Len returns the number of items.
func (s *Store) Len() int { return len(s.items) }

// Get returns the item of a key that is in memory, or nil.
func (s *Store) Get(key []byte) *Item { return s.items[string(key)] }

// Acquire returns the item of a key with a new reference; it creates the item if the key is not in
// memory. The item stays in memory until Release.
func (s *Store) Acquire(key []byte) *Item {
	it := s.items[string(key)]
	if it == nil {
		it = &Item{Key: append([]byte(nil), key...)}
		s.items[string(it.Key)] = it
	}
	// The item is in the cache: it is no longer charged to it, but keeps its position in the ring.
	if it.refs == 0 && it.older != nil {
		s.unreferenced--
		s.bytes -= it.size
		it.referencedAgain = true
	}
	it.refs++
	s.refs++
	return it
}

// Release releases one reference. An item without references that was never loaded is removed.
//
// The size is measured here, and not at each change: a referenced item is not charged to the cache.
func (s *Store) Release(it *Item) {
	s.refs--
	it.refs--
	if it.refs > 0 {
		return
	}
	// The read has not returned, or was not sent: an unloaded item means nothing.
	if !it.Loaded {
		delete(s.items, string(it.Key))
		return
	}
	if it.older == nil {
		s.insertCached(it)
	}
	s.unreferenced++
	it.size = it.memoryBytes()
	s.bytes += it.size
	s.evict()
}

// Install stores the result of a read, unless a newer value has become visible since the read was
// sent. It returns the callers to notify.
func (s *Store) Install(it *Item, f Found) []any {
	it.Loading = 0
	// A write that does not read, such as a put, became visible while the read was in flight: the
	// result is older.
	if !it.Loaded {
		it.Value, it.CSN, it.Chain, it.Loaded = f.Value, f.CSN, f.Chain, true
	}
	w := it.Waiting
	it.Waiting = nil
	return w
}

// MakeVisible makes an effect visible at a CSN and returns the new value. The caller holds a reference;
// for an add or a change the item is loaded.
//
// Adds and calls are applied to the newest value, not to the one that they were executed on:
//
//	n = 5     T1: add 1, prepared        T2: add 2, prepared
//	          T2 commits: 7              T1 commits: 8
func (s *Store) MakeVisible(it *Item, e *entry.Effect, at kv.CSN, version kv.Version) (entry.Value, error) {
	v := entry.Value{Type: entry.Type(e.Type), Version: e.Version, Payload: e.Value, Expires: expiryAfter(e, &it.Value)}
	switch e.Kind {
	case entry.EffectDelete:
		v.Type, v.Payload = entry.TypeDeleted, nil
	case entry.EffectMoveOut, entry.EffectMoveIn:
		if v.Type == entry.TypeDeleted {
			v.Payload = nil
		}
	case entry.EffectExpire:
		v.Type, v.Payload, v.State = it.Value.Type, it.Value.Payload, it.Value.State
	// add checked the sum for every outcome of the undecided increments, so an overflow here is a
	// bug.
	case entry.EffectAdd:
		base := int64(0)
		if it.Value.Exists() {
			n, err := adt.DecodeCounter(it.Value.Payload)
			if err != nil {
				return v, err
			}
			base = n
		}
		sum, ok := adt.Sum(base, e.Delta)
		if !ok {
			return v, fmt.Errorf("mvcc: counter %q: %d + %d leaves 64 bits though it was checked", it.Key, base, e.Delta)
		}
		v.Version, v.Payload = version, adt.EncodeCounter(sum)
	// The calls are executed again on the newest value: commuting calls of other transactions may
	// have become visible since the transaction was prepared.
	case entry.EffectChange:
		after, err := adt.Apply(v.Type, &it.Value, e.Calls)
		if err != nil {
			return v, fmt.Errorf("mvcc: %q: a change that was checked fails: %w", it.Key, err)
		}
		after.Version, after.Expires = version, v.Expires
		v = after
	}
	// The last element was removed, or the key deleted: the deadline ends with the value.
	if !v.Exists() {
		v.Expires = 0
	}
	it.Value, it.CSN, it.Loaded = v, at, true
	return v, nil
}

// AddIntent adds a prepared write.
// Several transactions may have one on the same key, if their locks are compatible. Operations do not see intents as
// values; plans and the bounds of counters take them into account.
func (it *Item) AddIntent(txn kv.TxnRef, e *entry.Effect) {
	it.Intents = append(it.Intents, Intent{txn, e})
}

// RemoveIntents removes txn's prepared writes.
func (it *Item) RemoveIntents(txn kv.TxnRef) {
	it.Intents = slices.DeleteFunc(it.Intents, func(i Intent) bool { return i.Txn == txn })
}

// Check verifies the invariants of the store: an item without references is in the ring, is loaded
// and has no intent, and the counters match the items.
func (s *Store) Check() error {
	bytes, refs := 0, 0
	for k, it := range s.items {
		switch {
		case k != string(it.Key):
			return fmt.Errorf("mvcc: item %q filed under %q", it.Key, k)
		case it.refs < 0, it.refs == 0 && it.older == nil:
			return fmt.Errorf("mvcc: item %q has %d references, cached=%v", it.Key, it.refs, it.older != nil)
		case it.refs == 0 && (len(it.Intents) > 0 || !it.Loaded):
			return fmt.Errorf("mvcc: item %q without references has %d intents, loaded=%v", it.Key, len(it.Intents), it.Loaded)
		}
		refs += int(it.refs)
		if it.refs == 0 {
			bytes += it.size
		}
	}
	if refs != s.refs {
		return fmt.Errorf("mvcc: counts %d references, has %d", s.refs, refs)
	}
	if bytes != s.bytes {
		return fmt.Errorf("mvcc: cache counts %d bytes, holds %d", s.bytes, bytes)
	}
	return nil
}

// ReferencedCount returns the number of items with references.
func (s *Store) ReferencedCount() int { return len(s.items) - s.unreferenced }

// ReferenceCount returns the number of references of all items.
func (s *Store) ReferenceCount() int { return s.refs }

// Bytes approximates the memory of the cached items.
func (s *Store) Bytes() int { return s.bytes }
