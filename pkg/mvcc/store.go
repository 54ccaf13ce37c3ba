package mvcc

import (
	"fmt"
	"slices"

	"github.com/linchpindb/linchpin/pkg/adt"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/kv"
)

// Intent is one prepared write on a key.
type Intent struct {
	Txn    kv.TxnRef
	Effect *entry.Effect
}

// Item is a key in memory.
type Item struct {
	Key []byte
	// Value is the newest visible one; only meaningful when Loaded.
	Value entry.Value
	// Index is that of the row that holds Value, 0 if there is none: Value
	// became visible then, or later if nobody reads the time in between.
	Index  kv.Index
	Loaded bool
	// again: it was used again since it came into the cache, or was passed over there.
	again bool
	// pins is how many keep it in memory. Here it takes no room of its own.
	pins int32
	// Loading is the read that was asked for it, 0 if none.
	Loading uint64
	Intents []Intent
	// Used is when the key was last used since it came into memory, in nanoseconds
	// of the shard's clock, and UsedAs how; adt.ModeNone for not yet. The meter of
	// heat goes by them.
	Used   int64
	UsedAs adt.Mode
	// Step and Place say where the shard has last written the value: the
	// step's number, and which of its entries it is. Late is which of those
	// that are encoded at the step's end, if it is one.
	Step        uint64
	Place, Late int
	// Chain is what is known of the row that holds Value if it is a delta.
	Chain
	// Waiting are the callers to be told when it is loaded.
	Waiting []any
	// Loads are the reads of pages of its value that were asked for.
	Loads []*Load

	// size is what it counts for in the cache.
	size int
	// newer and older are the neighbours in the cache's order; nil if it is not there.
	newer, older *Item
}

// Load is a page that is being read.
type Load struct {
	Page adt.Page
	// Waiting are those to be told when it is there.
	Waiting []any
}

// Pins is how many keep the item in memory.
func (it *Item) Pins() int { return int(it.pins) }

const (
	// overhead approximates the bytes of an item beyond key and value.
	overhead = 200
	// pageOverhead are those of a page in its value's directory, whether the page is
	// in memory or not.
	pageOverhead = 300
)

func (it *Item) bytes() int {
	return overhead + 2*len(it.Key) + adt.Memory(&it.Value) + pageOverhead*len(it.Pages)
}

// Store is the memory of a shard's keys.
type Store struct {
	items map[string]*Item
	// order is the ring of cached items, from the one that came last (its older) to the
	// first (its newer). What is used again stays where it is, and is passed over once when
	// its turn to leave comes (the clock algorithm): to move it each time would touch two
	// other items, which are not in the processor's cache. What is pinned may be in it.
	order    Item
	unpinned int
	bytes    int // of unpinned items
	pins     int // of all items
	limit    int
}

// NewStore makes a store whose unpinned items take about limit bytes.
func NewStore(limit int) *Store {
	s := &Store{items: map[string]*Item{}, limit: limit}
	s.order.newer, s.order.older = &s.order, &s.order
	return s
}

// enter puts an item in front of the order.
func (s *Store) enter(it *Item) {
	it.newer, it.older = &s.order, s.order.older
	it.newer.older, it.older.newer = it, it
}

// leave takes it out again.
func (s *Store) leave(it *Item) {
	it.newer.older, it.older.newer = it.older, it.newer
	it.newer, it.older = nil, nil
}

// evict has unpinned items leave the memory until they take no more than the limit.
func (s *Store) evict() {
	for s.bytes > s.limit && s.unpinned > 0 {
		it := s.order.newer
		s.leave(it)
		if it.pins > 0 || it.again {
			it.again = false
			s.enter(it)
			continue
		}
		s.unpinned--
		s.bytes -= it.size
		delete(s.items, string(it.Key))
	}
}

// Len is the number of items.
func (s *Store) Len() int { return len(s.items) }

// Get finds a key that is in memory, nil if it is not.
func (s *Store) Get(key []byte) *Item { return s.items[string(key)] }

// Pin finds or makes the item of a key and keeps it until Unpin.
func (s *Store) Pin(key []byte) *Item {
	it := s.items[string(key)]
	if it == nil {
		it = &Item{Key: append([]byte(nil), key...)}
		s.items[string(it.Key)] = it
	}
	if it.pins == 0 && it.older != nil {
		s.unpinned--
		s.bytes -= it.size
		it.again = true
	}
	it.pins++
	s.pins++
	return it
}

// Unpin gives back one Snapshot.
func (s *Store) Unpin(it *Item) {
	s.pins--
	it.pins--
	if it.pins > 0 {
		return
	}
	if !it.Loaded {
		delete(s.items, string(it.Key))
		return
	}
	if it.older == nil {
		s.enter(it)
	}
	s.unpinned++
	it.size = it.bytes()
	s.bytes += it.size
	s.evict()
}

// Install takes the answer to a read, unless a newer value has become visible
// since it was asked for. It returns who waits for it.
func (s *Store) Install(it *Item, f Found, stale bool) []any {
	it.Loading = 0
	if !it.Loaded || stale {
		it.Value, it.Index, it.Chain, it.Loaded = f.Value, f.Index, f.Chain, true
	}
	w := it.Waiting
	it.Waiting = nil
	return w
}

// Show makes an effect visible at an index and returns the value it made.
// The item is pinned by the caller and, for an add or a change, loaded.
func (s *Store) Show(it *Item, e *entry.Effect, at kv.Index, version kv.Version) (entry.Value, error) {
	v := entry.Value{Type: entry.Type(e.Type), Version: e.Version, Payload: e.Value, Expires: expiry(e, &it.Value)}
	switch e.Kind {
	case entry.EffectDelete:
		v.Type, v.Payload = entry.TypeDeleted, nil
	case entry.EffectMoveOut, entry.EffectMoveIn:
		if v.Type == entry.TypeDeleted {
			v.Payload = nil
		}
	case entry.EffectExpire:
		v.Type, v.Payload, v.State = it.Value.Type, it.Value.Payload, it.Value.State
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
	case entry.EffectChange:
		after, err := adt.Apply(v.Type, &it.Value, e.Calls)
		if err != nil {
			return v, fmt.Errorf("mvcc: %q: a change that was checked fails: %w", it.Key, err)
		}
		after.Version, after.Expires = version, v.Expires
		v = after
	}
	if !v.Exists() {
		v.Expires = 0
	}
	it.Value, it.Index, it.Loaded = v, at, true
	return v, nil
}

// AddIntent puts a prepared write on a key.
func (it *Item) AddIntent(txn kv.TxnRef, e *entry.Effect) {
	it.Intents = append(it.Intents, Intent{txn, e})
}

// RemoveIntents takes txn's prepared writes off a key.
func (it *Item) RemoveIntents(txn kv.TxnRef) {
	it.Intents = slices.DeleteFunc(it.Intents, func(i Intent) bool { return i.Txn == txn })
}

// Check holds the store against its invariants: unpinned items are in the cache's order,
// loaded, and carry no intent.
func (s *Store) Check() error {
	bytes, pins := 0, 0
	for k, it := range s.items {
		switch {
		case k != string(it.Key):
			return fmt.Errorf("mvcc: item %q filed under %q", it.Key, k)
		case it.pins < 0, it.pins == 0 && it.older == nil:
			return fmt.Errorf("mvcc: item %q has %d pins, cached=%v", it.Key, it.pins, it.older != nil)
		case it.pins == 0 && (len(it.Intents) > 0 || !it.Loaded):
			return fmt.Errorf("mvcc: unpinned item %q has %d intents, loaded=%v", it.Key, len(it.Intents), it.Loaded)
		}
		pins += int(it.pins)
		if it.pins == 0 {
			bytes += it.size
		}
	}
	if pins != s.pins {
		return fmt.Errorf("mvcc: counts %d pins, has %d", s.pins, pins)
	}
	if bytes != s.bytes {
		return fmt.Errorf("mvcc: cache counts %d bytes, holds %d", s.bytes, bytes)
	}
	return nil
}

// Pinned is the number of items that somebody needs.
func (s *Store) Pinned() int { return len(s.items) - s.unpinned }

// Pins is how many pins all items have.
func (s *Store) Pins() int { return s.pins }

// Bytes approximates the memory of the cached items.
func (s *Store) Bytes() int { return s.bytes }
